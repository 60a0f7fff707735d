// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package placement

import (
	"testing"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/upstream"
)

// TestUpstream_storageScores has the facts of k8s.io/kubernetes v1.37.2
// pkg/scheduler/framework/plugins/volumebinding/scorer_test.go, TestScore: of each class, so much of 100 is asked for.
func TestUpstream_storageScores(t *testing.T) {
	t.Parallel()
	rows := upstream.Cases(t)
	type asked = map[string]int64
	for name, cases := range map[string][]struct {
		asked asked
		want  int64
	}{
		"one class":   {{asked{"hdd": 0}, 100}, {asked{"hdd": 30}, 70}, {asked{"hdd": 50}, 50}, {asked{"hdd": 100}, 0}},
		"two classes": {{asked{"hdd": 0, "ssd": 0}, 100}, {asked{"hdd": 0, "ssd": 30}, 85}, {asked{"hdd": 30, "ssd": 30}, 70}, {asked{"hdd": 30, "ssd": 60}, 55}, {asked{"hdd": 50, "ssd": 50}, 50}, {asked{"hdd": 50, "ssd": 100}, 25}, {asked{"hdd": 100, "ssd": 100}, 0}},
	} {
		rows.Run(t, name, func(t *testing.T) {
			t.Parallel()
			for _, tt := range cases {
				uses := map[string]storageUse{}
				for class, n := range tt.asked {
					uses[class] = storageUse{n, 100}
				}
				if got := meanStorage(uses); got != tt.want {
					t.Errorf("%v: %d, want %d", tt.asked, got, tt.want)
				}
			}
		})
	}
}
