// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/testbed/modules/machineapi/cloud"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/testbed/modules/machineapi/drain"
)

// Times of the controllers under test. An attempt to drain makes one eviction of
// each pod and lasts as long as the pause after it.
const (
	attempt = 1600 * time.Millisecond
	backoff = 400 * time.Millisecond
)

// world is one test's view of the cluster that all share.
type world struct {
	client.WithWatch
	t         *testing.T
	namespace string
}

// controllers starts the controllers in this process, once, on the control plane
// of the test bed.
var controllers = sync.OnceValues(func() (client.WithWatch, error) {
	klog.LogToStderr(false)
	klog.SetOutput(io.Discard)
	ctrl.SetLogger(klog.NewKlogr())
	cfg, err := clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG"))
	if err != nil {
		return nil, err
	}
	o := options{
		health: "0", sync: 10 * time.Minute, again: 500 * time.Millisecond, retryMax: time.Second,
		drain: drain.Options{Timeout: attempt - 100*time.Millisecond, BackoffBase: backoff, BackoffMax: 1000 * time.Second, EvictionRetry: attempt},
	}
	ctx := context.Background()
	mgr, err := build(ctx, cfg, o)
	if err != nil {
		return nil, err
	}
	go func() {
		if err := mgr.Start(ctx); err != nil {
			panic(err)
		}
	}()
	if !mgr.GetCache().WaitForCacheSync(ctx) {
		return nil, errors.New("the caches are not filled")
	}
	return client.NewWithWatch(mgr.GetConfig(), client.Options{Scheme: mgr.GetScheme()})
})

// newWorld gives a test a namespace of its own. What is in it stays: the cluster
// ends with the tests.
func newWorld(t *testing.T) *world {
	t.Helper()
	if os.Getenv("KUBETAINT_TESTBED_DIR") == "" {
		t.Skip("needs a cluster of the test bed: run \"make test-testbed\"")
	}
	c, err := controllers()
	if err != nil {
		t.Fatal(err)
	}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "machines-"}}
	w := &world{WithWatch: c, t: t}
	w.must(c.Create(t.Context(), namespace))
	w.namespace = namespace.Name
	return w
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// until waits for a condition. An error other than NotFound ends the test.
func (w *world) until(what string, holds func() (bool, error)) {
	w.t.Helper()
	for deadline := time.Now().Add(5 * time.Minute); ; time.Sleep(25 * time.Millisecond) {
		ok, err := holds()
		w.must(client.IgnoreNotFound(err))
		if ok && err == nil {
			return
		}
		if time.Now().After(deadline) {
			w.t.Fatalf("timed out waiting until %s", what)
		}
	}
}

// machineSet makes a MachineSet of the invented cloud.
func (w *world) machineSet(replicas int32, spec cloud.Spec, change func(*machinev1beta1.MachineSet)) *machinev1beta1.MachineSet {
	w.t.Helper()
	ms := &machinev1beta1.MachineSet{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "workers"}}
	ms.Spec.Replicas = &replicas
	ms.Spec.Selector.MatchLabels = map[string]string{"set": "workers"}
	ms.Spec.Template.Labels = map[string]string{"set": "workers", machinev1beta1.MachineClusterIDLabel: "test"}
	ms.Spec.Template.Spec.ProviderSpec.Value = w.value(spec)
	if change != nil {
		change(ms)
	}
	w.must(w.Create(w.t.Context(), ms))
	return ms
}

func (w *world) value(spec cloud.Spec) *runtime.RawExtension {
	w.t.Helper()
	spec.APIVersion, spec.Kind = cloud.APIVersion, cloud.Kind
	raw, err := json.Marshal(spec)
	w.must(err)
	return &runtime.RawExtension{Raw: raw}
}

// running makes a MachineSet and waits for its Machines, sorted by name.
func (w *world) running(replicas int32, change func(*machinev1beta1.MachineSet)) (*machinev1beta1.MachineSet, []machinev1beta1.Machine) {
	w.t.Helper()
	ms := w.machineSet(replicas, cloud.Spec{}, change)
	return ms, w.phase(int(replicas), machinev1beta1.PhaseRunning)
}

// phase waits until so many Machines are in a phase, and returns these.
func (w *world) phase(count int, phase string) (in []machinev1beta1.Machine) {
	w.t.Helper()
	w.until("machines are "+phase, func() (bool, error) {
		in = slices.DeleteFunc(w.machines(), func(m machinev1beta1.Machine) bool { return ptr.Deref(m.Status.Phase, "") != phase })
		return len(in) == count, nil
	})
	return in
}

// machines returns all Machines of the test, those that are being deleted
// included.
func (w *world) machines() []machinev1beta1.Machine {
	w.t.Helper()
	all := &machinev1beta1.MachineList{}
	w.must(w.List(w.t.Context(), all, client.InNamespace(w.namespace)))
	return all.Items
}

// patch changes an object, and brings it up to date.
func (w *world) patch(o client.Object, patch string) {
	w.t.Helper()
	w.must(w.Patch(w.t.Context(), o, client.RawPatch(types.MergePatchType, []byte(patch))))
}

// fresh brings an object up to date. It is false when the object is gone.
func (w *world) fresh(o client.Object) bool {
	w.t.Helper()
	err := w.Get(w.t.Context(), client.ObjectKeyFromObject(o), o)
	w.must(client.IgnoreNotFound(err))
	return err == nil
}

// gone waits until an object is gone.
func (w *world) gone(o client.Object) {
	w.t.Helper()
	name := o.GetName()
	w.until(name+" is gone", func() (bool, error) { return !w.fresh(o), nil })
}

// node returns the Node of a Machine that has one.
func (w *world) node(m *machinev1beta1.Machine) *corev1.Node {
	w.t.Helper()
	node := &corev1.Node{}
	w.must(w.Get(w.t.Context(), client.ObjectKey{Name: m.Status.NodeRef.Name}, node))
	return node
}

// pod runs a pod on the Node of a Machine.
func (w *world) pod(name string, m *machinev1beta1.Machine, change func(*corev1.Pod)) *corev1.Pod {
	w.t.Helper()
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: name, Labels: map[string]string{"app": name}},
		Spec: corev1.PodSpec{
			NodeName:   m.Status.NodeRef.Name,
			Containers: []corev1.Container{{Name: "app", Image: "none"}},
		},
	}
	if change != nil {
		change(pod)
	}
	w.must(w.Create(w.t.Context(), pod))
	w.until(name+" runs", func() (bool, error) { return w.fresh(pod) && pod.Status.Phase == corev1.PodRunning, nil })
	return pod
}

// guarded runs a pod that its PDB forbids to evict.
func (w *world) guarded(name string, m *machinev1beta1.Machine) (*corev1.Pod, *policyv1.PodDisruptionBudget) {
	w.t.Helper()
	budget := &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: name},
		Spec: policyv1.PodDisruptionBudgetSpec{
			MinAvailable: ptr.To(intstr.FromInt32(1)), Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": name}},
		},
	}
	pod := w.pod(name, m, nil)
	w.must(w.Create(w.t.Context(), budget))
	w.until("the budget is known", func() (bool, error) { return w.fresh(budget) && budget.Status.CurrentHealthy == 1, nil })
	return pod, budget
}

func condition(m *machinev1beta1.Machine, kind machinev1beta1.ConditionType) machinev1beta1.Condition {
	for _, c := range m.Status.Conditions {
		if c.Type == kind {
			return c
		}
	}
	return machinev1beta1.Condition{}
}

// event reports whether there is an event of this reason about an object.
func (w *world) event(about client.Object, reason string) func() (bool, error) {
	return func() (bool, error) {
		all := &corev1.EventList{}
		err := w.List(w.t.Context(), all, client.InNamespace(w.namespace))
		return slices.ContainsFunc(all.Items, func(e corev1.Event) bool {
			return e.Reason == reason && e.InvolvedObject.Name == about.GetName()
		}), err
	}
}

// request is one request in the audit log.
type request struct {
	Verb      string
	ObjectRef struct{ Resource, Namespace, Name, Subresource string }
	UserAgent string
	Response  struct{ Code int } `json:"responseStatus"`
	Received  time.Time          `json:"requestReceivedTimestamp"`
}

// String is verb, resource and name, such as "delete nodes a".
func (r request) String() string {
	resource := r.ObjectRef.Resource
	if r.ObjectRef.Subresource != "" {
		resource += "/" + r.ObjectRef.Subresource
	}
	return strings.Join([]string{r.Verb, resource, r.ObjectRef.Name}, " ")
}

// audit returns the requests of the controllers so far that name one of these
// objects or namespaces, in the order in which they were answered.
func (w *world) audit(names ...string) []request {
	w.t.Helper()
	raw, err := os.ReadFile(os.Getenv("KUBETAINT_TESTBED_DIR") + "/audit.log")
	w.must(err)
	var requests []request
	for line := range strings.Lines(string(raw)) {
		r := request{}
		if !slices.ContainsFunc(names, func(name string) bool { return strings.Contains(line, name) }) {
			continue
		}
		// The last line may be half written.
		if json.Unmarshal([]byte(line), &r) == nil && strings.HasPrefix(r.UserAgent, "machineapi") {
			requests = append(requests, r)
		}
	}
	return requests
}

// evictions returns when evictions in the test's namespace were tried.
func (w *world) evictions() []time.Time {
	w.t.Helper()
	var times []time.Time
	for _, r := range w.audit(w.namespace) {
		if r.ObjectRef.Namespace == w.namespace && r.ObjectRef.Subresource == "eviction" {
			times = append(times, r.Received)
		}
	}
	return times
}

// attempts waits until so many evictions have been tried, and returns when.
func (w *world) attempts(count int) (times []time.Time) {
	w.t.Helper()
	w.until("evictions are tried", func() (bool, error) {
		times = w.evictions()
		return len(times) >= count, nil
	})
	return times
}

func (w *world) notFound(o client.Object) bool {
	return apierrors.IsNotFound(w.Get(w.t.Context(), client.ObjectKeyFromObject(o), o))
}

// cloudThatNeverBoots provisions Machines whose Nodes do not join while a test
// runs.
func cloudThatNeverBoots() cloud.Spec {
	return cloud.Spec{BootDelay: metav1.Duration{Duration: time.Hour}}
}

// newDaemonSet describes a DaemonSet of one node.
func newDaemonSet(namespace, node string) *appsv1.DaemonSet {
	labels := map[string]string{"app": "daemon"}
	return &appsv1.DaemonSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "daemon"},
		Spec: appsv1.DaemonSetSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{
				NodeSelector: map[string]string{corev1.LabelHostname: node},
				Containers:   []corev1.Container{{Name: "app", Image: "none"}},
			}},
		},
	}
}
