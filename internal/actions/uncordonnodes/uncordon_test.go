// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package uncordonnodes_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/fakeapi/controllers"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/messages"
)

const typeName = "kubetaint_uncordon_nodes"

func cordon(t *testing.T, c *acctest.Cluster, name string) {
	t.Helper()
	c.Patch(t, name, `{"spec":{"unschedulable":true}}`)
}

// interrupted has a node as a drain that was interrupted leaves it.
func interrupted(t *testing.T, c *acctest.Cluster, name string) {
	t.Helper()
	c.Patch(t, name, fmt.Sprintf(`{"metadata":{"annotations":{%q:"[]"}},"spec":{"unschedulable":true}}`, snapshot.AwaitedAnnotation))
}

// wantWritten expects that these objects are written, each once, and no others.
func wantWritten(t *testing.T, log *acctest.Audit, names ...string) {
	t.Helper()
	var written []string
	for _, r := range log.Requests() {
		if !slices.Contains([]string{"get", "list", "watch"}, r.Verb) {
			written = append(written, r.String())
		}
	}
	var want []string
	for _, name := range names {
		want = append(want, "patch nodes "+name)
	}
	if diff := cmp.Diff(want, written); diff != "" {
		t.Errorf("written: %s", diff)
	}
}

// remove deletes an object that a finalizer keeps.
func remove(t *testing.T, c *acctest.Cluster, at string) {
	t.Helper()
	rest := c.Admin.CoreV1().RESTClient()
	if err := rest.Patch("application/merge-patch+json").AbsPath(at).Body([]byte(`{"metadata":{"finalizers":["example.com/held"]}}`)).Do(t.Context()).Error(); err != nil {
		t.Fatal(err)
	}
	if err := rest.Delete().AbsPath(at).Do(t.Context()).Error(); err != nil {
		t.Fatal(err)
	}
}

// ofMachine has a cordoned node name a Machine.
func ofMachine(t *testing.T, c *acctest.Cluster, node, machine string) {
	t.Helper()
	cordon(t, c, node)
	c.Patch(t, node, fmt.Sprintf(`{"metadata":{"annotations":{"machine.openshift.io/machine":%q}}}`, machine))
}

// TestUncordonNodes_aPlanReadsNodesAndMachines, and warns of nodes that are being deleted alone.
func TestUncordonNodes_aPlanReadsNodesAndMachines(t *testing.T) {
	t.Parallel()
	byName := map[string]any{"node_name": "a"}
	all := map[string]any{"node_selector": "pool=x"}
	nodes := []string{"get namespaces kube-system", "list nodes"}
	machines := []string{"get namespaces kube-system", "list machines", "list nodes"}
	for name, tt := range map[string]struct {
		change func(t *testing.T, c *acctest.Cluster, namespace string)
		config map[string]any
		// summary is that of the only warning, "" for none, or of the only error where fails is set.
		summary  string
		says     []string
		fails    bool
		requests []string
		// less are the plural of what may not be listed.
		less string
	}{
		"a cordoned node":            {change: func(t *testing.T, c *acctest.Cluster, _ string) { t.Helper(); cordon(t, c, "a") }, config: byName, requests: nodes},
		"a node that was drained":    {change: func(t *testing.T, c *acctest.Cluster, _ string) { t.Helper(); interrupted(t, c, "a") }, config: all, requests: nodes},
		"nodes that take pods":       {config: all, requests: nodes},
		"a name that is not known":   {config: map[string]any{"node_name": acctest.Unknown}},
		"labels that are not known":  {config: map[string]any{"node_selector": acctest.Unknown}},
		"a timeout that is unknown":  {config: acctest.With(byName, map[string]any{"timeout": acctest.Unknown}), requests: nodes},
		"a node that does not exist": {config: map[string]any{"node_name": "none"}, fails: true, summary: `Unable to find node "none"`, says: []string{`AttributeName("node_name")`, "There is no node of this name", "Nothing has been written"}, requests: nodes},
		"labels that no node has":    {config: map[string]any{"node_selector": "pool=none"}, summary: `No node matches "pool=none": nothing is uncordoned`, says: []string{`AttributeName("node_selector")`, "--show-labels"}, requests: nodes},
		"a node that is being deleted": {
			change: func(t *testing.T, c *acctest.Cluster, _ string) {
				t.Helper()
				cordon(t, c, "a")
				remove(t, c, "/api/v1/nodes/a")
			}, config: byName, requests: nodes,
			summary: `Uncordoning node "a" allows pods on 1 node that is being deleted`, says: []string{"New pods there are evicted again, or end with the node", "Being deleted: a."},
		},
		"a node that is being deleted and takes pods": {
			change: func(t *testing.T, c *acctest.Cluster, _ string) { t.Helper(); remove(t, c, "/api/v1/nodes/a") }, config: byName, requests: nodes,
		},
		"another node that is being deleted": {
			change: func(t *testing.T, c *acctest.Cluster, _ string) {
				t.Helper()
				cordon(t, c, "a")
				cordon(t, c, "b")
				remove(t, c, "/api/v1/nodes/b")
			}, config: byName, requests: nodes,
		},
		"a node whose Machine stays": {
			change: func(t *testing.T, c *acctest.Cluster, ns string) { t.Helper(); ofMachine(t, c, "a", ns+"/m") }, config: byName, requests: machines,
		},
		"nodes of which one's Machine is being deleted": {
			change: func(t *testing.T, c *acctest.Cluster, ns string) {
				t.Helper()
				ofMachine(t, c, "b", ns+"/m")
				remove(t, c, "/apis/machine.openshift.io/v1beta1/namespaces/"+ns+"/machines/m")
				cordon(t, c, "a")
				remove(t, c, "/api/v1/nodes/a")
			}, config: all, requests: machines,
			summary: `Uncordoning nodes matching "pool=x" allows pods on 2 nodes that are being deleted`, says: []string{"Being deleted: a, b (Machine "},
		},
		"Machines that may not be listed": {
			change: func(t *testing.T, c *acctest.Cluster, ns string) { t.Helper(); ofMachine(t, c, "a", ns+"/m") }, config: byName, requests: machines, less: "machines",
		},
		"nodes that may not be listed": {
			config: byName, requests: nodes, less: "nodes",
			summary: `Unable to check node "a" before apply`, says: []string{`the guide "Permissions"`, "Apply reads the nodes again"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			acctest.OnFake(t, func(t *testing.T, c *acctest.Cluster) {
				ns := c.Namespace(t)
				for _, name := range []string{"a", "b"} {
					c.Node(t, acctest.Node{Name: name, Labels: map[string]string{"pool": "x"}})
				}
				c.Machine(t, ns, "m", nil)
				if tt.change != nil {
					tt.change(t, c, ns)
				}
				log, token := c.AuditWith(t, acctest.Without(c.Rights(t), tt.less, "list")...)
				d := (&acctest.Terraform{Provider: c.ProviderAt(t, c.REST.Host, token)}).Walk(t).PlanAction(typeName, tt.config)
				told, other := d.Warnings(), d.Errors()
				if tt.fails {
					told, other = other, told
				}
				if other != "" || (told != "") != (tt.summary != "") || len(d) > 1 {
					t.Errorf("it says %s%s", d.Errors(), d.Warnings())
				}
				acctest.WantAll(t, told, append(tt.says, tt.summary)...)
				var requests []string
				for _, r := range log.Requests() {
					requests = append(requests, r.String())
				}
				slices.Sort(requests)
				if diff := cmp.Diff(tt.requests, requests); diff != "" {
					t.Errorf("requests: %s", diff)
				}
			}, controllers.MachineAPI...)
		})
	}
}

// TestUncordonNodes_withoutAClusterThePlanWarnsOnce, as that of every other type.
func TestUncordonNodes_withoutAClusterThePlanWarnsOnce(t *testing.T) {
	t.Parallel()
	acctest.OnFake(t, func(t *testing.T, c *acctest.Cluster) {
		walk := (&acctest.Terraform{Provider: acctest.With(c.Provider(t), map[string]any{"host": acctest.Unknown})}).Walk(t)
		first, second := walk.PlanAction(typeName, map[string]any{"node_name": "a"}), walk.PlanAction(typeName, map[string]any{"node_name": "b"})
		if first.Errors() != "" || len(second) > 0 || !strings.Contains(first.Warnings(), "Unable to read the cluster: the provider block is not known yet") {
			t.Errorf("it says %s%s, then %s%s", first.Errors(), first.Warnings(), second.Errors(), second.Warnings())
		}
	})
}

// TestUncordonNodes_tellsOfEachNode, and ends with the numbers.
func TestUncordonNodes_tellsOfEachNode(t *testing.T) {
	t.Parallel()
	acctest.OnFake(t, func(t *testing.T, c *acctest.Cluster) {
		for _, name := range []string{"a", "b", "c"} {
			c.Node(t, acctest.Node{Name: name, Labels: map[string]string{"pool": "x"}})
		}
		cordon(t, c, "b")
		interrupted(t, c, "c")
		walk := (&acctest.Terraform{Provider: c.Provider(t)}).Walk(t)
		if d := walk.Invoke(typeName, map[string]any{"node_selector": "pool=x"}); len(d) > 0 {
			t.Fatal(d.Errors(), d.Warnings())
		}
		want := []string{
			"node a takes pods already", "node b is uncordoned", "node c is uncordoned, and the record of its interrupted drain is removed",
			"2 nodes uncordoned, 1 took pods already",
		}
		if diff := cmp.Diff(want, walk.Progress); diff != "" {
			t.Error(diff)
		}
		if left := c.Get(t, "c").Annotations[snapshot.AwaitedAnnotation]; left != "" {
			t.Errorf("left is %q", left)
		}
	})
}

// TestUncordonNodes_findsWhatHasChangedSinceThePlan: another tool cordons a node, deletes one, or begins to.
func TestUncordonNodes_findsWhatHasChangedSinceThePlan(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		between  func(t *testing.T, c *acctest.Cluster)
		told     []string
		errors   string
		warnings string
	}{
		"a cordon": {between: func(t *testing.T, c *acctest.Cluster) { t.Helper(); cordon(t, c, "a") }, told: []string{"node a is uncordoned", "1 node uncordoned"}},
		"a node that is gone": {
			between: func(t *testing.T, c *acctest.Cluster) { t.Helper(); c.DeleteNode(t, "a") }, errors: `Unable to find node "a"`,
		},
		"a deletion": {
			between: func(t *testing.T, c *acctest.Cluster) { t.Helper(); cordon(t, c, "a"); remove(t, c, "/api/v1/nodes/a") },
			told:    []string{"node a is uncordoned", "1 node uncordoned"}, warnings: "allows pods on 1 node that is being deleted",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			acctest.OnFake(t, func(t *testing.T, c *acctest.Cluster) {
				c.Node(t, acctest.Node{Name: "a"})
				walk := (&acctest.Terraform{Provider: c.Provider(t)}).Walk(t)
				walk.Between = func() { tt.between(t, c) }
				d := walk.Invoke(typeName, map[string]any{"node_name": "a"})
				if (d.Errors() != "") != (tt.errors != "") || (d.Warnings() != "") != (tt.warnings != "") {
					t.Errorf("it says %s%s", d.Errors(), d.Warnings())
				}
				acctest.WantAll(t, d.Errors()+d.Warnings(), tt.errors, tt.warnings)
				if diff := cmp.Diff(tt.told, walk.Progress); diff != "" {
					t.Error(diff)
				}
			})
		})
	}
}

// TestUncordonNodes_aNodeThatIsDeletedDuringTheWrite is an error by name, and none by labels.
func TestUncordonNodes_aNodeThatIsDeletedDuringTheWrite(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		config map[string]any
		fails  bool
	}{
		"by name":   {map[string]any{"node_name": "a"}, true},
		"by labels": {map[string]any{"node_selector": "pool=x"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			acctest.OnFake(t, func(t *testing.T, c *acctest.Cluster) {
				c.Node(t, acctest.Node{Name: "a", Labels: map[string]string{"pool": "x"}})
				cordon(t, c, "a")
				proxy := c.Proxy(t)
				proxy.Spoil(func(r acctest.Request) acctest.Fault {
					if r.Method == http.MethodPatch {
						if err := c.Admin.CoreV1().Nodes().Delete(t.Context(), "a", metav1.DeleteOptions{}); err != nil {
							t.Error(err)
						}
					}
					return acctest.None
				})
				d := (&acctest.Terraform{Provider: proxy.Provider(t, c)}).Invoke(t, typeName, tt.config)
				if got := strings.Contains(d.Errors(), `Unable to find node "a"`); got != tt.fails || !got && len(d) > 0 {
					t.Errorf("it says %s%s", d.Errors(), d.Warnings())
				}
			})
		})
	}
}

// TestUncordonNodes_leastRights are those that the guide on permissions names: no warning, also after a conflict.
func TestUncordonNodes_leastRights(t *testing.T) {
	t.Parallel()
	messages.Expect(t, "Unable to uncordon")
	rights := []rbacv1.PolicyRule{
		{APIGroups: []string{""}, Resources: []string{"nodes"}, Verbs: []string{"list", "get", "patch"}},
		{APIGroups: []string{""}, Resources: []string{"namespaces"}, ResourceNames: []string{"kube-system"}, Verbs: []string{"get"}},
	}
	for name, tt := range map[string]struct {
		less string
		says string
	}{
		"all":           {},
		"without list":  {less: "list", says: `Unable to uncordon node "a"`},
		"without get":   {less: "get", says: "cannot get resource"},
		"without patch": {less: "patch", says: "Not uncordoned: a."},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			acctest.OnFake(t, func(t *testing.T, c *acctest.Cluster) {
				c.Node(t, acctest.Node{Name: "a"})
				ofMachine(t, c, "a", "machines/m")
				log, token := c.AuditWith(t, acctest.Without(rights, "nodes", tt.less)...)
				proxy, disturbed := c.Proxy(t), false
				proxy.Spoil(func(r acctest.Request) acctest.Fault {
					if r.Method == http.MethodPatch && !disturbed {
						disturbed = true
						c.Patch(t, "a", `{"metadata":{"labels":{"seen":"yes"}}}`)
					}
					return acctest.None
				})
				block := acctest.With(c.ProviderAt(t, c.REST.Host, token), map[string]any{"host": proxy.Provider(t, c)["host"]})
				d := (&acctest.Terraform{Provider: block}).Invoke(t, typeName, map[string]any{"node_name": "a"})
				if tt.says == "" && len(d) > 0 || (d.Errors() != "") != (tt.says != "") {
					t.Errorf("it says %s%s", d.Errors(), d.Warnings())
				}
				acctest.WantAll(t, d.Errors(), tt.says)
				if got := c.Get(t, "a").Spec.Unschedulable; got != (tt.says != "") {
					t.Errorf("it takes no pods: %t, after %v", got, log.Requests())
				}
			})
		})
	}
}
