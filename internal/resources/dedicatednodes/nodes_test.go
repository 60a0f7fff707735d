// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package dedicatednodes_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/label"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
)

func (p *pool) wantNode(name, taints, label string) {
	p.t.Helper()
	node := p.c.Get(p.t, name)
	if got := p.c.Taints(p.t, name); got != taints || node.Labels["dedicated"] != label {
		p.t.Fatalf("node %s has the taints %q and the label %q, want %q and %q", name, got, node.Labels["dedicated"], taints, label)
	}
}

func (p *pool) wantDrift(tf *acctest.Terraform, i *acctest.Instance, config map[string]any, where, what string) {
	p.t.Helper()
	planned := tf.Plan(p.t, i, config)
	if planned.Diagnostics.Errors() != "" {
		p.t.Fatal(planned.Diagnostics.Errors())
	}
	drift, _ := tf.Attributes(p.t, i)["drift"].(map[string]any)
	if got, _ := drift[where].(string); got != what || planned.Empty != (what == "") {
		p.t.Fatalf("the drift is %v and the plan is empty: %t", drift, planned.Empty)
	}
}

func TestDedicatedNodes_nodesOfASelectorComeAndGo(t *testing.T) {
	t.Parallel()
	onFake(t, func(t *testing.T, c *acctest.Cluster) {
		p := newPool(t, c, "Deployment")
		w := wish{taints: "team=a:NoExecute", labels: "dedicated=gpu", workloads: map[string]string{"Deployment": pinned}}
		// A wait for pods that do not come fails the test long before its own end.
		soon := map[string]any{"timeouts": map[string]any{"create": "5m", "update": "5m", "delete": "5m"}}
		config, mine := acctest.With(p.config(w), soon), "gpu-"+p.name
		fresh := acctest.Node{Name: p.nodes[1], Labels: map[string]string{"field": p.name, "pool": p.name}}
		tf, i := terraform(t, c), newInstance()
		tf.Settle(t, i, config)

		// One that goes is no drift, and a node recreated under its name is new.
		c.DeleteNode(t, p.nodes[1])
		p.wantDrift(tf, i, config, "", "")
		c.Node(t, fresh)
		p.wantDrift(tf, i, config, "node/"+p.nodes[1], "missing")
		tf.Settle(t, i, config)
		p.wantNode(p.nodes[1], "team=a:NoExecute", mine)

		// One that goes while it is written is no error.
		for _, nth := range []int{1, 2} {
			proxy, writes := c.Proxy(t), 0
			disturbed := &acctest.Terraform{Provider: proxy.Provider(t, c)}
			proxy.Spoil(func(r acctest.Request) acctest.Fault {
				if r.Write() && strings.HasSuffix(r.Path, p.nodes[1]) {
					if writes++; writes == nth {
						c.DeleteNode(t, p.nodes[1])
					}
				}
				return acctest.None
			})
			changed := acctest.With(p.config(wish{taints: "team=b:NoExecute", labels: "reserved=gpu", workloads: w.workloads}), soon)
			if d := disturbed.Apply(t, i, changed); d.Errors() != "" {
				t.Fatalf("the node went at its write %d: %s\n%s", nth, d.Errors(), c.Unscheduled(t, p.namespace))
			}
			proxy.Spoil(nil)
			if writes < nth {
				t.Fatalf("the node was written only %d times", writes)
			}
			p.wantDrift(tf, i, changed, "", "")
			c.Node(t, fresh)
			tf.Settle(t, i, config)
			p.wantNode(p.nodes[1], "team=a:NoExecute", mine)
		}

		// One that comes between plan and apply is dedicated as well.
		fresh.Name += "-late"
		changed := acctest.With(p.config(wish{taints: "team=b:NoExecute", labels: "dedicated=gpu", workloads: w.workloads}), soon)
		planned, walk := tf.Plan(t, i, changed), tf.Walk(t)
		walk.Between = func() { c.Node(t, fresh) }
		if d := walk.ApplyChange(i, planned, changed); d.Errors() != "" {
			t.Fatal(d.Errors())
		}
		p.wantNode(fresh.Name, "team=b:NoExecute", mine)
		p.wantDrift(tf, i, changed, "", "")
		tf.Destroy(t, i)
		for _, name := range []string{p.nodes[1], fresh.Name} {
			p.wantNode(name, "", "")
		}
		p.wantTemplate("Deployment", wish{})
	})
}

func TestDedicatedNodes_namedNodesComeAndGo(t *testing.T) {
	t.Parallel()
	onFake(t, func(t *testing.T, c *acctest.Cluster) {
		p := newPool(t, c, "Deployment")
		config := acctest.With(p.config(wish{taints: "team=a:NoExecute", labels: "dedicated=gpu", workloads: map[string]string{"Deployment": pinned}}),
			map[string]any{"node_selector": nil, "node_names": p.nodes, "timeouts": map[string]any{"update": "8s"}})
		tf, i := terraform(t, c), newInstance()
		tf.Settle(t, i, config)
		c.DeleteNode(t, p.nodes[1])
		p.wantDrift(tf, i, config, "node/"+p.nodes[1], "missing")
		// It may be recreated: the state keeps it, and an apply reports that it does not.
		acctest.WantAll(t, tf.Apply(t, i, config).Errors(), `[AttributeName("node_names")] Unable to find node "`+p.nodes[1]+`"`, "remove it from node_names", "Nothing has been written")
		if !i.Exists() {
			t.Fatal("the state was dropped")
		}
		tf.Settle(t, i, acctest.With(config, map[string]any{"node_names": p.nodes[:1], "timeouts": nil}))
		c.Node(t, acctest.Node{Name: p.nodes[1], Labels: map[string]string{"field": p.name}})
		config["timeouts"] = nil
		tf.Settle(t, i, config)
		p.wantNode(p.nodes[1], "team=a:NoExecute", "gpu-"+p.name)
		c.DeleteNode(t, p.nodes[1])
		tf.Destroy(t, i)
		p.wantNode(p.nodes[0], foreignTaint, "")
		p.wantTemplate("Deployment", wish{})
	})
}

// TestDedicatedNodes_workloadsComeAndGo deletes one of two workloads.
func TestDedicatedNodes_workloadsComeAndGo(t *testing.T) {
	t.Parallel()
	onFake(t, func(t *testing.T, c *acctest.Cluster) {
		p := newPool(t, c, "StatefulSet", "Deployment")
		both := wish{taints: "team=a:NoExecute", labels: "dedicated=gpu", workloads: map[string]string{"Deployment": pinned, "StatefulSet": pinned}}
		one := wish{taints: both.taints, labels: both.labels, workloads: map[string]string{"Deployment": pinned}}
		thing := acctest.Thing{APIVersion: "apps/v1", Kind: "StatefulSet", Namespace: p.namespace, Name: "statefulset"}
		tf, i := terraform(t, c), newInstance()
		tf.Settle(t, i, p.config(both))
		c.Remove(t, thing)
		acctest.WantAll(t, tf.Plan(t, i, p.config(both)).Diagnostics.Errors(), `[AttributeName("workloads").ElementKeyInt(1)] Unable to find StatefulSet "`+p.namespace+`/statefulset"`)
		tf.Settle(t, i, p.config(one))
		p.run("StatefulSet", "statefulset", nil)
		p.wantDrift(tf, i, p.config(one), "", "")
		tf.Settle(t, i, p.config(both))
		p.want(both, "Deployment", "StatefulSet")

		// Made anew under its name, it lacks all of it.
		c.Remove(t, thing)
		p.run("StatefulSet", "statefulset", nil)
		p.wantDrift(tf, i, p.config(both), "StatefulSet/"+p.namespace+"/statefulset", "missing")
		tf.Settle(t, i, p.config(both))
		p.want(both, "Deployment", "StatefulSet")
		c.Remove(t, thing)
		tf.Destroy(t, i)
		p.want(wish{}, "Deployment")
	})
}

func TestDedicatedNodes_refreshOnlyStaysQuietWhilePodsComeAndGo(t *testing.T) {
	t.Parallel()
	onFake(t, func(t *testing.T, c *acctest.Cluster) {
		p := newPool(t, c, "Deployment", "DaemonSet")
		config := p.config(wish{taints: "team=a:NoSchedule", labels: "dedicated=gpu", workloads: map[string]string{"Deployment": pinned, "DaemonSet": tolerating}})
		tf, i := terraform(t, c), newInstance()
		tf.Settle(t, i, config)
		before := tf.Attributes(t, i)
		pods, deployment := c.Admin.CoreV1().Pods(p.namespace), acctest.Thing{APIVersion: "apps/v1", Kind: "Deployment", Namespace: p.namespace, Name: "deployment"}
		for what, change := range map[string]func(){
			"a stranger comes": func() { c.Pod(t, p.namespace, "stranger", p.nodes[0], nil) },
			"pods are deleted": func() {
				list, err := pods.List(t.Context(), metav1.ListOptions{LabelSelector: "app in (deployment,daemonset)"})
				if err != nil {
					t.Fatal(err)
				}
				for _, pod := range list.Items {
					if err := pods.Delete(t.Context(), pod.Name, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
						t.Fatal(err)
					}
				}
			},
			"a workload is scaled": func() { c.Change(t, deployment, "autoscaler", `{"spec":{"replicas":7}}`) },
			"a workload restarts": func() {
				c.Change(t, deployment, "kubectl", `{"spec":{"template":{"metadata":{"annotations":{"restarted":"now"}}}}}`)
			},
			"others label a node":           func() { c.Patch(t, p.nodes[0], `{"metadata":{"labels":{"changed":"yes"}}}`) },
			"a node beside the pool joins":  func() { c.Node(t, acctest.Node{Name: p.name + "-late", Labels: map[string]string{"field": p.name}}) },
			"others annotate the workload":  func() { c.Change(t, deployment, "somebody", `{"metadata":{"annotations":{"note":"x"}}}`) },
			"a node of the pool goes":       func() { c.DeleteNode(t, p.nodes[1]) },
			"a node of the pool is drained": func() { c.Patch(t, p.nodes[0], `{"spec":{"unschedulable":true}}`) },
		} {
			change()
			t.Log(what)
			// A plan for a refresh alone shows what a refresh changes in the state.
			if planned := tf.Plan(t, i, config); !planned.Empty || len(planned.Diagnostics) > 0 {
				t.Fatalf("the plan is empty: %t, and says %s%s", planned.Empty, planned.Diagnostics.Errors(), planned.Diagnostics.Warnings())
			}
			if diff := cmp.Diff(before, tf.Attributes(t, i)); diff != "" {
				t.Fatalf("a refresh changes the state: %s", diff)
			}
		}
	})
}

// TestDedicatedNodes_whatTheMachineCarriesIsNotDropped from its node, where OpenShift would put it
// back: taints and labels alike.
func TestDedicatedNodes_whatTheMachineCarriesIsNotDropped(t *testing.T) {
	t.Parallel()
	onFake(t, func(t *testing.T, c *acctest.Cluster) {
		p := newPool(t, c)
		mine, tf, i := "gpu-"+p.name, terraform(t, c), newInstance()
		both := p.config(wish{taints: "team=a:NoSchedule also:NoSchedule", labels: "dedicated=gpu tier=1"})
		tf.Settle(t, i, both)
		c.Machine(t, p.namespace, "m", acctest.Parse(t, "team=a:NoSchedule"))
		c.Change(t, acctest.Thing{APIVersion: machinev1beta1.GroupVersion.String(), Kind: "Machine", Namespace: p.namespace, Name: "m"}, "x",
			`{"spec":{"metadata":{"labels":{"dedicated":"`+mine+`"}}}}`)
		c.Patch(t, p.nodes[0], `{"metadata":{"annotations":{"machine.openshift.io/machine":"`+p.namespace+`/m"}}}`)

		tf = terraform(t, c)
		acctest.WantAll(t, tf.Plan(t, i, p.config(wish{taints: "also:NoSchedule", labels: "dedicated=gpu tier=1"})).Diagnostics.Errors(),
			`Unable to remove taint "team:NoSchedule" from node "`+p.nodes[0]+`"`, "until then, leave it in the configuration")
		acctest.WantAll(t, tf.Plan(t, i, p.config(wish{taints: "team=a:NoSchedule also:NoSchedule", labels: "tier=1"})).Diagnostics.Errors(),
			"label dedicated: the node's Machine "+p.namespace+"/m has it", "until then, leave it in the configuration")
		tf.Settle(t, i, p.config(wish{taints: "team=a:NoSchedule", labels: "dedicated=gpu"}))
		p.wantNode(p.nodes[0], foreignTaint+", team=a:NoSchedule", mine)
		acctest.WantAll(t, tf.Plan(t, i, nil).Diagnostics.Warnings(),
			"OpenShift will restore label dedicated, which this plan removes from 1 node", "node "+p.nodes[0],
			"Taint team:NoSchedule stays on 1 node", "No record shows that this resource adopted it from Machine "+p.namespace+"/m")
		tf.Destroy(t, i)
	})
}

// TestDedicatedNodes_anImportedTaintIsRemovedFromTheMachineFirst where its node gives it up.
func TestDedicatedNodes_anImportedTaintIsRemovedFromTheMachineFirst(t *testing.T) {
	t.Parallel()
	onFake(t, func(t *testing.T, c *acctest.Cluster) {
		p := newPool(t, c)
		node, machine := p.nodes[0], acctest.Thing{APIVersion: machinev1beta1.GroupVersion.String(), Kind: "Machine", Namespace: p.namespace, Name: "m"}
		c.Machine(t, p.namespace, "m", acctest.Parse(t, foreignTaint+" team=a:NoSchedule"))
		c.ChangeStatus(t, machine, `{"status":{"nodeRef":{"kind":"Node","name":"`+node+`"}}}`)
		c.Patch(t, node, `{"metadata":{"annotations":{"machine.openshift.io/machine":"`+p.namespace+`/m"}},"spec":{"taints":[{"key":"foreign","value":"1","effect":"NoSchedule"},{"key":"team","value":"a","effect":"NoSchedule"}]}}`)
		tf := terraform(t, c)
		i, d := tf.Import(t, typeName, "nodes/"+node+"/team:NoSchedule")
		if d.Errors() != "" {
			t.Fatal(d.Errors())
		}
		tf.Settle(t, i, map[string]any{"node_names": []any{node}, "taints": acctest.Objects(t, "team=a:NoSchedule")})
		acctest.WantAll(t, tf.Plan(t, i, nil).Diagnostics.Warnings(), "This plan removes taint team:NoSchedule from 1 Machine, and from its node", "Machine "+p.namespace+"/m")
		tf.Destroy(t, i)
		if got := c.Taints(t, node); got != foreignTaint {
			t.Errorf("the node has %s", got)
		}
		if diff := cmp.Diff([]any{map[string]any{"key": "foreign", "value": "1", "effect": "NoSchedule"}}, c.At(t, machine, []string{"spec", "taints"})); diff != "" {
			t.Errorf("the Machine: %s", diff)
		}
	})
}

// TestDedicatedNodes_anInterruptedPinIsGivenUp: an update has pinned a workload that tolerates
// everything, which needs no toleration, and was killed before its state was saved. The workload is
// found by the mark of its pin when the configuration goes back; the pin of another resource stays.
func TestDedicatedNodes_anInterruptedPinIsGivenUp(t *testing.T) {
	t.Parallel()
	onFake(t, func(t *testing.T, c *acctest.Cluster) {
		p := newPool(t, c, "Deployment")
		p.run("StatefulSet", "statefulset", func(spec *corev1.PodSpec) {
			spec.Tolerations = append(spec.Tolerations, corev1.Toleration{Operator: corev1.TolerationOpExists})
		})
		tf, i, other := terraform(t, c), newInstance(), newInstance()
		without, with := wish{taints: "team=a:NoSchedule", labels: "dedicated=gpu"}, wish{taints: "team=a:NoSchedule", labels: "dedicated=gpu", workloads: map[string]string{"StatefulSet": pinned}}
		tf.Settle(t, other, map[string]any{"node_names": []any{p.other}, "taints": acctest.Objects(t, "other:NoSchedule"), "labels": map[string]any{"other": p.name},
			"workloads": []any{map[string]any{"kind": "Deployment", "namespace": p.namespace, "name": "deployment", "pin": true}}})
		tf.Settle(t, i, p.config(without))
		killed := *i
		tf.Settle(t, &killed, p.config(with))
		pins := func() []string {
			mine, _ := c.Template(t, p.namespace, "StatefulSet", "statefulset")
			others, _ := c.Template(t, p.namespace, "Deployment", "deployment")
			return []string{mine.NodeSelector["dedicated"], others.NodeSelector["other"]}
		}
		if diff := cmp.Diff([]string{"gpu-" + p.name, p.name}, pins()); diff != "" {
			t.Fatal(diff)
		}
		// There is something to change.
		if d := tf.Apply(t, i, acctest.With(p.config(without), map[string]any{"taints": acctest.Objects(t, "team=b:NoSchedule")})); d.Errors() != "" {
			t.Fatal(d.Errors())
		}
		if diff := cmp.Diff([]string{"", p.name}, pins()); diff != "" {
			t.Fatal(diff)
		}
	})
}

// TestDedicatedNodes_aNodeOfANewMachineIsReadBeforeTheWrite: the plan waits for a node, whose
// Machine has another value of a label.
func TestDedicatedNodes_aNodeOfANewMachineIsReadBeforeTheWrite(t *testing.T) {
	t.Parallel()
	onFake(t, func(t *testing.T, c *acctest.Cluster) {
		tf, name, namespace, i := terraform(t, c), acctest.Name(t, "node"), c.Namespace(t), newInstance()
		config := map[string]any{"node_names": []any{name}, "taints": acctest.Objects(t, "team=a:NoSchedule"), "labels": map[string]any{"tier": "a"}}
		planned := tf.Plan(t, i, config)
		if planned.Diagnostics.Errors() != "" {
			t.Fatal(planned.Diagnostics.Errors())
		}
		walk := tf.Walk(t)
		walk.Between = func() {
			c.Machine(t, namespace, "m", nil)
			c.Change(t, acctest.Thing{APIVersion: machinev1beta1.GroupVersion.String(), Kind: "Machine", Namespace: namespace, Name: "m"}, "x", `{"spec":{"metadata":{"labels":{"tier":"b"}}}}`)
			c.Node(t, acctest.Node{Name: name})
			c.Patch(t, name, `{"metadata":{"annotations":{"machine.openshift.io/machine":"`+namespace+`/m"}}}`)
		}
		acctest.WantAll(t, walk.ApplyChange(i, planned, config).Errors(), "label tier: the node's Machine "+namespace+`/m has the value "b"`, "OpenShift sets it on the node")
		if node := c.Get(t, name); len(node.Spec.Taints)+len(node.Labels["tier"]) > 0 {
			t.Errorf("the node has %v and %v", node.Spec.Taints, node.Labels)
		}
	})
}

// TestDedicatedNodes_namesThePodThatStopsARollout: a StatefulSet whose first pod is not ready does not follow
// its template, and the plan says so.
func TestDedicatedNodes_namesThePodThatStopsARollout(t *testing.T) {
	t.Parallel()
	onFake(t, func(t *testing.T, c *acctest.Cluster) {
		p := newPool(t, c, "StatefulSet")
		pods := c.Admin.CoreV1().Pods(p.namespace)
		pod, err := pods.Get(t.Context(), "statefulset-0", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionFalse}}
		if _, err := pods.UpdateStatus(t.Context(), pod, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		planned := terraform(t, c).Plan(t, newInstance(), p.config(wish{taints: "team=a:NoExecute", workloads: map[string]string{"StatefulSet": tolerating}}))
		acctest.WantAll(t, planned.Diagnostics.Warnings(), `The rollout of StatefulSet "`+p.namespace+`/statefulset" stops until statefulset-0 is ready`, "kubectl delete pod statefulset-0")
	})
}

// TestDedicatedNodes_aNodeWithADamagedRecordIsNamed, also where it leaves the selector: what it has stays there,
// because it is not known whose that is.
func TestDedicatedNodes_aNodeWithADamagedRecordIsNamed(t *testing.T) {
	t.Parallel()
	for _, annotation := range []string{taint.OwnedAnnotation, label.OwnedAnnotation} {
		t.Run(annotation, func(t *testing.T) {
			t.Parallel()
			onFake(t, func(t *testing.T, c *acctest.Cluster) {
				p := newPool(t, c)
				tf, i := terraform(t, c), newInstance()
				config := p.config(wish{taints: "team=a:NoSchedule", labels: "dedicated=gpu"})
				tf.Settle(t, i, config)
				c.Patch(t, p.nodes[0], `{"metadata":{"annotations":{"`+annotation+`":"[{"},"labels":{"leaves":"true"}}}`)
				named := `Nothing is written to node "` + p.nodes[0] + `": the annotation ` + annotation + ` is damaged`
				before := c.Get(t, p.nodes[0])
				for what, changed := range map[string]map[string]any{
					"the same nodes":              config,
					"other taints":                p.config(wish{taints: "team=b:NoSchedule", labels: "dedicated=gpu"}),
					"the node leaves":             acctest.With(config, map[string]any{"node_selector": "pool=" + p.name + ",!leaves"}),
					"the node is not among names": acctest.With(config, map[string]any{"node_selector": nil, "node_names": []any{p.nodes[1]}}),
				} {
					if said := tf.Plan(t, new(*i), changed).Diagnostics.Warnings(); !strings.Contains(said, named) {
						t.Errorf("%s: the plan does not name the node: %s", what, said)
					}
				}
				if d := tf.Apply(t, i, acctest.With(config, map[string]any{"node_selector": "pool=" + p.name + ",!leaves"})); d.Errors() != "" {
					t.Fatal(d.Errors())
				}
				if after := c.Get(t, p.nodes[0]); annotation == taint.OwnedAnnotation && taint.FormatAll(after.Spec.Taints) != taint.FormatAll(before.Spec.Taints) ||
					annotation == label.OwnedAnnotation && after.Labels["dedicated"] != before.Labels["dedicated"] {
					t.Errorf("the node has %v and %v", after.Spec.Taints, after.Labels)
				}
			})
		})
	}
}
