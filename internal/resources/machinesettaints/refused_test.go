// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package machinesettaints_test

import (
	"strings"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/messages"
)

// TestMachineSetTaints_refusals is what a plan refuses before anything is written.
func TestMachineSetTaints_refusals(t *testing.T) {
	t.Parallel()
	messages.Expect(t, "Unable to roll … out with this")
	messages.ExpectDetail(t, "this resource did not write it")
	for name, tt := range map[string]struct {
		set      func(*acctest.MachineSet)
		strategy string
		want     []string
		// role is that of its machines.
		role string
	}{
		"an autoscaled set is not scaled to zero": {func(m *acctest.MachineSet) { m.Annotations = autoscaled("1", "5") }, "scale_to_zero",
			[]string{`AttributeName("rollout").AttributeName("strategy")`, `MachineAutoscaler "openshift-machine-api/gpu" scales it between 1 and 5`, "Use in_place or rolling"}, ""},
		"an autoscaled set does not surge beyond its maximum": {func(m *acctest.MachineSet) { m.Annotations = autoscaled("1", "1") }, "surge",
			[]string{"has a maximum of 1, and max_surge would make it 2"}, ""},
		"what Hive manages": {func(m *acctest.MachineSet) {
			m.Labels = map[string]string{"hive.openshift.io/machine-pool": "worker", "hive.openshift.io/managed": "true"}
		}, "in_place", []string{`AttributeName("name")`, "Unable to change the taints of MachineSet", "Nothing has been written", "Change the MachinePool instead"}, ""},
		"a taint without a record": {func(m *acctest.MachineSet) { m.Taints = "team=x:NoSchedule" }, "in_place",
			[]string{`AttributeName("taints")`, `Unable to claim taint "team:NoSchedule"`, `with the value "x"`, "on_conflict"}, ""},
		"control-plane machines": {nil, "in_place",
			[]string{"Unable to change the taints of MachineSet", "this MachineSet makes control-plane machines", "Nothing has been written", "Choose another MachineSet"}, "master"},
	} {
		t.Run(strings.ReplaceAll(name, " ", "_"), func(t *testing.T) {
			t.Parallel()
			onFake(t, func(t *testing.T, s *stage) {
				p := s.pool(1, tt.set)
				if tt.role != "" {
					s.c.Change(t, p.Thing, "somebody", `{"spec":{"template":{"metadata":{"labels":{"machine.openshift.io/cluster-api-machine-role":"`+tt.role+`"}}}}}`)
				}
				before := p.Template()
				config := s.config(p.Name, "team=a:NoSchedule", map[string]any{"strategy": tt.strategy})
				acctest.WantAll(s.T, s.tf.Plan(t, newInstance(), config).Diagnostics.Errors(), tt.want...)
				if got := p.Template(); got != before {
					t.Fatalf("the template has %q", got)
				}
			})
		})
	}
}

func TestMachineSetTaints_badInputNamesTheAttribute(t *testing.T) {
	t.Parallel()
	messages.Expect(t, "Unable to use … with the strategy")
	onFake(t, func(t *testing.T, s *stage) {
		p := s.pool(0, nil)
		good := s.config(p.Name, "team=a:NoSchedule", map[string]any{"strategy": "in_place"})
		for name, tt := range map[string]struct {
			change map[string]any
			want   []string
		}{
			"a strategy that there is not":       {map[string]any{"rollout": map[string]any{"strategy": "recreate"}}, []string{`AttributeName("strategy")`, "template_only"}},
			"a parameter of another strategy":    {map[string]any{"rollout": map[string]any{"strategy": "in_place", "max_surge": 2}}, []string{`AttributeName("max_surge")`, "is only for the strategy surge"}},
			"a surge of nothing":                 {map[string]any{"rollout": map[string]any{"strategy": "surge", "max_surge": 0}}, []string{`AttributeName("max_surge")`, "at least 1"}},
			"neither a name nor a selector":      {map[string]any{"name": nil}, []string{"name", "selector"}},
			"both a name and a selector":         {map[string]any{"selector": "a=b"}, []string{"name", "selector"}},
			"a selector that does not parse":     {map[string]any{"name": nil, "selector": "=="}, []string{`AttributeName("selector")`}},
			"a reserved taint":                   {map[string]any{"taints": acctest.Objects(t, "node.kubernetes.io/not-ready:NoExecute")}, []string{`AttributeName("taints")`}},
			"a MachineSet that there is not":     {map[string]any{"name": "nobody"}, []string{`AttributeName("name")`, "There is no MachineSet of this name", "kubectl get machinesets.machine.openshift.io"}},
			"the same taint with another effect": {map[string]any{"taints": acctest.Objects(t, "team=a:NoSchedule team=b:NoSchedule")}, []string{`AttributeName("taints")`}},
		} {
			config := acctest.With(good, tt.change)
			acctest.WantAll(s.T, name+": "+s.tf.Plan(t, newInstance(), config).Diagnostics.Errors(), tt.want...)
		}
	})
}

// TestMachineSetTaints_lastRouters: a set on whose machines all routers run is not
// scaled to zero, neither where the plan sees them nor where they come after it.
func TestMachineSetTaints_lastRouters(t *testing.T) {
	t.Parallel()
	onFake(t, func(t *testing.T, s *stage) {
		p := s.pool(1, nil)
		controller := acctest.Name(t, "ic")
		_, err := s.c.Admin.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "openshift-ingress"}}, metav1.CreateOptions{})
		if err != nil {
			t.Logf("the namespace: %v", err)
		}
		node := p.Machines()[p.Names()[0]].Status.NodeRef.Name
		router := func(on string) {
			s.c.Pod(t, "openshift-ingress", acctest.Name(t, "router"), on, func(pod *corev1.Pod) {
				pod.Labels = map[string]string{"ingresscontroller.operator.openshift.io/deployment-ingresscontroller": controller}
				pod.Spec.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}}
			})
		}
		config := s.config(p.Name, "team=a:NoSchedule", map[string]any{"strategy": "scale_to_zero"})
		refusal := []string{`AttributeName("rollout").AttributeName("strategy")`, `router pods of IngressController "` + controller + `" run on its machines`, "Use surge or rolling"}
		i := newInstance()
		planned := s.tf.Plan(t, i, config)
		if e := planned.Diagnostics.Errors(); e != "" {
			t.Fatal(e)
		}
		router(node)
		acctest.WantAll(s.T, s.tf.Carry(t, i, planned, config).Errors(), refusal...)
		acctest.WantAll(s.T, s.tf.Plan(t, newInstance(), config).Diagnostics.Errors(), refusal...)
		if p.Replicas() != 1 || p.Template() != "vendor=x:NoSchedule" {
			t.Fatalf("the set has %d replicas and %q", p.Replicas(), p.Template())
		}
		if e := s.tf.Plan(t, newInstance(), s.config(p.Name, "team=a:NoSchedule", map[string]any{"strategy": "surge"})).Diagnostics.Errors(); e != "" {
			t.Errorf("surge is refused: %s", e)
		}
		elsewhere := acctest.Name(t, "node")
		s.c.Node(t, acctest.Node{Name: elsewhere})
		router(elsewhere)
		if e := s.tf.Plan(t, newInstance(), config).Diagnostics.Errors(); e != "" {
			t.Errorf("it is refused where a router runs elsewhere: %s", e)
		}
	})
}

// TestMachineSetTaints_aClusterWithoutTheMachineAPI says so at plan, and loses no
// state; what is about nodes alone works as everywhere, and says nothing.
func TestMachineSetTaints_aClusterWithoutTheMachineAPI(t *testing.T) {
	t.Parallel()
	messages.Expect(t, "Unable to find MachineSets: the cluster has no Machine API")
	const none = "Unable to find MachineSets: the cluster has no Machine API"
	onFake(t, func(t *testing.T, s *stage) {
		p, i := s.pool(1, nil), newInstance()
		config := s.config(p.Name, "team=a:NoSchedule", map[string]any{"strategy": "in_place"})
		planned := s.tf.Plan(t, newInstance(), config)
		s.apply(i, config)

		proxy := s.c.Proxy(t)
		tf := &acctest.Terraform{Provider: proxy.Provider(t, s.c)}
		var asked atomic.Int64
		proxy.Spoil(func(r acctest.Request) acctest.Fault {
			if strings.HasPrefix(r.Path, "/apis/machine.openshift.io") {
				asked.Add(1)
				return acctest.Unserved
			}
			return acctest.None
		})
		acctest.WantAll(s.T, tf.Plan(t, newInstance(), config).Diagnostics.Errors(), none, "it is not OpenShift", "kubetaint_node_taints works on any cluster")
		acctest.WantAll(s.T, tf.Carry(t, newInstance(), planned, config).Errors(), none)
		walk := tf.Walk(t)
		acctest.WantAll(s.T, walk.Refresh(i).Errors(), none)
		acctest.WantAll(s.T, walk.Plan(i, nil).Diagnostics.Errors(), none)
		acctest.WantAll(s.T, walk.ApplyChange(i, acctest.Planned{Private: i.Private}, nil).Errors(), none)
		if _, d := tf.Import(t, "kubetaint_machine_set_taints", s.namespace+"/"+p.Name+"/team:NoSchedule"); true {
			acctest.WantAll(s.T, d.Errors(), none)
		}
		if !i.Exists() || asked.Load() == 0 {
			t.Fatalf("%d requests asked for MachineSets, and the state has the resource: %t", asked.Load(), i.Exists())
		}
		p.Want(1, foreign+" team=a:NoSchedule")

		node := acctest.Name(t, "node")
		const before = "old=x:NoSchedule"
		s.c.Node(t, acctest.Node{Name: node, Taints: acctest.Parse(t, before)})
		taints := &acctest.Instance{Type: "kubetaint_node_taints"}
		for _, wanted := range []string{"team=a:NoSchedule", "team=b:NoSchedule"} {
			config := map[string]any{"node_name": node, "taints": acctest.Objects(t, wanted), "absent_taints": []any{map[string]any{"key": "old", "effect": "NoSchedule"}}}
			if d := tf.Apply(t, taints, config); len(d) > 0 || s.c.Taints(t, node) != wanted {
				t.Fatalf("the node has %q, want %q: %s%s", s.c.Taints(t, node), wanted, d.Errors(), d.Warnings())
			}
		}
		if _, d := tf.Data(t, "kubetaint_nodes", map[string]any{"selector": "kubernetes.io/hostname=" + node}); len(d) > 0 {
			t.Fatalf("the list of nodes says %s%s", d.Errors(), d.Warnings())
		}
		if d := tf.Apply(t, taints, nil); len(d) > 0 || s.c.Taints(t, node) != before {
			t.Fatalf("the node has %q: %s%s", s.c.Taints(t, node), d.Errors(), d.Warnings())
		}
	})
}

// TestMachineSetTaints_aReplacementThatStrandsPodsIsRefusedAtPlan: its apply destroys first, and finds no
// taint any more that the pod tolerates.
func TestMachineSetTaints_aReplacementThatStrandsPodsIsRefusedAtPlan(t *testing.T) {
	t.Parallel()
	onFake(t, func(t *testing.T, s *stage) {
		p := s.pool(1, func(m *acctest.MachineSet) { m.Labels = map[string]string{"group": "gpu"} })
		inPlace, i := map[string]any{"strategy": "in_place"}, newInstance()
		s.apply(i, s.config(p.Name, "team=a:NoExecute", inPlace))
		s.c.Pod(t, s.namespace, "p", p.Machines()[p.Names()[0]].Status.NodeRef.Name, func(pod *corev1.Pod) { pod.Spec.Tolerations = acctest.ParseTolerations(t, "team=a") })
		config := s.config(p.Name, "team=b:NoExecute", inPlace)
		delete(config, "name")
		config["selector"] = "group=gpu"
		acctest.WantAll(t, s.tf.Plan(t, i, config).Diagnostics.Errors(), "1 pod tolerates the replaced taint, but not the new one")
		config["evictions"] = map[string]any{"stranded": "evict"}
		if d := s.tf.Plan(t, i, config).Diagnostics; d.Errors() != "" || !strings.Contains(d.Warnings(), "evicts 1 pod") {
			t.Errorf("with stranded = \"evict\": errors %q, warnings %q", d.Errors(), d.Warnings())
		}
	})
}
