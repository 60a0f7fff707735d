// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package workloadtolerations_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/fakeapi"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/toleration"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/workload"
)

// shop is a namespace with workloads, the node that their pods are on, and a
// Terraform that manages their tolerations.
type shop struct {
	t         *testing.T
	c         *acctest.Cluster
	tf        *acctest.Terraform
	namespace string
	// pool is the label of the node.
	pool string
}

// openShop makes a namespace, and a node for the pods in it.
func openShop(t *testing.T) *shop {
	t.Helper()
	return openShopOn(t, acctest.Connect(t))
}

// inShop runs a test in a shop on an in-memory API server: one that asks nothing of the
// real controllers but that pods follow their templates. See acctest.OnFake.
func inShop(t *testing.T, test func(t *testing.T, s *shop)) {
	t.Helper()
	ingress, dns := fakeapi.CustomKind("operator.openshift.io/v1", "IngressController", "ingresscontrollers"), fakeapi.CustomKind("operator.openshift.io/v1", "DNS", "dnses")
	dns.Cluster = true
	acctest.OnFakeWithControllers(t, func(t *testing.T, c *acctest.Cluster) { test(t, openShopOn(t, c)) }, append(acctest.Widgets(), ingress, dns)...)
}

// openShopOn opens a shop on this cluster.
func openShopOn(t *testing.T, c *acctest.Cluster) *shop {
	t.Helper()
	s := &shop{t: t, c: c, tf: &acctest.Terraform{Provider: c.Provider(t)}, namespace: c.Namespace(t)}
	s.pool = s.namespace
	c.Node(t, acctest.Node{Name: s.pool, Labels: map[string]string{"shop": s.pool}})
	return s
}

// together refreshes instances in one process, as each run of a configuration does that has all
// of them.
func (s *shop) together(instances ...*acctest.Instance) {
	s.t.Helper()
	w := s.tf.Walk(s.t)
	for _, i := range instances {
		if d := w.Refresh(i); d.Errors() != "" {
			s.t.Fatal(d.Errors())
		}
	}
}

// on returns the shop for a subtest.
func (s *shop) on(t *testing.T) *shop {
	t.Helper()
	out := *s
	out.t = t
	return &out
}

// thing names an object of a known kind in the shop.
func (s *shop) thing(kind, name string) acctest.Thing {
	s.t.Helper()
	known, ok := workload.Lookup("", kind)
	if !ok {
		s.t.Fatalf("the kind %s is not known", kind)
	}
	return acctest.Thing{APIVersion: known.APIVersion, Kind: kind, Namespace: s.namespace, Name: name}
}

// template is a pod template whose pods are on the shop's node.
func (s *shop) template(name, tolerations string) map[string]any {
	s.t.Helper()
	spec := map[string]any{
		"nodeSelector": map[string]any{"shop": s.pool}, "terminationGracePeriodSeconds": 0,
		"containers": []any{map[string]any{"name": "main", "image": "registry.k8s.io/pause:3.10.2"}},
	}
	if tolerations != "" {
		spec["tolerations"] = acctest.ParseTolerations(s.t, tolerations)
	}
	return map[string]any{"metadata": map[string]any{"labels": map[string]any{"app": name}}, "spec": spec}
}

// make makes a workload of a known kind and waits for its pods. More is put into
// its spec.
func (s *shop) make(kind, name string, pods int, tolerations string, more map[string]any) acctest.Thing {
	s.t.Helper()
	thing := s.thing(kind, name)
	template := s.template(name, tolerations)
	spec := map[string]any{"template": template}
	switch kind {
	case "Deployment", "StatefulSet", "ReplicaSet":
		spec["replicas"] = pods
		spec["selector"] = map[string]any{"matchLabels": map[string]any{"app": name}}
	case "DaemonSet":
		spec["selector"] = map[string]any{"matchLabels": map[string]any{"app": name}}
	case "Job":
		template["spec"].(map[string]any)["restartPolicy"] = "Never"
	case "CronJob":
		template["spec"].(map[string]any)["restartPolicy"] = "Never"
		// Suspended: its schedule may come while the test runs.
		spec = map[string]any{"schedule": "0 0 1 1 *", "suspend": true, "jobTemplate": map[string]any{"spec": map[string]any{"template": template}}}
	}
	for key, value := range more {
		spec[key] = value
	}
	s.c.Make(s.t, thing, map[string]any{"metadata": map[string]any{"labels": map[string]any{"app": name}}, "spec": spec})
	s.c.Running(s.t, s.namespace, name, pods)
	return thing
}

// manage is the configuration of tolerations of a workload.
func (s *shop) manage(thing acctest.Thing, tolerations string, more map[string]any) map[string]any {
	s.t.Helper()
	where := map[string]any{"kind": thing.Kind, "namespace": thing.Namespace, "name": thing.Name}
	if thing.Namespace == "" {
		delete(where, "namespace")
	}
	if _, known := workload.Lookup("", thing.Kind); !known {
		where["api_version"] = thing.APIVersion
	}
	return acctest.With(map[string]any{"workload": where, "tolerations": acctest.TolerationObjects(s.t, tolerations)}, more)
}

// fresh returns an instance that is not created yet.
func (s *shop) fresh() *acctest.Instance {
	return &acctest.Instance{Type: "kubetaint_workload_tolerations"}
}

// apply applies a configuration and then expects that a plan is empty and
// silent.
func (s *shop) apply(i *acctest.Instance, config map[string]any) acctest.Diagnostics {
	s.t.Helper()
	return s.tf.Settle(s.t, i, config)
}

// quiet expects that a plan is empty and says nothing.
func (s *shop) quiet(i *acctest.Instance, config map[string]any) {
	s.t.Helper()
	again := s.tf.Plan(s.t, i, config)
	if !again.Empty || len(again.Diagnostics) > 0 {
		s.t.Fatalf("the plan is empty: %v, and says: %s%s", again.Empty, again.Diagnostics.Errors(), again.Diagnostics.Warnings())
	}
}

// planned expects that a plan changes something and has no errors.
func (s *shop) planned(i *acctest.Instance, config map[string]any) acctest.Planned {
	s.t.Helper()
	planned := s.tf.Plan(s.t, i, config)
	if planned.Empty || planned.Diagnostics.Errors() != "" {
		s.t.Fatalf("the plan is empty: %v, with errors: %s", planned.Empty, planned.Diagnostics.Errors())
	}
	return planned
}

// refused expects that a plan fails and that its errors say all of this.
func (s *shop) refused(i *acctest.Instance, config map[string]any, parts ...string) {
	s.t.Helper()
	says(s.t, "error", s.tf.Plan(s.t, i, config).Diagnostics.Errors(), parts...)
}

// warned expects that the plan for a new instance warns of all of this.
func (s *shop) warned(config map[string]any, parts ...string) {
	s.t.Helper()
	says(s.t, "warning", s.planned(s.fresh(), config).Diagnostics.Warnings(), parts...)
}

func says(t *testing.T, what, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Fatalf("no %s says %q: %s", what, part, text)
		}
	}
}

func (s *shop) destroy(i *acctest.Instance) acctest.Diagnostics {
	s.t.Helper()
	return s.tf.Destroy(s.t, i)
}

// pathOf is where the tolerations of a known kind stand.
func (s *shop) pathOf(kind string) []string {
	s.t.Helper()
	known, _ := workload.Lookup("", kind)
	return known.Path
}

// standing returns the tolerations that stand at a path of an object.
func (s *shop) standing(thing acctest.Thing, path []string) []corev1.Toleration {
	s.t.Helper()
	return s.c.TolerationsAt(s.t, thing, path)
}

// want expects exactly these tolerations, in this order, and a mark for each of
// owned.
func (s *shop) want(thing acctest.Thing, all string, ours int) {
	s.t.Helper()
	got := s.standing(thing, s.pathOf(thing.Kind))
	if want := acctest.ParseTolerations(s.t, all); !slices.EqualFunc(got, want, toleration.Equal) {
		s.t.Fatalf("%s has %q, want %q", thing.Kind, formatted(got), formatted(want))
	}
	if record := s.record(thing); len(record) != ours {
		s.t.Fatalf("%s has the record %v, want %d marks", thing.Kind, record, ours)
	}
}

func formatted(list []corev1.Toleration) string {
	out := make([]string, len(list))
	for i, one := range list {
		out[i] = taint.FormatToleration(one)
	}
	return strings.Join(out, ", ")
}

// record returns the record of owned tolerations. An empty annotation is no
// record, and must not be there.
func (s *shop) record(thing acctest.Thing) toleration.Record {
	s.t.Helper()
	annotation, there := s.c.Look(s.t, thing).GetAnnotations()[toleration.OwnedAnnotation]
	record, err := toleration.ParseRecord(annotation)
	if err != nil || there && len(record) == 0 {
		s.t.Fatalf("the annotation is %q (%v)", annotation, err)
	}
	return record
}

// replace puts another list of tolerations into a workload, as a careless writer
// does.
func (s *shop) replace(thing acctest.Thing, all string) {
	s.t.Helper()
	var patch any = acctest.ParseTolerations(s.t, all)
	path := s.pathOf(thing.Kind)
	for _, name := range slices.Backward(path) {
		patch = map[string]any{name: patch}
	}
	raw, err := json.Marshal(patch)
	if err != nil {
		s.t.Fatal(err)
	}
	s.c.Change(s.t, thing, "somebody", string(raw))
}

// live returns the pods of a workload that are not being deleted.
func (s *shop) live(app string) []corev1.Pod {
	s.t.Helper()
	pods, err := s.c.Admin.CoreV1().Pods(s.namespace).List(s.t.Context(), metav1.ListOptions{LabelSelector: "app=" + app})
	if err != nil {
		s.t.Fatal(err)
	}
	return slices.DeleteFunc(pods.Items, func(p corev1.Pod) bool { return p.DeletionTimestamp != nil })
}

func (s *shop) until(what string, holds func() bool) {
	s.t.Helper()
	acctest.Until(s.t, what, func(context.Context) (bool, error) { return holds(), nil })
}
