// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package dedicatednodes_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/label"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/fakeapi/controllers"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/toleration"
)

const (
	typeName = "kubetaint_dedicated_nodes"

	foreignTaint = "foreign=1:NoSchedule"

	tolerating, pinned = "tolerating", "pinned"
)

// ourLabels are the keys that configurations of these tests use.
var ourLabels = []string{"dedicated", "reserved", "tier"}

// pool is three nodes that workloads of its own may run on. Two of them are the
// ones that are dedicated.
type pool struct {
	t         *testing.T
	c         *acctest.Cluster
	name      string
	namespace string
	nodes     []string
	other     string
	// keyed gives taints keys of the pool's own: a toleration that retires goes with the last
	// such taint of the cluster.
	keyed bool
}

// onFake runs a test on an in-memory API server, one that asks nothing of the real
// controllers but that pods and machines follow their templates. See acctest.OnFake.
func onFake(t *testing.T, test func(t *testing.T, c *acctest.Cluster)) {
	t.Helper()
	acctest.OnFakeWithControllers(t, test, slices.Concat(controllers.MachineAPI, acctest.Widgets())...)
}

// newPool makes nodes, and workloads that each bear the name of their kind and
// have a toleration and a node selector of their own.
func newPool(t *testing.T, c *acctest.Cluster, kinds ...string) *pool {
	t.Helper()
	p := &pool{t: t, c: c, name: acctest.Name(t, "pool"), namespace: c.Namespace(t)}
	for n := range 3 {
		node := acctest.Node{Name: fmt.Sprintf("%s-%d", p.name, n), Labels: map[string]string{"field": p.name}}
		if n < 2 {
			node.Labels["pool"], node.Taints = p.name, acctest.Parse(t, foreignTaint)
			p.nodes = append(p.nodes, node.Name)
		} else {
			p.other = node.Name
		}
		c.Node(t, node)
	}
	for _, kind := range kinds {
		p.run(kind, strings.ToLower(kind), nil)
	}
	return p
}

// run makes a workload that may run on all nodes of the pool.
func (p *pool) run(kind, name string, change func(*corev1.PodSpec)) {
	p.t.Helper()
	here := func(spec *corev1.PodSpec) {
		spec.NodeSelector = map[string]string{"field": p.name}
		spec.Tolerations = []corev1.Toleration{{Key: "foreign", Operator: corev1.TolerationOpExists}}
		if change != nil {
			change(spec)
		}
	}
	switch kind {
	case "Deployment":
		p.c.Deployment(p.t, p.namespace, name, 4, here)
	case "StatefulSet":
		p.c.StatefulSet(p.t, p.namespace, name, 3, here)
	case "DaemonSet":
		p.c.DaemonSet(p.t, p.namespace, name, 3, here)
	}
}

// wish is a configuration.
type wish struct {
	name string
	// taints are in kubectl's notation; none leaves the resource out.
	taints string
	// labels are KEY=VALUE; the pool's name follows the value, so that pods of
	// other pools do not match.
	labels string
	// workloads are kinds, and how they are meant.
	workloads map[string]string
}

// taintsOf returns the taints of a wish, with keys that no other test has where the pool is keyed.
func (p *pool) taintsOf(w wish) string {
	if !p.keyed {
		return w.taints
	}
	return p.c.OwnTaints(w.taints, p.name)
}

func (p *pool) labels(w wish) map[string]string {
	out := map[string]string{}
	for one := range strings.FieldsSeq(w.labels) {
		key, value, _ := strings.Cut(one, "=")
		out[key] = value + "-" + p.name
	}
	return out
}

// config is the configuration as the protocol has it.
func (p *pool) config(w wish) map[string]any {
	p.t.Helper()
	config := map[string]any{"node_selector": "pool=" + p.name, "taints": acctest.Objects(p.t, p.taintsOf(w))}
	if labels := p.labels(w); len(labels) > 0 {
		all := map[string]any{}
		for key, value := range labels {
			all[key] = value
		}
		config["labels"] = all
	}
	var workloads []any
	for _, kind := range slices.Sorted(maps.Keys(w.workloads)) {
		one := map[string]any{"kind": kind, "namespace": p.namespace, "name": strings.ToLower(kind)}
		if w.workloads[kind] == pinned {
			one["pin"] = true
		}
		workloads = append(workloads, one)
	}
	if len(workloads) > 0 {
		config["workloads"] = workloads
	}
	return config
}

// hcl is the configuration as the command line has it.
func (p *pool) hcl(w wish) string {
	p.t.Helper()
	if w.taints == "" {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, "resource %q \"this\" {\n  node_selector = \"pool=%s\"\n  taints = [\n", typeName, p.name)
	for _, one := range acctest.Parse(p.t, p.taintsOf(w)) {
		fmt.Fprintf(&b, "    { key = %q, value = %q, effect = %q },\n", one.Key, one.Value, one.Effect)
	}
	b.WriteString("  ]\n")
	if labels := p.labels(w); len(labels) > 0 {
		b.WriteString("  labels = {\n")
		for key, value := range labels {
			fmt.Fprintf(&b, "    %q = %q\n", key, value)
		}
		b.WriteString("  }\n")
	}
	if len(w.workloads) > 0 {
		b.WriteString("  workloads = [\n")
		for _, kind := range slices.Sorted(maps.Keys(w.workloads)) {
			fmt.Fprintf(&b, "    { kind = %q, namespace = %q, name = %q, pin = %t },\n", kind, p.namespace, strings.ToLower(kind), w.workloads[kind] == pinned)
		}
		b.WriteString("  ]\n")
	}
	b.WriteString("}\n")
	return b.String()
}

// want fails the test unless nodes and workloads carry exactly what is wished
// beside what is foreign, in its order, with a mark for each entry and no entry
// that retires.
func (p *pool) want(w wish, kinds ...string) {
	p.t.Helper()
	labels, taints := p.labels(w), taint.FormatAll(taint.Sort(acctest.Parse(p.t, p.taintsOf(w))))
	for _, node := range p.nodes {
		got := p.c.Get(p.t, node).Spec.Taints
		if taint.FormatAll(got[:1]) != foreignTaint || taint.FormatAll(taint.Sort(got[1:])) != taints {
			p.t.Errorf("node %s has the taints %s, want %s and %s", node, taint.FormatAll(got), foreignTaint, taints)
		}
		for _, key := range ourLabels {
			if got := p.c.Get(p.t, node).Labels[key]; got != labels[key] {
				p.t.Errorf("node %s has the label %s=%q, want %q", node, key, got, labels[key])
			}
		}
	}
	for _, kind := range kinds {
		p.wantTemplate(kind, w)
	}
	p.wantOwned(kinds...)
	p.wantNoReplicaSetWritten()
	if p.t.Failed() {
		p.t.FailNow()
	}
}

// wantNoReplicaSetWritten fails the test where the provider has written a
// ReplicaSet: it carries copies of its Deployment's marks.
func (p *pool) wantNoReplicaSetWritten() {
	p.t.Helper()
	if names := p.c.WrittenReplicaSets(p.t, p.namespace); len(names) > 0 {
		p.t.Errorf("ReplicaSets %v were written by the provider", names)
	}
}

func (p *pool) wantTemplate(kind string, w wish) {
	p.t.Helper()
	how, want := w.workloads[kind], map[string]bool{"foreign Exists": true}
	selector := map[string]string{"field": p.name}
	if how != "" {
		for _, one := range acctest.Parse(p.t, p.taintsOf(w)) {
			want[taint.FormatToleration(taint.TolerationFor(one))] = true
		}
	}
	if how == pinned {
		maps.Copy(selector, p.labels(w))
	}
	spec, _ := p.c.Template(p.t, p.namespace, kind, strings.ToLower(kind))
	got := map[string]bool{}
	for _, one := range spec.Tolerations {
		got[taint.FormatToleration(one)] = true
	}
	if !maps.Equal(got, want) || spec.Tolerations[0].Key != "foreign" {
		p.t.Errorf("%s has the tolerations %s, want %v", kind, toleration.Format(spec.Tolerations), want)
	}
	if !maps.Equal(spec.NodeSelector, selector) {
		p.t.Errorf("%s requires %v, want %v", kind, spec.NodeSelector, selector)
	}
}

// wantOwned fails the test where an entry that is not foreign has no mark, or a
// mark no entry.
func (p *pool) wantOwned(kinds ...string) {
	p.t.Helper()
	for _, name := range p.nodes {
		node := p.c.Get(p.t, name)
		record, err := taint.ParseRecord(node.Annotations[taint.OwnedAnnotation])
		if err != nil || len(record) != len(node.Spec.Taints)-1 {
			p.t.Errorf("node %s carries %s and the marks %s (%v)", name, taint.FormatAll(node.Spec.Taints), record, err)
		}
		for _, mark := range record {
			if taint.Find(node.Spec.Taints, mark.ID()) < 0 {
				p.t.Errorf("node %s carries a mark without a taint: %s", name, record)
			}
		}
		ours := maps.Clone(node.Labels)
		maps.DeleteFunc(ours, func(key, _ string) bool { return !slices.Contains(ourLabels, key) })
		p.wantMarks("node "+name, ours, node.Annotations)
	}
	for _, kind := range kinds {
		spec, annotations := p.c.Template(p.t, p.namespace, kind, strings.ToLower(kind))
		record, err := toleration.ParseRecord(annotations[toleration.OwnedAnnotation])
		if err != nil || len(record) != len(spec.Tolerations)-1 {
			p.t.Errorf("%s has the tolerations %s and the record %s (%v)", kind, toleration.Format(spec.Tolerations), record, err)
		}
		for _, mark := range record {
			if !toleration.Contains(spec.Tolerations, mark.Toleration()) {
				p.t.Errorf("%s has the mark %v and not the toleration", kind, mark)
			}
		}
		ours := maps.Clone(spec.NodeSelector)
		delete(ours, "field")
		p.wantMarks(kind, ours, annotations)
	}
}

func (p *pool) wantMarks(where string, labels, annotations map[string]string) {
	p.t.Helper()
	record, err := label.ParseRecord(annotations[label.OwnedAnnotation])
	if err != nil || len(record) != len(labels) {
		p.t.Errorf("%s has %v and the marks %s (%v)", where, labels, record, err)
	}
	for _, mark := range record {
		if _, there := labels[mark.Key]; !there {
			p.t.Errorf("%s has a mark without a label: %s", where, record)
		}
	}
}

// settled waits until the pods of a workload are as many as desired, ready and of its
// newest template.
func (p *pool) settled(kind string, w wish) {
	p.t.Helper()
	count := map[string]int{"Deployment": 4, "StatefulSet": 3, "DaemonSet": 3}[kind]
	if kind == "DaemonSet" {
		switch {
		case w.workloads[kind] == pinned:
			count = len(p.nodes)
		case w.workloads[kind] == "" && w.taints != "":
			count = 1
		}
	}
	p.c.RolledOut(p.t, p.namespace, kind, strings.ToLower(kind), count)
}

// confined fails the test where running pods of a workload run beside the nodes.
func (p *pool) confined(kind string) {
	p.t.Helper()
	pods, err := p.c.Admin.CoreV1().Pods(p.namespace).List(p.t.Context(), metav1.ListOptions{LabelSelector: "app=" + strings.ToLower(kind)})
	if err != nil {
		p.t.Fatal(err)
	}
	for _, pod := range pods.Items {
		if pod.DeletionTimestamp == nil && pod.Spec.NodeName != "" && !slices.Contains(p.nodes, pod.Spec.NodeName) {
			p.t.Fatalf("pod %s runs on %s", pod.Name, pod.Spec.NodeName)
		}
	}
}

// gone waits until a pod is no more.
func (p *pool) gone(name string) {
	p.t.Helper()
	acctest.Until(p.t, "pod "+name+" is gone", func(ctx context.Context) (bool, error) {
		pods, err := p.c.Admin.CoreV1().Pods(p.namespace).List(ctx, metav1.ListOptions{FieldSelector: "metadata.name=" + name})
		return err == nil && len(pods.Items) == 0, err
	})
}

func newInstance() *acctest.Instance { return &acctest.Instance{Type: typeName} }

func terraform(t *testing.T, c *acctest.Cluster) *acctest.Terraform {
	t.Helper()
	return &acctest.Terraform{Provider: c.Provider(t)}
}
