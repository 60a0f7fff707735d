// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package workload

import "testing"

// The controller of OpenKruise's StatefulSet replaces no pod while another one is not ready, as that of apps/v1, and makes
// missing pods from the newest template, so that a pod which a dead node holds back is not waited for
// (github.com/openkruise/kruise v1.9.1 pkg/controller/statefulset/stateful_set_control.go, updateStatefulSet).
func TestDirect_knowsInWhichOrderOpenKruisesStatefulSetFollows(t *testing.T) {
	t.Parallel()
	const rolling = `"updateStrategy":{"type":"RollingUpdate","rollingUpdate":{"partition":0,"maxUnavailable":"20%","podUpdatePolicy":"ReCreate"}}`
	const partitioned = `"updateStrategy":{"rollingUpdate":{"partition":2}}`
	for name, tt := range map[string]struct {
		kind, spec, status         string
		ordered, follows, relapses bool
	}{
		"OrderedReady":                {"StatefulSet", `"podManagementPolicy":"OrderedReady",` + rolling, `{}`, true, true, false},
		"the default policy":          {"StatefulSet", rolling, `{}`, true, true, false},
		"Parallel":                    {"StatefulSet", `"podManagementPolicy":"Parallel",` + rolling, `{}`, false, true, false},
		"a partition":                 {"StatefulSet", partitioned, `{"currentRevision":"a","updateRevision":"b","currentReplicas":1}`, true, false, false},
		"a partition that was raised": {"StatefulSet", partitioned, `{"currentRevision":"a","updateRevision":"b"}`, true, false, true},
		"a CloneSet":                  {"CloneSet", rolling, `{}`, false, true, false},
		"a spec of another type":      {"StatefulSet", `"updateStrategy":"no"`, `{}`, false, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := direct(t, "apps.kruise.io/v1beta1", tt.kind, `{"spec":{"replicas":3,"template":{},`+tt.spec+`},"status":`+tt.status+`}`)
			if got := len(w.Ordered) > 0; got != tt.ordered {
				t.Errorf("replaced in order: %t", got)
			}
			if w.MissingFollow != tt.follows {
				t.Errorf("missing pods follow: %t", w.MissingFollow)
			}
			if w.Relapses != tt.relapses {
				t.Errorf("pods relapse: %t", w.Relapses)
			}
		})
	}
}
