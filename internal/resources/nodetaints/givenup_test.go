// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package nodetaints_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/fakeapi/controllers"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/messages"
)

// calm is a time in which nodelink restores what a Machine has.
const calm = time.Minute

// machinePool is a MachineSet of two machines with the taints dedicated=gpu:NoSchedule and
// foreign:NoSchedule, whose nodes nodelink has tainted.
type machinePool struct {
	*acctest.Cluster
	set   acctest.Thing
	nodes []string
}

func newMachinePool(t *testing.T, c *acctest.Cluster) *machinePool {
	t.Helper()
	p := &machinePool{Cluster: c, set: acctest.Thing{APIVersion: machinev1beta1.GroupVersion.String(), Kind: "MachineSet", Namespace: c.Namespace(t), Name: acctest.Name(t, "ms")}}
	labels := map[string]any{"set": p.set.Name}
	entry := func(key string) map[string]any { return map[string]any{"key": key, "effect": "NoSchedule"} }
	dedicated := entry("dedicated")
	dedicated["value"] = "gpu"
	c.Make(t, p.set, map[string]any{"spec": map[string]any{
		"replicas": 2, "selector": map[string]any{"matchLabels": labels},
		"template": map[string]any{"metadata": map[string]any{"labels": labels}, "spec": map[string]any{"taints": []any{entry("foreign"), dedicated}}},
	}})
	acctest.Until(t, "nodelink has tainted the nodes", func(ctx context.Context) (bool, error) {
		list, err := c.Admin.CoreV1().Nodes().List(ctx, metav1.ListOptions{LabelSelector: controllers.PoolLabel + "=" + p.set.Name})
		if err != nil {
			return false, err
		}
		p.nodes = nil
		for _, n := range list.Items {
			if len(n.Spec.Taints) == 2 {
				p.nodes = append(p.nodes, n.Name)
			}
		}
		return len(p.nodes) == 2, nil
	})
	slices.Sort(p.nodes)
	return p
}

// config targets the nodes of the pool.
func (p *machinePool) config(t *testing.T, more map[string]any) map[string]any {
	t.Helper()
	return acctest.With(map[string]any{"node_selector": controllers.PoolLabel + "=" + p.set.Name, "taints": acctest.Objects(t, "dedicated=gpu:NoSchedule")}, more)
}

// wantAll wants the same taints on the Machines of some nodes and on these, after a while.
func (p *machinePool) wantAll(t *testing.T, want string, nodes ...string) {
	t.Helper()
	time.Sleep(calm)
	for _, name := range nodes {
		wantTaints(t, p.Cluster, name, want)
		u := p.Look(t, acctest.Thing{APIVersion: p.set.APIVersion, Kind: "Machine", Namespace: p.set.Namespace, Name: name})
		m := &machinev1beta1.Machine{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, m); err != nil {
			t.Fatal(err)
		}
		if got := taint.FormatAll(m.Spec.Taints); got != want {
			t.Errorf("Machine %s has %q, want %q", name, got, want)
		}
	}
}

const (
	both = "foreign:NoSchedule, dedicated=gpu:NoSchedule"
	left = "foreign:NoSchedule"
)

// TestNodeTaints_anAdoptedTaintIsRemovedFromTheMachineFirst by a destroy, so that nodelink does not
// restore it, and from a node that the selector does not match any more.
func TestNodeTaints_anAdoptedTaintIsRemovedFromTheMachineFirst(t *testing.T) {
	t.Parallel()
	messages.Expect(t, "This plan removes taint … from … Machine")
	for _, how := range []string{"adopted", "imported", "imported with a mark"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			acctest.OnFakeWithControllers(t, func(t *testing.T, c *acctest.Cluster) {
				tf, p, i := terraform(t, c), newMachinePool(t, c), newInstance()
				config := p.config(t, map[string]any{"on_conflict": "adopt"})
				if how != "adopted" {
					if how == "imported with a mark" {
						tf.Settle(t, newInstance(), config)
					}
					var d acctest.Diagnostics
					if i, d = tf.Import(t, i.Type, "selector/"+controllers.PoolLabel+"="+p.set.Name+"/dedicated:NoSchedule"); d.Errors() != "" {
						t.Fatal(d.Errors())
					}
				}
				tf.Settle(t, i, config)
				acctest.WantAll(t, tf.Plan(t, i, nil).Diagnostics.Warnings(), "This plan removes taint dedicated:NoSchedule from 2 Machines, and from their nodes",
					p.set.Namespace+"/"+p.nodes[0]+", "+p.set.Namespace+"/"+p.nodes[1], "The template of MachineSet "+p.set.Namespace+"/"+p.set.Name+" keeps the taint")
				tf.Destroy(t, i)
				p.wantAll(t, left, p.nodes...)
			}, controllers.MachineAPI...)
		})
	}
	t.Run("a node leaves the selector", func(t *testing.T) {
		t.Parallel()
		acctest.OnFakeWithControllers(t, func(t *testing.T, c *acctest.Cluster) {
			tf, p, i := terraform(t, c), newMachinePool(t, c), newInstance()
			config := p.config(t, map[string]any{"on_conflict": "adopt"})
			tf.Settle(t, i, config)
			c.Patch(t, p.nodes[0], `{"metadata":{"labels":{"`+controllers.PoolLabel+`":null}}}`)
			acctest.WantAll(t, tf.Plan(t, i, config).Diagnostics.Warnings(), "This plan removes taint dedicated:NoSchedule from 1 Machine, and from its node", "Machine "+p.set.Namespace+"/"+p.nodes[0])
			tf.Settle(t, i, config)
			p.wantAll(t, left, p.nodes[0])
			p.wantAll(t, both, p.nodes[1])
		}, controllers.MachineAPI...)
	})
}

// TestNodeTaints_aTaintOfTheMachineThatIsNotOwnedStays on both, and the plan warns. The resource gives up
// its record.
func TestNodeTaints_aTaintOfTheMachineThatIsNotOwnedStays(t *testing.T) {
	t.Parallel()
	messages.Expect(t, "Taint … stays on …")
	for name, tt := range map[string]struct {
		with  func(t *testing.T, p *machinePool)
		adopt bool
		says  []string
	}{
		"another writer gave it to the Machine later": {
			with: func(t *testing.T, p *machinePool) {
				t.Helper()
				for _, name := range p.nodes {
					p.Change(t, acctest.Thing{APIVersion: p.set.APIVersion, Kind: "Machine", Namespace: p.set.Namespace, Name: name}, "x",
						`{"spec":{"taints":[{"key":"foreign","effect":"NoSchedule"},{"key":"dedicated","value":"gpu","effect":"NoSchedule"}]}}`)
				}
			}, says: []string{"No record shows that this resource adopted it from Machine"},
		},
		"a resource owns it in the MachineSet": {
			with: func(t *testing.T, p *machinePool) {
				t.Helper()
				owner := &acctest.Instance{Type: "kubetaint_machine_set_taints"}
				terraform(t, p.Cluster).Settle(t, owner, map[string]any{
					"namespace": p.set.Namespace, "name": p.set.Name, "on_conflict": "adopt", "taints": acctest.Objects(t, "dedicated=gpu:NoSchedule"), "rollout": map[string]any{"strategy": "in_place"},
				})
			}, adopt: true, says: []string{"is owned by terraform/machine_set_taints/", "remove it from the configuration of that resource"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			acctest.OnFakeWithControllers(t, func(t *testing.T, c *acctest.Cluster) {
				p, i, config := newMachinePool(t, c), newInstance(), map[string]any{}
				if tt.adopt {
					config["on_conflict"] = "adopt"
				} else {
					for _, name := range p.nodes {
						p.Change(t, acctest.Thing{APIVersion: p.set.APIVersion, Kind: "Machine", Namespace: p.set.Namespace, Name: name}, "x", `{"spec":{"taints":[{"key":"foreign","effect":"NoSchedule"}]}}`)
						p.Patch(t, name, `{"spec":{"taints":[{"key":"foreign","effect":"NoSchedule"}]}}`)
					}
				}
				terraform(t, c).Settle(t, i, p.config(t, config))
				tt.with(t, p)
				tf := terraform(t, c)
				acctest.WantAll(t, tf.Plan(t, i, nil).Diagnostics.Warnings(), append(tt.says, "Taint dedicated:NoSchedule stays on 2 nodes", "leaves the taint in place")...)
				tf.Destroy(t, i)
				p.wantAll(t, both, p.nodes...)
				for _, name := range p.nodes {
					if record := c.Get(t, name).Annotations[taint.OwnedAnnotation]; record != "" {
						t.Errorf("node %s keeps the record %s", name, record)
					}
				}
			}, controllers.MachineAPI...)
		})
	}
}

// TestNodeTaints_aDestroyNeedsNoRightForMachineSets: credentials that may not list them cannot show that
// a taint has no owner there. It stays, and the plan names the right.
func TestNodeTaints_aDestroyNeedsNoRightForMachineSets(t *testing.T) {
	t.Parallel()
	acctest.OnFakeWithControllers(t, func(t *testing.T, c *acctest.Cluster) {
		p, i := newMachinePool(t, c), newInstance()
		terraform(t, c).Settle(t, i, p.config(t, map[string]any{"on_conflict": "adopt"}))
		rights := slices.DeleteFunc(c.Rights(t), func(r rbacv1.PolicyRule) bool { return slices.Contains(r.Resources, "machinesets") })
		few := &acctest.Terraform{Provider: c.ProviderAt(t, c.REST.Host, c.TokenWith(t, rights...))}
		acctest.WantAll(t, few.Plan(t, i, nil).Diagnostics.Warnings(), "Taint dedicated:NoSchedule stays on 2 nodes", "The credentials may not list MachineSets", "Grant list of machinesets in machine.openshift.io")
		few.Destroy(t, i)
		p.wantAll(t, both, p.nodes...)
	}, controllers.MachineAPI...)
}

// TestNodeTaints_anApplyThatMayReadLessThanItsPlanIsRefused: it would leave on the Machine, or on both, what
// the plan removes. Nothing is changed.
func TestNodeTaints_anApplyThatMayReadLessThanItsPlanIsRefused(t *testing.T) {
	t.Parallel()
	for _, resource := range []string{"machines", "machinesets"} {
		t.Run(resource, func(t *testing.T) {
			t.Parallel()
			acctest.OnFakeWithControllers(t, func(t *testing.T, c *acctest.Cluster) {
				tf, p, i := terraform(t, c), newMachinePool(t, c), newInstance()
				tf.Settle(t, i, p.config(t, map[string]any{"on_conflict": "adopt"}))
				planned := tf.Plan(t, i, nil)
				rights := slices.DeleteFunc(c.Rights(t), func(r rbacv1.PolicyRule) bool { return slices.Contains(r.Resources, resource) })
				few := &acctest.Terraform{Provider: c.ProviderAt(t, c.REST.Host, c.TokenWith(t, rights...))}
				acctest.WantAll(t, few.Carry(t, i, planned, nil).Errors(), "The credentials have no permission for this request", "list "+resource)
				p.wantAll(t, both, p.nodes...)
				if !i.Exists() {
					t.Fatal("the state is gone")
				}
				tf.Destroy(t, i)
				p.wantAll(t, left, p.nodes...)
			}, controllers.MachineAPI...)
		})
	}
}

// TestNodeTaints_withoutMachinesADestroyDoesNotAskForThem: neither where the cluster has no such kind nor
// where no node that is given up has one.
func TestNodeTaints_withoutMachinesADestroyDoesNotAskForThem(t *testing.T) {
	t.Parallel()
	acctest.CountsRequests(t)
	acctest.OnFake(t, func(t *testing.T, c *acctest.Cluster) {
		audit, provider := c.Audit(t)
		tf, name, i := &acctest.Terraform{Provider: provider}, acctest.Name(t, "node"), newInstance()
		c.Node(t, acctest.Node{Name: name, Taints: acctest.Parse(t, "dedicated=gpu:NoSchedule")})
		tf.Settle(t, i, map[string]any{"node_name": name, "on_conflict": "adopt", "taints": acctest.Objects(t, "dedicated=gpu:NoSchedule")})
		audit.Reset()
		if planned := tf.Plan(t, i, nil); len(planned.Diagnostics) > 0 {
			t.Errorf("the plan says %s%s", planned.Diagnostics.Errors(), planned.Diagnostics.Warnings())
		}
		tf.Destroy(t, i)
		for request := range acctest.Counted(t, "a destroy", audit.Requests()) {
			if strings.Contains(request, "machine") {
				t.Errorf("a destroy sends %s", request)
			}
		}
	})
}
