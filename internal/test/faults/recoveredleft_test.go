// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package faults_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/fakeapi"
)

// TestRecovered_givesUpWhatHasLeftTheSelector: an object leaves the selector, and then the private
// state is lost. What the resource has left there is found out again, and goes with the next apply.
func TestRecovered_givesUpWhatHasLeftTheSelector(t *testing.T) {
	t.Parallel()
	for typeName, conf := range map[string]func(key string) object{
		"node_taints": func(key string) object {
			return object{"node_selector": "pool=x", "taints": []any{taint(key, "a", "PreferNoSchedule")}}
		},
		"dedicated_nodes": func(key string) object {
			return object{"node_selector": "pool=x", "taints": []any{taint(key, "a", "PreferNoSchedule")}, "labels": object{key: "a"}}
		},
		"workload_tolerations": func(key string) object {
			return tolerating(object{"kind": "Deployment", "namespace": "shop", "selector": "pool=x"}, key)
		},
	} {
		t.Run(typeName, func(t *testing.T) {
			t.Parallel()
			bubble(t, moment{api: fakeapi.New()}, func(t *testing.T, api *fakeapi.Server) {
				threeOfEach(api)
				time.Sleep(calm)
				tf, i := through(api.Client()), &acctest.Instance{Type: "kubetaint_" + typeName}
				apply := func(config map[string]any) {
					t.Helper()
					if d := tf.Apply(t, i, config); d.Errors() != "" {
						t.Fatal(d.Errors())
					}
					time.Sleep(calm)
				}
				apply(conf("team"))
				if !slices.ContainsFunc(withTeam(api), func(where string) bool { return strings.HasSuffix(where, " n2") }) {
					t.Fatalf("it is on %v", withTeam(api))
				}
				others := slices.DeleteFunc(withTeam(api), func(where string) bool { return !strings.HasSuffix(where, " n3") })
				fakeapi.Edit(api, "", "n2", func(n *corev1.Node) { n.Labels["pool"] = "y" })
				fakeapi.Edit(api, "shop", "n2", func(d *appsv1.Deployment) { d.Labels["pool"] = "y" })
				time.Sleep(calm)
				i.Private = nil
				apply(conf("spot"))
				if got := withTeam(api); !slices.Equal(got, others) {
					t.Errorf("it is still on %v, and on %v before", got, others)
				}
			})
		})
	}
}
