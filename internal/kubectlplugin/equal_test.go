// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package kubectlplugin_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/fakeapi"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/fakeapi/controllers"
)

// TestPlugin_saysWhatTheProviderSaysOnRandomClusters compares each field of the plugin's JSON with the
// attribute of the data source on the same cluster, for changes of nodes and of MachineSets and for
// tolerations, and the words about a drain with the warning of the action.
func TestPlugin_saysWhatTheProviderSaysOnRandomClusters(t *testing.T) {
	t.Parallel()
	acctest.TooLong(t)
	const clusters = 50
	var seen tally
	t.Cleanup(func() {
		// A comparison of nothing would pass as well.
		if pods, drains, drained, stuck, refused, no := seen.pods.Load(), seen.drains.Load(), seen.drained.Load(), seen.stuck.Load(), seen.refused.Load(), seen.no.Load(); pods < 100 || drains < 5 || drained < 30 || stuck < 2 || refused < 5 || no < 20 {
			t.Errorf("only %d pods, %d drains, %d pods that are drained, %d drains that get stuck, %d refused drains and %d workloads that do not tolerate are compared", pods, drains, drained, stuck, refused, no)
		}
	})
	for seed := range uint64(clusters) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			var kinds []fakeapi.Kind
			if seed%3 == 0 {
				kinds = controllers.MachineAPI
			}
			acctest.OnFakeWithControllers(t, func(t *testing.T, c *acctest.Cluster) {
				w := &world{t: t, c: c, r: rand.New(rand.NewPCG(seed, 47)), tf: &acctest.Terraform{Provider: c.Provider(t)}, seen: &seen}
				w.fill(len(kinds) > 0)
				w.reader = newReader(t, c)
				w.compareNodes()
				if len(kinds) > 0 {
					w.compareMachineSets()
				}
				w.compareTolerances()
				w.compareDrain()
			}, kinds...)
		})
	}
}

// tally counts what is compared.
type tally struct{ pods, drains, drained, stuck, refused, no atomic.Int64 }

// world is one random cluster.
type world struct {
	t      *testing.T
	c      *acctest.Cluster
	r      *rand.Rand
	tf     *acctest.Terraform
	reader *reader
	seen   *tally

	apps      string
	nodes     []string
	workloads []string
	machines  *acctest.Pool
}

func (w *world) pick(from ...string) string { return from[w.r.IntN(len(from))] }

// fill makes nodes with taints, workloads of every kind, bare pods and PodDisruptionBudgets.
func (w *world) fill(machines bool) {
	w.t.Helper()
	w.apps = w.c.Namespace(w.t)
	for n := range 2 + w.r.IntN(4) {
		name := fmt.Sprintf("node-%d", n)
		w.nodes = append(w.nodes, name)
		room := corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(w.pick("2", "4", "8")), corev1.ResourceMemory: resource.MustParse("16Gi"), corev1.ResourcePods: resource.MustParse(w.pick("6", "20"))}
		w.c.Node(w.t, acctest.Node{Name: name, Labels: map[string]string{"pool": w.pick("a", "b"), "zone": w.pick("x", "y")}, Allocatable: room})
	}
	if machines {
		w.machines = w.c.MachineSet(w.t, acctest.MachineSet{Namespace: w.c.Namespace(w.t), Name: "pool-m", Replicas: 1 + w.r.IntN(3), Labels: map[string]string{"role": "m"}, Taints: w.pick("", "k3:NoSchedule")})
	}
	for n := range 2 + w.r.IntN(4) {
		name := fmt.Sprintf("app-%d", n)
		replicas := 1 + w.r.IntN(4)
		if w.r.IntN(3) == 0 {
			w.c.StatefulSet(w.t, w.apps, name, int32(replicas), w.template)
			w.workloads = append(w.workloads, "statefulset/"+name)
		} else {
			w.c.Deployment(w.t, w.apps, name, int32(replicas), w.template)
			w.workloads = append(w.workloads, "deployment/"+name)
		}
		if w.r.IntN(4) == 0 {
			w.c.Budget(w.t, w.apps, name, name)
		}
	}
	if w.r.IntN(2) == 0 {
		all := len(w.nodes)
		if w.machines != nil {
			all += len(w.machines.Names())
		}
		w.c.DaemonSet(w.t, w.apps, "agent", all, func(spec *corev1.PodSpec) {
			spec.Tolerations = append(w.tolerations(), corev1.Toleration{Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoSchedule})
		})
		w.workloads = append(w.workloads, "daemonset/agent")
	}
	for n := range w.r.IntN(3) {
		name := fmt.Sprintf("bare-%d", n)
		w.c.Pod(w.t, w.apps, name, w.pick(w.nodes...), func(p *corev1.Pod) { p.Spec.Tolerations = w.tolerations() })
		w.workloads = append(w.workloads, "pod/"+name)
	}
	for _, name := range w.nodes {
		if w.r.IntN(2) == 0 {
			w.taint(name)
		}
	}
}

// taint gives a node a taint that evicts no pod.
func (w *world) taint(node string) {
	w.t.Helper()
	if err := w.c.EditNode(w.t.Context(), node, func(n *corev1.Node) {
		n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{Key: w.pick("k1", "k2"), Value: w.pick("", "v"), Effect: corev1.TaintEffect(w.pick("NoSchedule", "PreferNoSchedule"))})
	}); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) template(spec *corev1.PodSpec) {
	spec.Tolerations = w.tolerations()
	switch w.r.IntN(4) {
	case 0:
		spec.NodeSelector = map[string]string{"pool": w.c.Get(w.t, w.pick(w.nodes...)).Labels["pool"]}
	case 1:
		spec.Volumes = []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}}
	}
	spec.Containers[0].Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(w.pick("10m", "50m", "100m"))}
}

func (w *world) tolerations() []corev1.Toleration {
	var out []corev1.Toleration
	for range w.r.IntN(3) {
		one := corev1.Toleration{Key: w.pick("k1", "k2", "k3"), Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffect(w.pick("", "NoExecute", "NoExecute"))}
		if w.r.IntN(3) == 0 {
			one.Operator, one.Value = corev1.TolerationOpEqual, w.pick("", "v")
		}
		if one.Effect == corev1.TaintEffectNoExecute && w.r.IntN(2) == 0 {
			one.TolerationSeconds = new(int64(10 * w.r.IntN(4)))
		}
		out = append(out, one)
	}
	return out
}

// change returns a random change of taints, for a command line and for a configuration.
func (w *world) change() (args []string, config map[string]any) {
	taints, absent := []any{}, []any{}
	var ids []taint.ID
	for range 1 + w.r.IntN(3) {
		one := corev1.Taint{Key: w.pick("k1", "k2", "k3"), Value: w.pick("", "v"), Effect: corev1.TaintEffect(w.pick("NoExecute", "NoExecute", "NoSchedule", "PreferNoSchedule"))}
		if slices.Contains(ids, taint.IDOf(one)) {
			continue
		}
		ids = append(ids, taint.IDOf(one))
		if w.r.IntN(4) == 0 {
			args, absent = append(args, taint.IDOf(one).String()+"-"), append(absent, map[string]any{"key": one.Key, "effect": string(one.Effect)})
		} else {
			args, taints = append(args, taint.Format(one)), append(taints, acctest.Objects(w.t, taint.Format(one))...)
		}
	}
	config = map[string]any{}
	for name, list := range map[string][]any{"taints": taints, "absent_taints": absent} {
		if len(list) > 0 {
			config[name] = list
		}
	}
	if w.r.IntN(2) == 0 {
		args, config["include_unaffected"] = append(args, "--include-unaffected"), true
	}
	return args, config
}

func (w *world) compareNodes() {
	w.t.Helper()
	args, config := w.change()
	if w.r.IntN(2) == 0 {
		node := w.pick(w.nodes...)
		args, config["node_name"] = append([]string{node}, args...), node
	} else {
		selector := w.pick("pool=a", "zone=x", "pool in (a,b)", "pool=none")
		args, config["node_selector"] = append([]string{"-l", selector}, args...), selector
	}
	w.compare("kubetaint_eviction_preview", config, append([]string{"preview", "nodes"}, args...)...)
}

func (w *world) compareMachineSets() {
	w.t.Helper()
	args, config := w.change()
	strategy := w.pick("template_only", "in_place", "rolling", "surge", "scale_to_zero")
	sets := map[string]any{"namespace": w.machines.Namespace, "rollout": map[string]any{"strategy": strategy}}
	if w.r.IntN(2) == 0 {
		args, sets["name"] = append([]string{w.machines.Name}, args...), w.machines.Name
	} else {
		args, sets["selector"] = append([]string{"-l", "role=m"}, args...), "role=m"
	}
	config["machine_sets"] = sets
	w.compare("kubetaint_eviction_preview", config, append([]string{"preview", "machineset", "-n", w.machines.Namespace, "--strategy", strategy}, args...)...)
}

// compare compares all computed attributes of a data source with the fields of the plugin's JSON.
func (w *world) compare(typeName string, config map[string]any, args ...string) {
	w.t.Helper()
	got := w.reader.run(w.t, append(args, "-o", "json")...)
	if missing := notFound(got.err); len(missing) > 0 {
		if args = without(args, config, missing); len(config) > 0 {
			w.compare(typeName, config, args...)
		}
		return
	}
	attributes, d := w.tf.Data(w.t, typeName, config)
	if d.Errors() != "" {
		w.t.Fatalf("%v: %s", config, d.Errors())
	}
	if got.code != 0 {
		w.t.Fatalf("%v: %s", args, got)
	}
	want := map[string]any{}
	for _, name := range []string{"pods", "workloads", "summary", "markdown"} {
		want[name] = attributes[name]
	}
	w.seen.pods.Add(int64(len(want["pods"].([]any))))
	if diff := cmp.Diff(plain(w.t, want), object(w.t, got.out, "EvictionPreview")); diff != "" {
		w.t.Errorf("%v: the plugin says otherwise than the provider:\n%s", args, diff)
	}
}

// notFound returns the taints that the plugin does not remove because no node has them: the provider's
// absent_taints need not be there.
func notFound(text string) (taints []string) {
	for _, found := range regexp.MustCompile(`taint "(.*)" not found`).FindAllStringSubmatch(text, -1) {
		taints = append(taints, found[1])
	}
	return taints
}

// without takes the removal of taints out of a change. The configuration is empty where nothing remains.
func without(args []string, config map[string]any, taints []string) []string {
	absent, _ := config["absent_taints"].([]any)
	absent = slices.DeleteFunc(absent, func(one any) bool {
		t := one.(map[string]any)
		return slices.Contains(taints, fmt.Sprintf("%s:%s", t["key"], t["effect"]))
	})
	config["absent_taints"] = absent
	if len(absent) == 0 {
		delete(config, "absent_taints")
		if config["taints"] == nil {
			clear(config)
		}
	}
	return slices.DeleteFunc(args, func(arg string) bool { return slices.Contains(taints, strings.TrimSuffix(arg, "-")) })
}

// plain returns a value as JSON has it.
func plain(t *testing.T, value any) any {
	t.Helper()
	raw, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return fields(t, string(raw))
}

// object returns the fields of an answer beside those that every object of Kubernetes has.
func object(t *testing.T, text, kind string) map[string]any {
	t.Helper()
	out := fields(t, text).(map[string]any)
	if out["apiVersion"] != "kubetaint.io/v1alpha1" || out["kind"] != kind {
		t.Fatalf("want an object of kind %s and got %s", kind, text)
	}
	delete(out, "apiVersion")
	delete(out, "kind")
	return out
}

func fields(t *testing.T, text string) (out any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &out); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return out
}

// compareTolerances compares the answer about each workload with the element of kubetaint_workloads.
func (w *world) compareTolerances() {
	w.t.Helper()
	const taints = "k1=v:NoExecute k2:NoSchedule"
	attributes, d := w.tf.Data(w.t, "kubetaint_workloads", map[string]any{"taints": acctest.Objects(w.t, taints), "namespaces": []any{w.apps}})
	if d.Errors() != "" {
		w.t.Fatal(d.Errors())
	}
	want := map[string]any{}
	for _, one := range attributes["workloads"].([]any) {
		element := plain(w.t, one).(map[string]any)
		want[strings.ToLower(fmt.Sprint(element["kind"]))+"/"+fmt.Sprint(element["name"])] = element
	}
	if len(want) != len(w.workloads) {
		w.t.Errorf("the provider has %d workloads, and there are %v", len(want), w.workloads)
	}
	for _, name := range w.workloads {
		got := w.reader.run(w.t, append([]string{"tolerates", "-n", w.apps, name, "-o", "json"}, strings.Fields(taints)...)...)
		if diff := cmp.Diff(want[name], object(w.t, got.out, "WorkloadTolerance")["workload"]); diff != "" {
			w.t.Errorf("%s: the plugin says otherwise than the provider:\n%s", name, diff)
		}
		tolerates := want[name].(map[string]any)["tolerates"] == true
		if tolerates != (got.code == 0) {
			w.t.Errorf("%s tolerates: %t, and the exit code is %d", name, tolerates, got.code)
		}
		if !tolerates {
			w.seen.no.Add(1)
		}
	}
}
