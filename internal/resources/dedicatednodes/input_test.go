// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package dedicatednodes_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/messages"
)

func TestDedicatedNodes_badInputNamesTheAttributeAndWhatIsAllowed(t *testing.T) {
	t.Parallel()
	messages.Expect(t, "Unable to manage the reserved label", "Unable to pin", "Unable to find … \"…/…\"")
	onFake(t, func(t *testing.T, c *acctest.Cluster) {
		tf := terraform(t, c)
		base := map[string]any{"node_selector": "pool=nobody", "taints": acctest.Objects(t, "team=a:NoExecute")}
		deployment := func(more map[string]any) []any {
			return []any{acctest.With(map[string]any{"kind": "Deployment", "namespace": "default", "name": "nobody"}, more)}
		}
		for name, tt := range map[string]struct {
			change map[string]any
			want   []string
		}{
			"no nodes":                        {map[string]any{"node_selector": nil}, []string{"node_names", "node_selector"}},
			"nodes in two ways":               {map[string]any{"node_names": []string{"a"}}, []string{"node_names", "node_selector"}},
			"an empty selector":               {map[string]any{"node_selector": " "}, []string{`"node_selector"`, "match everything"}},
			"a name that is null":             {map[string]any{"node_selector": nil, "node_names": []any{nil}}, []string{`"node_names"`, "Null"}},
			"a label that is null":            {map[string]any{"labels": map[string]any{"a": nil}}, []string{`"labels"`, "Null"}},
			"no taints":                       {map[string]any{"taints": []any{}}, []string{`"taints"`, "at least 1"}},
			"a reserved taint":                {map[string]any{"taints": acctest.Objects(t, "node.kubernetes.io/not-ready:NoExecute")}, []string{`"taints"`, "reserved taint"}},
			"a taint twice":                   {map[string]any{"taints": acctest.Objects(t, "a=1:NoExecute a=2:NoExecute")}, []string{`"taints"`, "Unable to use taint"}},
			"a key of a label that is none":   {map[string]any{"labels": map[string]any{"a/b/c": "x"}}, []string{`"labels"`, "not a qualified name"}},
			"a value of a label that is none": {map[string]any{"labels": map[string]any{"a": "x y"}}, []string{`"labels"`, "not a label value"}},
			"a label of the kubelet's":        {map[string]any{"labels": map[string]any{"topology.kubernetes.io/zone": "x"}}, []string{`"labels"`, "reserved label", "reserved for Kubernetes"}},
			"a label of the control plane":    {map[string]any{"labels": map[string]any{"node-role.kubernetes.io/control-plane": ""}}, []string{`"labels"`, "reserved label"}},
			"an unknown kind":                 {map[string]any{"workloads": deployment(map[string]any{"kind": "Thing"})}, []string{`"workloads"`, "ElementKeyInt(0)", `"kind"`, "workloads[0].path"}},
			"a workload without a namespace":  {map[string]any{"workloads": deployment(map[string]any{"namespace": nil})}, []string{`"namespace"`, "have a namespace"}},
			"a workload twice":                {map[string]any{"workloads": append(deployment(nil), deployment(nil)...)}, []string{"ElementKeyInt(1)", "more than once"}},
			"a pin without labels":            {map[string]any{"workloads": deployment(map[string]any{"pin": true})}, []string{`"pin"`, "labels is empty"}},
			"a pin of a kind that is not known": {map[string]any{"labels": map[string]any{"a": "x"}, "workloads": deployment(map[string]any{
				"api_version": acctest.WidgetVersion, "kind": "Widget", "path": acctest.WidgetPath, "pin": true,
			})}, []string{`"pin"`, "The path of the node selector is not built in for objects of kind Widget"}},
			"a pin where another path is named": {map[string]any{"labels": map[string]any{"a": "x"}, "workloads": deployment(map[string]any{"path": "spec.other.tolerations", "pin": true})}, []string{`"pin"`, "with path"}},
			"a workload that there is not":      {map[string]any{"workloads": deployment(nil)}, []string{`"workloads"`, "ElementKeyInt(0)", `Unable to find Deployment "default/nobody"`}},
			"a kind that the cluster has not":   {map[string]any{"workloads": deployment(map[string]any{"kind": "Thing", "api_version": "example.com/v1", "path": "spec.tolerations"})}, []string{`"kind"`, "serves no such kind"}},
		} {
			t.Log(name)
			acctest.WantAll(t, tf.Plan(t, newInstance(), acctest.With(base, tt.change)).Diagnostics.Errors(), tt.want...)
		}
	})
}

func TestDedicatedNodes_labelsOfWorkersAreFree(t *testing.T) {
	t.Parallel()
	onFake(t, func(t *testing.T, c *acctest.Cluster) {
		tf, name := terraform(t, c), acctest.Name(t, "node")
		before := c.Node(t, acctest.Node{Name: name}).Labels
		i := newInstance()
		tf.Settle(t, i, map[string]any{"node_names": []string{name}, "taints": acctest.Objects(t, "team=a:NoSchedule"), "labels": map[string]any{"node-role.kubernetes.io/infra": "", "node-restriction.kubernetes.io/team": "a"}})
		if labels := c.Get(t, name).Labels; labels["node-restriction.kubernetes.io/team"] != "a" {
			t.Fatalf("the node has the labels %v", labels)
		}
		tf.Destroy(t, i)
		if diff := cmp.Diff(before, c.Get(t, name).Labels); diff != "" {
			t.Fatalf("the labels of the node, before and after:\n%s", diff)
		}
	})
}

func TestDedicatedNodes_workloadWithoutARolloutIsRefusedBeforeAWrite(t *testing.T) {
	t.Parallel()
	onFake(t, func(t *testing.T, c *acctest.Cluster) {
		p := newPool(t, c, "Deployment")
		_, err := c.Admin.AppsV1().Deployments(p.namespace).Patch(t.Context(), "deployment", types.MergePatchType, []byte(`{"spec":{"paused":true}}`), metav1.PatchOptions{})
		if err != nil {
			t.Fatal(err)
		}
		tf := terraform(t, c)
		w := wish{taints: "team=a:NoExecute", labels: "dedicated=gpu", workloads: map[string]string{"Deployment": pinned}}
		acctest.WantAll(t, tf.Plan(t, newInstance(), p.config(w)).Diagnostics.Errors(), `"workloads"`, "ElementKeyInt(0)", "it is paused", "kubectl rollout resume")
		p.want(wish{}, "Deployment")
	})
}

func TestDedicatedNodes_labelThatIsThereWithAnotherValueIsAConflict(t *testing.T) {
	t.Parallel()
	messages.Expect(t, "Unable to claim label")
	onFake(t, func(t *testing.T, c *acctest.Cluster) {
		p := newPool(t, c, "Deployment")
		tf := terraform(t, c)
		w := wish{taints: "team=a:NoExecute", labels: "dedicated=gpu", workloads: map[string]string{"Deployment": pinned}}
		c.Patch(t, p.nodes[1], `{"metadata":{"labels":{"dedicated":"web"}}}`)
		acctest.WantAll(t, tf.Plan(t, newInstance(), p.config(w)).Diagnostics.Errors(), `"labels"`, `Unable to claim label "dedicated" on node "`+p.nodes[1]+`"`, `with the value "web"`)
		c.Patch(t, p.nodes[1], `{"metadata":{"labels":{"dedicated":null}}}`)

		patch := []byte(`{"spec":{"template":{"spec":{"nodeSelector":{"dedicated":"web"}}}}}`)
		if _, err := c.Admin.AppsV1().Deployments(p.namespace).Patch(t.Context(), "deployment", types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
		acctest.WantAll(t, tf.Plan(t, newInstance(), p.config(w)).Diagnostics.Errors(), `"pin"`, `already requires dedicated=web`)
	})
}

func TestDedicatedNodes_labelThatIsThereWithTheSameValueStaysOnDestroy(t *testing.T) {
	t.Parallel()
	onFake(t, func(t *testing.T, c *acctest.Cluster) {
		p := newPool(t, c)
		p.run("Deployment", "deployment", nil)
		tf, i := terraform(t, c), newInstance()
		w := wish{taints: "team=a:NoExecute", labels: "dedicated=gpu", workloads: map[string]string{"Deployment": pinned}}
		mine := p.labels(w)["dedicated"]
		c.Patch(t, p.nodes[1], `{"metadata":{"labels":{"dedicated":"`+mine+`"}}}`)
		tf.Settle(t, i, p.config(w))
		p.settled("Deployment", w)
		p.confined("Deployment")
		tf.Destroy(t, i)
		for n, want := range []string{"", mine} {
			if got := c.Get(t, p.nodes[n]).Labels["dedicated"]; got != want {
				t.Errorf("node %d has the label %q after destroy, want %q", n, got, want)
			}
		}
		p.wantTemplate("Deployment", wish{})
	})
}

func TestDedicatedNodes_anotherOwnerOfALabelIsNamed(t *testing.T) {
	t.Parallel()
	onFake(t, func(t *testing.T, c *acctest.Cluster) {
		p := newPool(t, c)
		other := &acctest.Terraform{Provider: acctest.With(c.Provider(t), map[string]any{"owner": "team-a"})}
		other.Settle(t, newInstance(), p.config(wish{taints: "team=a:NoSchedule", labels: "dedicated=gpu"}))
		acctest.WantAll(t, terraform(t, c).Plan(t, newInstance(), p.config(wish{taints: "group=b:NoSchedule", labels: "dedicated=gpu"})).Diagnostics.Errors(),
			`"labels"`, "team-a/dedicated_nodes/selector/pool="+p.name)
	})
}

func TestDedicatedNodes_taintsAndTolerationsHaveOneOwnerInARun(t *testing.T) {
	t.Parallel()
	onFake(t, func(t *testing.T, c *acctest.Cluster) {
		p := newPool(t, c, "Deployment")
		walk := terraform(t, c).Walk(t)
		for _, first := range []struct {
			kind   string
			config map[string]any
		}{
			{"kubetaint_node_taints", map[string]any{"node_name": p.nodes[0], "taints": acctest.Objects(t, "team=x:NoExecute")}},
			{"kubetaint_workload_tolerations", map[string]any{
				"workload":    map[string]any{"kind": "Deployment", "namespace": p.namespace, "name": "deployment"},
				"tolerations": acctest.Objects(t, "group=b:NoExecute"),
			}},
		} {
			if d := walk.Plan(&acctest.Instance{Type: first.kind}, first.config).Diagnostics; d.Errors() != "" {
				t.Fatal(d.Errors())
			}
		}
		acctest.WantAll(t, walk.Plan(newInstance(), p.config(wish{taints: "team=a:NoExecute"})).Diagnostics.Errors(), `"taints"`, `Unable to claim taint "team:NoExecute" on node "`+p.nodes[0]+`" twice`)
		acctest.WantAll(t, walk.Plan(newInstance(), p.config(wish{taints: "group=b:NoExecute", workloads: map[string]string{"Deployment": tolerating}})).Diagnostics.Errors(),
			`"workloads"`, `Unable to claim toleration "group=b:NoExecute" of Deployment`)
	})
}

// TestDedicatedNodes_labelsAndPinsHaveOneOwnerInARun plans two resources with
// taints of their own for the same nodes, or for the same workload.
func TestDedicatedNodes_labelsAndPinsHaveOneOwnerInARun(t *testing.T) {
	t.Parallel()
	onFake(t, func(t *testing.T, c *acctest.Cluster) {
		p := newPool(t, c, "Deployment", "StatefulSet")
		title := `Deployment "` + p.namespace + `/deployment"`
		first := p.config(wish{taints: "team=a:NoExecute", labels: "dedicated=gpu", workloads: map[string]string{"Deployment": pinned}})
		elsewhere := func(w wish) map[string]any {
			return acctest.With(p.config(w), map[string]any{"node_selector": "field=" + p.name + ",!pool"})
		}
		const inLabels, inPin = `[AttributeName("labels")]`, `[AttributeName("workloads").ElementKeyInt(0).AttributeName("pin")]`
		tests := map[string]struct {
			second map[string]any
			// want is where the error stands and what it says, nothing for none.
			want []string
		}{
			"a label of the same nodes": {
				p.config(wish{taints: "group=b:NoExecute", labels: "dedicated=web"}),
				[]string{inLabels, `Unable to claim label "dedicated" on node "` + p.nodes[0] + `" twice`, "one owner"},
			},
			"a pin of the same workload by the same key": {
				elsewhere(wish{taints: "group=b:NoExecute", labels: "dedicated=web", workloads: map[string]string{"Deployment": pinned}}),
				[]string{inPin, `Unable to require label "dedicated" in ` + title + " twice", "one owner"},
			},
			"the same pin of the same workload": {
				elsewhere(wish{taints: "group=b:NoExecute", labels: "dedicated=gpu", workloads: map[string]string{"Deployment": pinned}}),
				[]string{inPin, title + " twice"},
			},
			"a pin by another key":              {elsewhere(wish{taints: "group=b:NoExecute", labels: "reserved=web", workloads: map[string]string{"Deployment": pinned}}), nil},
			"the same labels of other nodes":    {elsewhere(wish{taints: "group=b:NoExecute", labels: "dedicated=gpu", workloads: map[string]string{"Deployment": tolerating}}), nil},
			"the same pin for another workload": {elsewhere(wish{taints: "group=b:NoExecute", labels: "dedicated=gpu", workloads: map[string]string{"StatefulSet": pinned}}), nil},
		}
		judge := func(t *testing.T, d acctest.Diagnostics, want []string) {
			t.Helper()
			acctest.WantAll(t, d.Errors(), want...)
			if len(want) == 0 && d.Errors() != "" {
				t.Fatal(d.Errors())
			}
		}
		tf, i := terraform(t, c), newInstance()
		for name, tt := range tests {
			t.Log(name)
			walk := tf.Walk(t)
			judge(t, walk.Plan(newInstance(), first).Diagnostics, nil)
			judge(t, walk.Plan(newInstance(), tt.second).Diagnostics, tt.want)
		}
		// The existing entries are recorded: the error may name its owner as well.
		tf.Settle(t, i, first)
		for name, tt := range tests {
			t.Log(name + " that has nothing to do")
			walk := tf.Walk(t)
			judge(t, walk.Refresh(i), nil)
			judge(t, walk.Plan(i, first).Diagnostics, nil)
			judge(t, walk.Plan(newInstance(), tt.second).Diagnostics, tt.want[:min(len(tt.want), 1)])
			judge(t, walk.Plan(i, first).Diagnostics, nil)
		}
		tf.Destroy(t, i)
	})
}

// TestDedicatedNodes_labelsMustNotDecideWhichNodesAreMeant: a node that loses
// its label would leave, and be added again by the next apply.
func TestDedicatedNodes_labelsMustNotDecideWhichNodesAreMeant(t *testing.T) {
	t.Parallel()
	onFake(t, func(t *testing.T, c *acctest.Cluster) {
		p := newPool(t, c)
		config := p.config(wish{taints: "team=a:NoSchedule", labels: "dedicated=gpu"})
		config["node_selector"] = "pool=" + p.name + ",!dedicated"
		acctest.WantAll(t, terraform(t, c).Plan(t, newInstance(), config).Diagnostics.Errors(), `"labels"`, "would not match it any more")
	})
}

func TestDedicatedNodes_tolerationSecondsGoToNoExecuteAlone(t *testing.T) {
	t.Parallel()
	onFake(t, func(t *testing.T, c *acctest.Cluster) {
		p := newPool(t, c, "Deployment")
		tf, i := terraform(t, c), newInstance()
		config := p.config(wish{taints: "team=a:NoExecute team=a:NoSchedule"})
		config["workloads"] = []any{map[string]any{"kind": "Deployment", "namespace": p.namespace, "name": "deployment", "toleration_seconds": 3600}}
		tf.Settle(t, i, config)
		spec, _ := c.Template(t, p.namespace, "Deployment", "deployment")
		for _, one := range spec.Tolerations {
			if one.Key == "team" && (one.TolerationSeconds != nil) != (one.Effect == corev1.TaintEffectNoExecute) {
				t.Fatalf("the template tolerates %v", one)
			}
		}
		tf.Destroy(t, i)
		p.want(wish{}, "Deployment")
	})
}
