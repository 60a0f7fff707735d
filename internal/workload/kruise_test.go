// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package workload

import (
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
)

func TestDirect_readsHowOpenKruisesWorkloadsFollow(t *testing.T) {
	t.Parallel()
	paused := Rolling{Hold: "it is paused", WayOut: "set paused to false in its update strategy"}
	partition := func(size string) Rolling {
		return Rolling{Hold: "its update leaves out the pods of partition " + size, WayOut: "set the partition to 0"}
	}
	onDelete := Rolling{Hold: "its update strategy is OnDelete", WayOut: "set another update strategy, or delete its pods one by one after the change"}
	inPlace := Rolling{Hold: "its update strategy is InPlaceOnly, which does not change tolerations", WayOut: onDelete.WayOut}
	for name, tt := range map[string]struct {
		apiVersion, kind, strategy string
		want                       Rolling
	}{
		"a CloneSet": {"apps.kruise.io/v1alpha1", "CloneSet", `{"type":"ReCreate","partition":0}`, Rolling{}},
		"a CloneSet that updates in place, if it can": {"apps.kruise.io/v1alpha1", "CloneSet", `{"type":"InPlaceIfPossible"}`, Rolling{}},
		"a CloneSet that is paused":                   {"apps.kruise.io/v1alpha1", "CloneSet", `{"paused":true}`, paused},
		"a CloneSet with a partition":                 {"apps.kruise.io/v1alpha1", "CloneSet", `{"partition":2}`, partition("2")},
		"a CloneSet with a partition in percent":      {"apps.kruise.io/v1alpha1", "CloneSet", `{"partition":"20%"}`, partition("20%")},
		"a CloneSet with a partition of 0 %":          {"apps.kruise.io/v1alpha1", "CloneSet", `{"partition":"0%"}`, Rolling{}},
		"a CloneSet of strategy InPlaceOnly":          {"apps.kruise.io/v1alpha1", "CloneSet", `{"type":"InPlaceOnly"}`, inPlace},
		"a CloneSet of strategy OnDelete":             {"apps.kruise.io/v1alpha1", "CloneSet", `{"type":"OnDelete"}`, onDelete},
		"a DaemonSet":                                 {"apps.kruise.io/v1beta1", "DaemonSet", `{"type":"RollingUpdate","rollingUpdate":{"partition":0}}`, Rolling{}},
		"a DaemonSet that is paused":                  {"apps.kruise.io/v1beta1", "DaemonSet", `{"rollingUpdate":{"paused":true}}`, paused},
		"a StatefulSet with a partition":              {"apps.kruise.io/v1beta1", "StatefulSet", `{"rollingUpdate":{"partition":1}}`, partition("1")},
		"a DaemonSet of strategy OnDelete":            {"apps.kruise.io/v1beta1", "DaemonSet", `{"type":"OnDelete"}`, onDelete},
		"a partition that is no number":               {"apps.kruise.io/v1alpha1", "CloneSet", `{"partition":{"a":1},"rollingUpdate":3}`, Rolling{}},
		"a CloneSet of another group":                 {"example.com/v1", "CloneSet", `{"paused":true}`, Rolling{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := direct(t, tt.apiVersion, tt.kind, `{"spec":{"replicas":3,"template":{},"updateStrategy":`+tt.strategy+`}}`)
			if diff := gocmp.Diff(tt.want, w.Rolling); diff != "" {
				t.Error(diff)
			}
		})
	}
}
