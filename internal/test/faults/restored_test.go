// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package faults_test

import (
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/fakeapi"
)

// TestRestored_aRollbackOfAWorkloadIsNamed rolls a Deployment back to what it was before the last
// update, annotations included, as "kubectl rollout undo" does. The next plans name the restored
// entries, which are not removed.
func TestRestored_aRollbackOfAWorkloadIsNamed(t *testing.T) {
	t.Parallel()
	web := object{"kind": "Deployment", "namespace": "shop", "name": "web"}
	for name, tt := range map[string]struct {
		first, second object
		want          []string
	}{
		"workload_tolerations": {
			object{"workload": web, "tolerations": []any{toleration("team", "a")}},
			object{"workload": web, "tolerations": []any{toleration("team", "b")}},
			[]string{"has toleration team=a again", "kubectl edit deployment web -n shop"},
		},
		"dedicated_nodes": {
			object{"node_selector": "pool=x", "taints": []any{taint("team", "a", "NoSchedule")}, "labels": object{"team": "a"}, "workloads": []any{acctest.With(web, object{"pin": true})}},
			object{"node_selector": "pool=x", "taints": []any{taint("spot", "a", "NoSchedule")}, "labels": object{"spot": "a"}, "workloads": []any{acctest.With(web, object{"pin": true})}},
			[]string{"toleration team=a:NoSchedule", "node selector team", "again"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, moment{api: fakeapi.New()}, func(t *testing.T, api *fakeapi.Server) {
				shop("Deployment")(api)
				time.Sleep(calm)
				tf, i := through(api.Client()), acctest.Instance{Type: "kubetaint_" + name}
				apply := func(config object) {
					t.Helper()
					d := tf.Apply(t, &i, config)
					if d.Errors() != "" || strings.Contains(d.Warnings(), "removed before") {
						t.Fatal(d.Errors(), d.Warnings())
					}
					time.Sleep(calm)
				}
				apply(tt.first)
				was := fakeapi.Objects[*appsv1.Deployment](api)[0].DeepCopy()
				apply(tt.second)
				apply(tt.second)
				fakeapi.Edit(api, "shop", "web", func(d *appsv1.Deployment) { d.Spec.Template, d.Annotations = was.Spec.Template, was.Annotations })
				told := tf.Plan(t, &i, tt.second).Diagnostics.Warnings()
				for _, want := range tt.want {
					if !strings.Contains(told, want) {
						t.Errorf("%q is missing in %s", want, told)
					}
				}
			})
		})
	}
}
