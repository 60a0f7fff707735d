// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package snapshot

import (
	"slices"
	"testing"
)

func TestAttachments_ofAPodAreItsVolumesEachOnce(t *testing.T) {
	t.Parallel()
	data, logs := &CSIVolume{"disk.example.com", "data"}, &CSIVolume{"disk.example.com", "logs"}
	read := &Attachments{Volumes: map[string]map[string]*CSIVolume{"shop": {"data": data, "shared": data, "logs": logs}}}
	for name, tt := range map[string]struct {
		read *Attachments
		pod  *Pod
		want []*CSIVolume
	}{
		"each of its claims":               {read, &Pod{Namespace: "shop", Claims: []string{"logs", "data"}}, []*CSIVolume{logs, data}},
		"two claims of one volume":         {read, &Pod{Namespace: "shop", Claims: []string{"data", "shared", "logs"}}, []*CSIVolume{data, logs}},
		"a claim without such a volume":    {read, &Pod{Namespace: "shop", Claims: []string{"nfs", "logs"}}, []*CSIVolume{logs}},
		"claims of another namespace":      {read, &Pod{Namespace: "web", Claims: []string{"data"}}, nil},
		"a pod without claims":             {read, &Pod{Namespace: "shop"}, nil},
		"where no attachments were read":   {nil, &Pod{Namespace: "shop", Claims: []string{"data"}}, nil},
		"where no claim has such a volume": {&Attachments{}, &Pod{Namespace: "shop", Claims: []string{"data"}}, nil},
	} {
		if got := tt.read.Of(tt.pod); !slices.Equal(got, tt.want) {
			t.Errorf("%s: got %v, want %v", name, got, tt.want)
		}
	}
}
