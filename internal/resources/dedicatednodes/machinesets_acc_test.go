// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package dedicatednodes_test

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/label"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/toleration"
)

// fleet is a MachineSet of two machines, and a Deployment that runs on their nodes.
type fleet struct {
	*testing.T
	*acctest.Pool
	c *acctest.Cluster
}

const webPods = 3

func newFleet(t *testing.T, c *acctest.Cluster) *fleet {
	t.Helper()
	c.NeedMachines(t)
	f := &fleet{T: t, c: c}
	f.Pool = c.MachineSet(t, acctest.MachineSet{Namespace: c.Namespace(t), Name: acctest.Name(t, "ms"), Replicas: 2, Taints: foreignTaint})
	c.Deployment(t, f.Namespace, "web", webPods, func(spec *corev1.PodSpec) {
		spec.NodeSelector = map[string]string{"pool": f.Pool.Name}
		spec.Tolerations = []corev1.Toleration{{Key: "foreign", Operator: corev1.TolerationOpExists}}
	})
	return f
}

// own gives taints keys that no other test has.
func (f *fleet) own(taints string) string { return f.c.OwnTaints(taints, f.Pool.Name) }

// fleetWish is a configuration: taints in kubectl's notation, and one label KEY=VALUE.
type fleetWish struct{ taints, label string }

func (f *fleet) config(w fleetWish, rollout map[string]any) map[string]any {
	f.Helper()
	key, value, _ := strings.Cut(w.label, "=")
	return map[string]any{
		"machine_sets": map[string]any{"namespace": f.Namespace, "name": f.Pool.Name, "rollout": rollout},
		"taints":       acctest.Objects(f.T, w.taints), "labels": map[string]any{key: value},
		"workloads": []any{map[string]any{"kind": "Deployment", "namespace": f.Namespace, "name": "web", "pin": true}},
	}
}

func (f *fleet) hcl(w fleetWish, strategy string) string {
	key, value, _ := strings.Cut(w.label, "=")
	one := acctest.Parse(f.T, w.taints)[0]
	return fmt.Sprintf(`
resource %q "this" {
  machine_sets = { namespace = %q, name = %q, rollout = { strategy = %q } }
  taints       = [{ key = %q, value = %q, effect = %q }]
  labels       = { %q = %q }
  workloads    = [{ kind = "Deployment", namespace = %[2]q, name = "web", pin = true }]
}
`, typeName, f.Namespace, f.Pool.Name, strategy, one.Key, one.Value, one.Effect, key, value)
}

// want expects that template, machines, nodes and the Deployment are as wished, with a
// mark for each entry and none beside them.
func (f *fleet) want(w fleetWish) {
	f.Helper()
	f.Want(2, foreignTaint+" "+w.taints)
	want := map[string]string{}
	if key, value, there := strings.Cut(w.label, "="); there {
		want[key] = value
	}
	ours := func(where string, labels map[string]string) {
		for _, key := range ourLabels {
			if labels[key] != want[key] {
				f.Errorf("%s has the label %s=%q, want %q", where, key, labels[key], want[key])
			}
		}
	}
	ours("the template", f.Labels())
	for name, m := range f.Machines() {
		ours("machine "+name, m.Spec.Labels)
		ours("node "+m.Status.NodeRef.Name, f.c.Get(f.T, m.Status.NodeRef.Name).Labels)
	}
	taints, err := taint.ParseRecord(f.Annotation(taint.OwnedAnnotation))
	if err != nil || len(taints) != len(strings.Fields(w.taints)) {
		f.Errorf("the template has the marks %s (%v)", taints, err)
	}
	labels, err := label.ParseRecord(f.Annotation(label.OwnedAnnotation))
	if err != nil || len(labels) != len(want) {
		f.Errorf("the template has the marks %s (%v)", labels, err)
	}
	spec, annotations := f.c.Template(f.T, f.Namespace, "Deployment", "web")
	record, err := toleration.ParseRecord(annotations[toleration.OwnedAnnotation])
	if err != nil || len(record) != len(strings.Fields(w.taints)) || len(spec.Tolerations) != len(record)+1 {
		f.Errorf("web has the tolerations %s and the marks %s (%v)", toleration.Format(spec.Tolerations), record, err)
	}
	want["pool"] = f.Pool.Name
	if !maps.Equal(spec.NodeSelector, want) {
		f.Errorf("web requires %v, want %v", spec.NodeSelector, want)
	}
	f.c.Running(f.T, f.Namespace, "web", webPods)
	if f.Failed() {
		f.FailNow()
	}
}

// TestAccDedicatedNodes_machineSets dedicates the machines of a MachineSet, changes the
// taint and the label, and gives all of it up, with strategies that leave machines and
// with those that replace them.
func TestAccDedicatedNodes_machineSets(t *testing.T) {
	t.Parallel()
	for _, strategy := range []string{"in_place", "rolling", "surge", "scale_to_zero"} {
		t.Run(strategy, func(t *testing.T) {
			t.Parallel()
			if strategy != "in_place" && strategy != "rolling" {
				// TestAccMachineSetTaints_strategies has them.
				acctest.Exhaustive(t)
			}
			f := newFleet(t, acctest.Connect(t))
			tf, i := terraform(t, f.c), newInstance()
			evicted := f.c.Evictions(t, f.Namespace)
			for _, w := range []fleetWish{{f.own("team=a:NoExecute"), "dedicated=gpu"}, {f.own("team=b:NoExecute"), "reserved=gpu"}} {
				tf.Settle(t, i, f.config(w, map[string]any{"strategy": strategy}))
				f.want(w)
			}
			tf.Destroy(t, i)
			f.want(fleetWish{})
			if names := evicted(); len(names) > 0 {
				t.Fatalf("the taint-eviction controller deleted %v", names)
			}
		})
	}
}

// TestAccDedicatedNodes_machineSetsKill9AfterEachWrite kills the real provider process
// after each write of a change of taint and label, and runs the same apply again.
func TestAccDedicatedNodes_machineSetsKill9AfterEachWrite(t *testing.T) {
	t.Parallel()
	for _, strategy := range []string{"in_place", "rolling"} {
		t.Run(strategy, func(t *testing.T) {
			t.Parallel()
			if strategy != "in_place" {
				acctest.Exhaustive(t)
			}
			f := newFleet(t, acctest.Connect(t))
			cli := acctest.NewCLI(t)
			evicted := f.c.Evictions(t, f.Namespace)
			is, to := fleetWish{f.own("team=a:NoExecute"), "dedicated=gpu"}, fleetWish{f.own("team=b:NoExecute"), "reserved=gpu"}
			cli.Write(f.c.Provider(t), f.hcl(is, strategy))
			cli.MustRun("apply", "-auto-approve", "-input=false")
			kills := 0
			for writes := range acctest.Kills(4) {
				proxy := f.c.Proxy(t)
				cli.Write(proxy.Provider(t, f.c), f.hcl(to, strategy))
				cli.MustRun("plan", "-input=false", "-out=plan")
				if !cli.ApplyAndKill(proxy, acctest.Request.Write, writes) {
					break
				}
				kills++
				cli.MustRun("apply", "-auto-approve", "-input=false")
				f.want(to)
				cli.WantEmptyPlan()
				if !acctest.All() {
					break
				}
				is, to = to, is
			}
			f.want(to)
			if names := evicted(); len(names) > 0 {
				t.Fatalf("the taint-eviction controller deleted %v", names)
			}
			if kills < acctest.MinKills(10) {
				t.Fatalf("the apply was killed only %d times", kills)
			}
			t.Logf("killed %d times", kills)
		})
	}
}

// TestAccDedicatedNodes_machineSetsImport takes what another state has put into a template
// into a new one, with its label and workload, and writes nothing.
func TestAccDedicatedNodes_machineSetsImport(t *testing.T) {
	t.Parallel()
	f := newFleet(t, acctest.Connect(t))
	tf, i := terraform(t, f.c), newInstance()
	w, rollout := fleetWish{"team=a:NoSchedule", "dedicated=gpu"}, map[string]any{"strategy": "in_place"}
	tf.Settle(t, i, f.config(w, rollout))
	version := f.Version()
	again, d := tf.Import(t, typeName, "machine_sets/"+f.Namespace+"/"+f.Pool.Name+"/team:NoSchedule")
	if d.Errors() != "" {
		t.Fatalf("import: %s", d.Errors())
	}
	got := tf.Attributes(t, again)
	if labels, _ := got["labels"].(map[string]any); labels["dedicated"] != "gpu" {
		t.Fatalf("the labels are %v", got["labels"])
	}
	if f.Version() != version {
		t.Fatal("the import has written to the MachineSet")
	}
	// The rollout is not what the import has taken: it changes without a write.
	tf.Settle(t, again, f.config(w, rollout))
	if f.Version() != version {
		t.Fatal("the first apply has written to the MachineSet")
	}
	tf.Destroy(t, again)
	f.want(fleetWish{})
}
