// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package dedicatednodes_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/fakeapi"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/toleration"
)

// Kinds of several groups may have one name. Their objects are among the workloads beside each
// other, and what is held of the marks of one is not forgotten because of the other.
func TestDedicatedNodes_namesakesOfOtherGroupsLoseNothingToEachOther(t *testing.T) {
	t.Parallel()
	path := strings.Split("spec.template.spec.tolerations", ".")
	groups := []string{"apps.kruise.io/v1beta1", "apps.example.com/v1"}
	for n, gone := range append([]string{"apps/v1"}, groups...) {
		t.Run(gone+" is removed from the list", func(t *testing.T) {
			t.Parallel()
			var kinds []fakeapi.Kind
			for _, group := range groups {
				kinds = append(kinds, fakeapi.CustomKind(group, "DaemonSet", "daemonsets"))
			}
			acctest.OnFakeWithControllers(t, func(t *testing.T, c *acctest.Cluster) {
				p := newPool(t, c, "DaemonSet")
				tf := &acctest.Terraform{Provider: c.ProviderAt(t, c.REST.Host, c.TokenAnd(t, rbacv1.PolicyRule{
					APIGroups: []string{"apps.kruise.io", "apps.example.com"}, Resources: []string{"daemonsets"}, Verbs: []string{"get", "list", "patch"},
				}))}
				things := []acctest.Thing{{APIVersion: "apps/v1", Kind: "DaemonSet", Namespace: p.namespace, Name: "daemonset"}}
				workloads := []any{map[string]any{"kind": "DaemonSet", "namespace": p.namespace, "name": "daemonset"}}
				for _, group := range groups {
					thing := acctest.Thing{APIVersion: group, Kind: "DaemonSet", Namespace: p.namespace, Name: "daemonset"}
					c.Make(t, thing, map[string]any{"spec": map[string]any{"template": map[string]any{"spec": map[string]any{}}}})
					things = append(things, thing)
					workloads = append(workloads, map[string]any{"api_version": group, "kind": "DaemonSet", "namespace": p.namespace, "name": "daemonset", "path": strings.Join(path, ".")})
				}
				i, config := newInstance(), func(workloads []any) map[string]any {
					return acctest.With(p.config(wish{taints: "team=a:NoSchedule"}), map[string]any{"workloads": workloads})
				}
				// A second apply ends the epoch of the first one.
				tf.Settle(t, i, config(workloads))
				tf.Settle(t, i, acctest.With(config(workloads), map[string]any{"timeouts": map[string]any{"update": "5m"}}))
				if d := tf.Walk(t).Refresh(i); d.Errors() != "" {
					t.Fatal(d.Errors())
				}
				fewer := append(append([]any{}, workloads[:n]...), workloads[n+1:]...)
				tf.Settle(t, i, config(fewer))
				for at, thing := range things {
					want := " team=a:NoSchedule"
					if at == n {
						want = ""
					}
					got := ""
					for _, one := range c.TolerationsAt(t, thing, path) {
						if one.Key == "team" {
							got += " " + toleration.Format([]corev1.Toleration{one})
						}
					}
					if got != want {
						t.Errorf("%s tolerates %q, want %q", thing.APIVersion, got, want)
					}
				}
				tf.Destroy(t, i)
				for _, thing := range things {
					if mark, there := c.Look(t, thing).GetAnnotations()[toleration.OwnedAnnotation]; there {
						t.Errorf("%s keeps the mark %q", thing.APIVersion, mark)
					}
				}
			}, kinds...)
		})
	}
}
