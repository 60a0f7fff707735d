// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package acctest

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
)

// MachineSet describes a MachineSet to make.
type MachineSet struct {
	Namespace, Name string
	Replicas        int
	// Spare is how many nodes more than that there are at some moment of the test.
	Spare       int
	Labels      map[string]string
	Annotations map[string]string
	// Taints are those of the template, in kubectl's notation.
	Taints string
	// Cloud is what the test bed's cloud does for its machines, beside nothing.
	Cloud map[string]any
}

// Pool is a MachineSet of a test.
type Pool struct {
	c *Cluster
	t testing.TB
	Thing
	// content is what it was made of.
	content map[string]any
	// seen are the names of all machines that there were at some moment.
	mu   sync.Mutex
	seen map[string]bool
}

// MachineSet makes a MachineSet, and waits until its machines serve. It, its
// machines and their nodes are deleted when the test ends.
func (c *Cluster) MachineSet(t testing.TB, s MachineSet) *Pool {
	t.Helper()
	c.needKubelets(t, s.Replicas+s.Spare)
	p := &Pool{c: c, t: t, seen: map[string]bool{}, Thing: Thing{APIVersion: machinev1beta1.GroupVersion.String(), Kind: "MachineSet", Namespace: s.Namespace, Name: s.Name}}
	value := map[string]any{"apiVersion": "cloud.kubetaint.io/v1", "kind": "InventedMachineSpec", "node": map[string]any{"labels": map[string]any{"pool": s.Name}}}
	for name, more := range s.Cloud {
		value[name] = more
	}
	labels := map[string]any{"machine.openshift.io/cluster-api-machineset": s.Name}
	spec := map[string]any{"providerSpec": map[string]any{"value": value}}
	if taints := Parse(t, s.Taints); len(taints) > 0 {
		spec["taints"] = taints
	}
	p.follow()
	p.content = map[string]any{
		"metadata": map[string]any{"labels": s.Labels, "annotations": s.Annotations},
		"spec": map[string]any{
			"replicas": s.Replicas,
			"selector": map[string]any{"matchLabels": labels},
			"template": map[string]any{"metadata": map[string]any{"labels": map[string]any{
				"machine.openshift.io/cluster-api-machineset": s.Name, machinev1beta1.MachineClusterIDLabel: "test",
			}}, "spec": spec},
		},
	}
	c.Make(t, p.Thing, p.content)
	t.Cleanup(func() { p.scaleAway() })
	p.Serve(s.Replicas)
	p.settle(s.Replicas)
	return p
}

// settle waits until the MachineSet's controller has counted the machines: it has nothing
// more to write then, which a first write would conflict with. No change of a Node makes it
// count, changes of Machines do. When a Node becomes ready within the second in which nodelink
// has written to its Machine, the time that it writes is the same, nothing changes, and the
// controller would count with its next look at everything, after ten minutes.
func (p *Pool) settle(replicas int) {
	p.t.Helper()
	waking := time.Now()
	Until(p.t, "the controller has counted the machines of "+p.Name, func(ctx context.Context) (bool, error) {
		ready, _, err := unstructured.NestedInt64(p.c.Look(p.t, p.Thing).Object, "status", "readyReplicas")
		if err != nil || int(ready) == replicas {
			return err == nil, err
		}
		if time.Since(waking) > time.Second {
			waking = time.Now()
			for _, m := range p.machines(ctx) {
				p.c.Change(p.t, p.machine(m.Name), "acctest", fmt.Sprintf(`{"metadata":{"annotations":{"acctest.example.com/woken":%q}}}`, waking.Format(time.RFC3339Nano)))
			}
		}
		return false, nil
	})
}

// follow notes all machines that are made until the test ends.
func (p *Pool) follow() {
	p.t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	p.t.Cleanup(stop)
	w, err := p.c.things(p.t, p.machine("")).Watch(ctx, metav1.ListOptions{LabelSelector: "machine.openshift.io/cluster-api-machineset=" + p.Name})
	must(p.t, err)
	go func() {
		for event := range w.ResultChan() {
			if object, ok := event.Object.(*unstructured.Unstructured); ok {
				p.mu.Lock()
				p.seen[object.GetName()] = true
				p.mu.Unlock()
				var m machinev1beta1.Machine
				if runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &m) == nil {
					p.c.writer.addMachine(&m)
				}
			}
		}
	}()
}

// scaleAway ends the machines, whatever holds them, before the MachineSet goes.
func (p *Pool) scaleAway() {
	ctx := context.Background()
	_ = p.c.things(p.t, p.Thing).Delete(ctx, p.Name, metav1.DeleteOptions{})
	for _, m := range p.machines(ctx) {
		machine := p.machine(m.Name)
		_ = p.c.things(p.t, machine).Delete(ctx, m.Name, metav1.DeleteOptions{})
		if m.Status.NodeRef != nil {
			p.c.DeleteNode(p.t, m.Status.NodeRef.Name)
		}
	}
}

func (p *Pool) machine(name string) Thing {
	return Thing{APIVersion: p.APIVersion, Kind: "Machine", Namespace: p.Namespace, Name: name}
}

func (p *Pool) machines(ctx context.Context) []machinev1beta1.Machine {
	list, err := p.c.things(p.t, p.machine("")).List(ctx, metav1.ListOptions{LabelSelector: "machine.openshift.io/cluster-api-machineset=" + p.Name})
	if err != nil {
		if ctx.Err() == nil {
			p.t.Errorf("listing machines: %v", err)
		}
		return nil
	}
	var out []machinev1beta1.Machine
	for _, object := range list.Items {
		var m machinev1beta1.Machine
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &m); err != nil {
			p.t.Errorf("reading a machine: %v", err)
		}
		p.c.writer.addMachine(&m)
		out = append(out, m)
	}
	return out
}

// Machines are the machines, by name, those that are being deleted included.
func (p *Pool) Machines() map[string]machinev1beta1.Machine {
	p.t.Helper()
	out := map[string]machinev1beta1.Machine{}
	for _, m := range p.machines(p.t.Context()) {
		out[m.Name] = m
	}
	return out
}

// Made counts the machines that have been made so far: those that a watch has told of,
// and those that there are now, of which it may show only later.
func (p *Pool) Made() int {
	p.t.Helper()
	now := p.Machines()
	p.mu.Lock()
	defer p.mu.Unlock()
	for name := range now {
		p.seen[name] = true
	}
	return len(p.seen)
}

// Delete deletes a machine, as a person does.
func (p *Pool) Delete(name string) {
	p.t.Helper()
	must(p.t, p.c.things(p.t, p.machine(name)).Delete(p.t.Context(), name, metav1.DeleteOptions{}))
}

// Names are the machines' names, sorted.
func (p *Pool) Names() []string {
	var out []string
	for name := range p.Machines() {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}

// Serve waits until there are as many machines, all of them running and with nodes that
// are ready and carry the machine's taints.
func (p *Pool) Serve(count int) {
	p.t.Helper()
	last := ""
	defer func() {
		if p.t.Failed() {
			p.t.Logf("the machines of %s: %s", p.Name, last)
		}
	}()
	Until(p.t, fmt.Sprintf("%d machines of %s serve", count, p.Name), func(ctx context.Context) (bool, error) {
		machines, nodes, serving := p.machines(ctx), p.nodes(ctx), 0
		var words []string
		for _, m := range machines {
			state := state(&m, nodes)
			words = append(words, m.Name+" "+state)
			if state == "serves" {
				serving++
			}
		}
		last = strings.Join(words, ", ")
		return serving == count && len(machines) == count, nil
	})
}

// nodes are those of the machines, by name.
func (p *Pool) nodes(ctx context.Context) map[string]*corev1.Node {
	out := map[string]*corev1.Node{}
	list, err := p.c.Admin.CoreV1().Nodes().List(ctx, metav1.ListOptions{LabelSelector: "pool=" + p.Name})
	if err != nil {
		return out
	}
	for _, n := range list.Items {
		out[n.Name] = &n
	}
	return out
}

// state reports what a machine lacks to serve.
func state(m *machinev1beta1.Machine, nodes map[string]*corev1.Node) string {
	switch {
	case m.DeletionTimestamp != nil:
		return "is being deleted"
	case m.Status.NodeRef == nil:
		return fmt.Sprintf("has no node (phase %q)", ptr.Deref(m.Status.Phase, ""))
	}
	n := nodes[m.Status.NodeRef.Name]
	if n == nil {
		return "has a node that cannot be read"
	}
	if !joined(n) {
		return "has a node that is not ready"
	}
	for _, t := range m.Spec.Taints {
		if taint.Find(n.Spec.Taints, taint.IDOf(t)) < 0 {
			return "has a node without " + taint.Format(t)
		}
	}
	// Its controller says so last, after the node is ready.
	if phase := ptr.Deref(m.Status.Phase, ""); phase != machinev1beta1.PhaseRunning {
		return fmt.Sprintf("is in phase %q", phase)
	}
	return "serves"
}

// Template returns the template's taints, sorted, in kubectl's notation.
func (p *Pool) Template() string {
	p.t.Helper()
	return sorted(p.set().Spec.Template.Spec.Taints)
}

// Labels are those of the template that come to nodes.
func (p *Pool) Labels() map[string]string {
	p.t.Helper()
	return p.set().Spec.Template.Spec.Labels
}

// Version changes with every write of the spec.
func (p *Pool) Version() int64 {
	p.t.Helper()
	return p.set().Generation
}

// Replicas returns spec.replicas.
func (p *Pool) Replicas() int {
	p.t.Helper()
	return int(*p.set().Spec.Replicas)
}

// Counted returns status.replicas.
func (p *Pool) Counted() int {
	p.t.Helper()
	return int(p.set().Status.Replicas)
}

// Beside returns the spec of the MachineSet as JSON, without the taints of its template and
// the count.
func (p *Pool) Beside() string {
	p.t.Helper()
	spec := p.set().Spec
	spec.Replicas, spec.Template.Spec.Taints = nil, nil
	out, err := json.Marshal(spec)
	must(p.t, err)
	return string(out)
}

// Annotation returns one of the MachineSet's, "" for none.
func (p *Pool) Annotation(name string) string {
	p.t.Helper()
	return p.set().Annotations[name]
}

func (p *Pool) set() machinev1beta1.MachineSet {
	p.t.Helper()
	object := p.c.Look(p.t, p.Thing)
	if object == nil {
		p.t.Fatalf("MachineSet %s is gone", p.Name)
	}
	return convert[machinev1beta1.MachineSet](p.t, object)
}

func convert[T any](t testing.TB, object *unstructured.Unstructured) T {
	t.Helper()
	var out T
	must(t, runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &out))
	return out
}

func sorted(taints []corev1.Taint) string {
	return taint.FormatAll(taint.Sort(slices.Clone(taints)))
}

// Sorted is how Template writes these taints.
func (p *Pool) Sorted(notation string) string {
	p.t.Helper()
	return sorted(Parse(p.t, notation))
}

// Want expects that template, machines and nodes have these taints, that there are as
// many machines as the count says, and that nothing is left of a rollout.
func (p *Pool) Want(replicas int, notation string) {
	p.t.Helper()
	want := sorted(Parse(p.t, notation))
	p.WantTemplate(replicas, notation)
	for name, m := range p.Machines() {
		n := p.c.Get(p.t, m.Status.NodeRef.Name)
		if got, onNode := sorted(m.Spec.Taints), sorted(n.Spec.Taints); got != want || onNode != want {
			p.t.Fatalf("machine %s has %q and its node %q, want %q", name, got, onNode, want)
		}
	}
}

// WantTemplate expects the same of the template and of the number of machines, whatever
// taints these have.
func (p *Pool) WantTemplate(replicas int, notation string) {
	p.t.Helper()
	want := sorted(Parse(p.t, notation))
	p.Serve(replicas)
	if got := p.Template(); got != want || p.Replicas() != replicas {
		p.t.Fatalf("the template has %q and %d replicas, want %q and %d", got, p.Replicas(), want, replicas)
	}
	if got := p.Annotation("kubetaint.io/rollout"); got != "" {
		p.t.Fatalf("a marker is left: %s", got)
	}
}

// NeedMachines skips a test on a cluster that serves no MachineSets: with neither
// OpenShift's Machine API nor that of the test bed.
func (c *Cluster) NeedMachines(t testing.TB) {
	t.Helper()
	if _, err := c.dynamic(t).Resource(machinev1beta1.GroupVersion.WithResource("machinesets")).List(t.Context(), metav1.ListOptions{Limit: 1}); err != nil {
		t.Skip("the cluster serves no MachineSets: \"testbed run --machine-api\" plays them")
	}
}
