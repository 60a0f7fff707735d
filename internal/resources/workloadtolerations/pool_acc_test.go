// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package workloadtolerations_test

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/toleration"
)

// pool is nodes and workloads that are on them alone.
type pool struct {
	t         *testing.T
	c         *acctest.Cluster
	name      string
	namespace string
	nodes     []string
	workloads []string // kinds; each is named after its kind
}

func newPool(t *testing.T, c *acctest.Cluster, kinds ...string) *pool {
	t.Helper()
	p := &pool{t: t, c: c, name: acctest.Name(t, "pool"), namespace: c.Namespace(t), workloads: kinds}
	for n := range 2 {
		name := fmt.Sprintf("%s-%d", p.name, n)
		p.nodes = append(p.nodes, name)
		c.Node(t, acctest.Node{Name: name, Labels: map[string]string{"pool": p.name}})
	}
	pinned := func(spec *corev1.PodSpec) {
		spec.NodeSelector = map[string]string{"pool": p.name}
		// Foreign entries, around which owned entries are added and removed.
		spec.Tolerations = []corev1.Toleration{{Key: "foreign", Operator: corev1.TolerationOpExists}}
	}
	for _, kind := range kinds {
		switch kind {
		case "Deployment":
			c.Deployment(t, p.namespace, strings.ToLower(kind), 4, pinned)
		case "StatefulSet":
			c.StatefulSet(t, p.namespace, strings.ToLower(kind), 3, pinned)
		case "DaemonSet":
			c.DaemonSet(t, p.namespace, strings.ToLower(kind), len(p.nodes), pinned)
		}
	}
	return p
}

// link is how the taints come to know of the tolerations.
type link string

const (
	toleratedBy link = "tolerated_by"
	dependsOn   link = "depends_on"
	wrongWay    link = "depends_on the wrong way round"
	noLink      link = "no link"
)

// own gives taints keys that no other test has: a toleration that retires goes with the
// last of them in the cluster.
func (p *pool) own(taints string) string { return p.c.OwnTaints(taints, p.name) }

// config is the configuration of taints and of tolerations for them, either of
// which may be left out.
func (p *pool) config(taints, tolerations string, how link, extra string) string {
	p.t.Helper()
	var b strings.Builder
	var names []string
	for _, kind := range p.workloads {
		name := "kubetaint_workload_tolerations." + strings.ToLower(kind)
		if tolerations == "" {
			continue
		}
		names = append(names, name)
		fmt.Fprintf(&b, "resource \"kubetaint_workload_tolerations\" %q {\n  workload = { kind = %q, namespace = %q, name = %q }\n  tolerations = [\n",
			strings.ToLower(kind), kind, p.namespace, strings.ToLower(kind))
		for _, one := range acctest.Parse(p.t, p.own(tolerations)) {
			fmt.Fprintf(&b, "    { key = %q, value = %q, effect = %q },\n", one.Key, one.Value, one.Effect)
		}
		b.WriteString("  ]\n")
		if how == wrongWay && taints != "" {
			b.WriteString("  depends_on = [kubetaint_node_taints.pool]\n")
		}
		b.WriteString("}\n\n")
	}
	if taints == "" {
		return b.String()
	}
	fmt.Fprintf(&b, "resource \"kubetaint_node_taints\" \"pool\" {\n  node_selector = \"pool=%s\"\n  taints = [\n", p.name)
	for _, one := range acctest.Parse(p.t, p.own(taints)) {
		fmt.Fprintf(&b, "    { key = %q, value = %q, effect = %q },\n", one.Key, one.Value, one.Effect)
	}
	b.WriteString("  ]\n" + extra)
	switch {
	case len(names) == 0:
	case how == toleratedBy:
		b.WriteString("  tolerated_by = [" + strings.Join(names, ".id, ") + ".id]\n")
	case how == dependsOn:
		b.WriteString("  depends_on = [" + strings.Join(names, ", ") + "]\n")
	}
	b.WriteString("}\n")
	return b.String()
}

// want fails the test unless nodes and templates carry exactly this beside what
// is foreign, with a mark for each entry and no entry that retires.
func (p *pool) want(taints, tolerations string) {
	p.t.Helper()
	for _, node := range p.nodes {
		if got := strings.ReplaceAll(p.c.Taints(p.t, node), ", ", " "); got != p.own(taints) {
			p.t.Errorf("node %s has the taints %q, want %q", node, got, taints)
		}
	}
	want := "foreign Exists"
	for _, one := range acctest.Parse(p.t, p.own(tolerations)) {
		want += ", " + taint.FormatToleration(taint.TolerationFor(one))
	}
	for _, kind := range p.workloads {
		if got := p.c.Tolerations(p.t, p.namespace, kind, strings.ToLower(kind)); got != want {
			p.t.Errorf("%s has the tolerations %q, want %q", kind, got, want)
		}
		_, annotations := p.c.Template(p.t, p.namespace, kind, strings.ToLower(kind))
		record, err := toleration.ParseRecord(annotations[toleration.OwnedAnnotation])
		if err != nil || len(record) != len(acctest.Parse(p.t, tolerations)) || toleration.Retiring(record) {
			p.t.Errorf("%s has the record %v (%v)", kind, record, err)
		}
	}
	p.wantOwners()
	if p.t.Failed() {
		p.t.FailNow()
	}
}

// settled waits until the pods of all workloads are as many as desired, ready and of their
// newest template, as they are when no rollout stalls.
func (p *pool) settled() {
	p.t.Helper()
	for _, kind := range p.workloads {
		p.c.RolledOut(p.t, p.namespace, kind, strings.ToLower(kind), map[string]int{"Deployment": 4, "StatefulSet": 3, "DaemonSet": len(p.nodes)}[kind])
	}
}
