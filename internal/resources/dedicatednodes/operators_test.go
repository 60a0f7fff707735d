// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package dedicatednodes_test

import (
	"context"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/label"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/fakeapi"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/toleration"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/workload"
)

// placed is an object by which an operator of OpenShift places the pods of a workload that it
// makes, and that workload.
type placed struct {
	kind            workload.Kind
	object, operand acctest.Thing
}

// openShiftNamespace makes a namespace of OpenShift's, which stays for other tests.
func openShiftNamespace(t *testing.T, c *acctest.Cluster, name string) {
	t.Helper()
	_, err := c.Admin.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		t.Fatal(err)
	}
}

// place makes such an object of a kind, with what there is of its spec, and its workload, whose pods
// may run on the nodes of the pool.
func (p *pool) place(kind, name string, spec map[string]any) placed {
	p.t.Helper()
	return p.placeOn(kind, name, spec, func(spec *corev1.PodSpec) {
		spec.Tolerations = []corev1.Toleration{{Key: "foreign", Operator: corev1.TolerationOpExists}}
		p.inField(spec)
	})
}

// inField has pods run on the nodes of the pool alone.
func (p *pool) inField(spec *corev1.PodSpec) {
	spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{
		NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: []corev1.NodeSelectorRequirement{{Key: "field", Operator: corev1.NodeSelectorOpIn, Values: []string{p.name}}}}},
	}}}
}

// placeOn makes them with what the pods begin with.
func (p *pool) placeOn(kind, name string, spec map[string]any, here func(*corev1.PodSpec)) placed {
	p.t.Helper()
	known, _ := workload.Lookup("", kind)
	out := placed{kind: known, object: acctest.Thing{APIVersion: known.APIVersion, Kind: kind, Namespace: p.namespace, Name: name}}
	if known.Cluster {
		out.object.Namespace = ""
	}
	p.c.Make(p.t, out.object, map[string]any{"spec": spec})
	key := known.Operand(name)
	openShiftNamespace(p.t, p.c, key.Namespace)
	out.operand = acctest.Thing{APIVersion: "apps/v1", Kind: key.Kind, Namespace: key.Namespace, Name: key.Name}
	p.ends(out.operand)
	if key.Kind == "DaemonSet" {
		p.c.DaemonSet(p.t, key.Namespace, key.Name, 3, here)
	} else {
		p.c.Deployment(p.t, key.Namespace, key.Name, 2, here)
	}
	return out
}

// ends deletes workloads when the test ends: their namespaces stay.
func (p *pool) ends(workloads ...acctest.Thing) {
	p.t.Helper()
	p.t.Cleanup(func() {
		apps, ctx, now := p.c.Admin.AppsV1(), context.Background(), metav1.DeleteOptions{}
		for _, w := range workloads {
			switch w.Kind {
			case "DaemonSet":
				_ = apps.DaemonSets(w.Namespace).Delete(ctx, w.Name, now)
			case "StatefulSet":
				_ = apps.StatefulSets(w.Namespace).Delete(ctx, w.Name, now)
			default:
				_ = apps.Deployments(w.Namespace).Delete(ctx, w.Name, now)
			}
		}
	})
}

// operate plays the operator once it is told to.
func (p *pool) operate(o placed) (begin func()) {
	p.t.Helper()
	operand, _ := workload.Lookup("", o.operand.Kind)
	tolerations := p.c.Operate(p.t, o.object, o.kind.Path, o.operand, operand.Path)
	selector := p.c.Operate(p.t, o.object, o.kind.Selector, o.operand, operand.Selector)
	return func() { tolerations(); selector() }
}

// pins has the object of an operator among the workloads, pinned, and expects that the taint waits for
// the pods, that these run on the nodes alone, and that a destroy leaves the object as it was.
func (p *pool) pins(o placed, tf *acctest.Terraform) {
	p.t.Helper()
	before := p.c.Look(p.t, o.object)
	one := map[string]any{"kind": o.kind.Kind, "name": o.object.Name, "pin": true}
	if o.object.Namespace != "" {
		one["namespace"] = o.object.Namespace
	}
	w := wish{taints: "team=a:NoExecute", labels: "dedicated=infra"}
	config := acctest.With(p.config(w), map[string]any{"workloads": []any{one}})
	i, begin := newInstance(), p.operate(o)
	done := make(chan acctest.Diagnostics, 1)
	go func() { done <- tf.Apply(p.t, i, config) }()
	required := func(context.Context) (bool, error) {
		labels, _, err := unstructured.NestedStringMap(p.c.Look(p.t, o.object).Object, o.kind.Selector...)
		return labels["dedicated"] == p.labels(w)["dedicated"], err
	}
	acctest.Until(p.t, "the object requires the label", required)
	for _, node := range p.nodes {
		if taints := p.c.Taints(p.t, node); taints != foreignTaint {
			p.t.Fatalf("node %s has the taints %s before the pods tolerate them", node, taints)
		}
	}
	begin()
	if d := <-done; d.Errors() != "" {
		p.t.Fatal(d.Errors())
	}
	p.want(w)
	p.onlyOn(o.operand, p.nodes)
	tf.Settle(p.t, i, config)
	tf.Destroy(p.t, i)
	p.want(wish{})
	after := p.c.Look(p.t, o.object)
	if diff := cmp.Diff(before.Object["spec"], after.Object["spec"]); diff != "" {
		p.t.Errorf("the object is not as it was: %s", diff)
	}
	for _, annotation := range []string{toleration.OwnedAnnotation, label.OwnedAnnotation} {
		if mark, there := after.GetAnnotations()[annotation]; there {
			p.t.Errorf("the object keeps the mark %q", mark)
		}
	}
}

// onlyOn fails the test where a pod of a workload that is not ending runs on another node.
func (p *pool) onlyOn(operand acctest.Thing, nodes []string) {
	p.t.Helper()
	pods, err := p.c.Admin.CoreV1().Pods(operand.Namespace).List(p.t.Context(), metav1.ListOptions{LabelSelector: "app=" + operand.Name})
	if err != nil || len(pods.Items) == 0 {
		p.t.Fatalf("%s has %d pods: %v", operand.Name, len(pods.Items), err)
	}
	for _, pod := range pods.Items {
		if pod.DeletionTimestamp == nil && pod.Spec.NodeName != "" && !slices.Contains(nodes, pod.Spec.NodeName) {
			p.t.Errorf("pod %s runs on %s", pod.Name, pod.Spec.NodeName)
		}
	}
}

// openShift are the kinds of OpenShift's operators for an in-memory API server.
func openShift() []fakeapi.Kind {
	var out []fakeapi.Kind
	for _, known := range workload.OpenShiftKinds() {
		if known.Operand == nil {
			continue
		}
		kind := fakeapi.CustomKind(known.APIVersion, known.Kind, known.Plural)
		kind.Cluster = known.Cluster
		out = append(out, kind)
	}
	return out
}

// TestDedicatedNodes_pinsWhatOperatorsPlace has objects by which operators place pods among the
// workloads. What others require there stays.
func TestDedicatedNodes_pinsWhatOperatorsPlace(t *testing.T) {
	t.Parallel()
	for _, known := range workload.OpenShiftKinds() {
		if known.Operand == nil {
			continue
		}
		t.Run(known.Kind, func(t *testing.T) {
			t.Parallel()
			acctest.OnFakeWithControllers(t, func(t *testing.T, c *acctest.Cluster) {
				p := newPool(t, c)
				own := map[string]any{}
				if err := unstructured.SetNestedMap(own, map[string]any{"field": p.name}, known.Selector...); err != nil {
					t.Fatal(err)
				}
				foreign := []any{map[string]any{"key": "foreign", "operator": "Exists"}}
				if err := unstructured.SetNestedSlice(own, foreign, known.Path...); err != nil {
					t.Fatal(err)
				}
				p.pins(p.place(known.Kind, "cluster", own["spec"].(map[string]any)), terraform(t, c))
			}, openShift()...)
		})
	}
}

// TestDedicatedNodes_aPinOfWhatAnOperatorPlacesIsForeseen has the DaemonSet of a DNS lose the pod on the
// node that is not among the dedicated ones.
func TestDedicatedNodes_aPinOfWhatAnOperatorPlacesIsForeseen(t *testing.T) {
	t.Parallel()
	acctest.OnFakeWithControllers(t, func(t *testing.T, c *acctest.Cluster) {
		p := newPool(t, c)
		o := p.place("DNS", "default", map[string]any{"nodePlacement": map[string]any{"nodeSelector": map[string]any{"field": p.name}}})
		config := acctest.With(p.config(wish{taints: "team=a:NoSchedule", labels: "dedicated=infra"}), map[string]any{
			"workloads": []any{map[string]any{"kind": "DNS", "name": o.object.Name, "pin": true}},
		})
		acctest.WantAll(t, terraform(t, c).Plan(t, newInstance(), config).Diagnostics.Warnings(), "evicts 1 pod", "openshift-dns/dns-default")
	}, openShift()...)
}
