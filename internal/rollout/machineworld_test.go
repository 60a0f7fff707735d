// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package rollout

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/kube"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/machineset"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/fakeapi"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/fakeapi/controllers"
)

// pool is the MachineSet of a machineWorld.
const pool = machineset.OperatorNamespace + "/pool"

// machineWorld is an API server with a MachineSet, whose controllers run or stand still.
type machineWorld struct {
	api     *fakeapi.Server
	client  *fakeapi.Client
	cluster *kube.Cluster

	mu sync.Mutex
	// done are the writes that were carried out, such as "patch machines"; tried counts all
	// of them.
	done  []string
	tried int
	// before decides about a write, 0 carries it out; after is called once it is carried
	// out, before its answer. Neither must wait.
	before func(r fakeapi.Request, nth int) int
	after  func(r fakeapi.Request, nth int)
}

// newMachineWorld has a MachineSet of so many machines with the taints, which are
// not owned. It must be called inside a bubble.
func newMachineWorld(t *testing.T, replicas int32, notations ...string) *machineWorld {
	t.Helper()
	w := &machineWorld{api: fakeapi.New(controllers.MachineAPI...)}
	t.Cleanup(func() {
		w.api.Close()
		// Watches outlive the last user of a cluster.
		time.Sleep(2 * time.Minute)
	})
	w.api.Add(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: machineset.OperatorNamespace}})
	s := &machinev1beta1.MachineSet{ObjectMeta: metav1.ObjectMeta{Namespace: machineset.OperatorNamespace, Name: "pool", UID: "uid-of-pool"}}
	s.Spec.Replicas = &replicas
	for _, one := range notations {
		s.Spec.Template.Spec.Taints = append(s.Spec.Template.Spec.Taints, parsed(one))
	}
	w.put("MachineSet", s)
	w.client = w.api.Client()
	w.client.OnRequest(func(r fakeapi.Request) fakeapi.Fault {
		if !r.Write() {
			return fakeapi.None
		}
		w.tried++
		if w.before == nil {
			return fakeapi.None
		}
		return fakeapi.Fault(w.before(r, w.tried))
	})
	w.client.OnAnswer(func(r fakeapi.Request, status int) {
		if !r.Write() || status != http.StatusOK {
			return
		}
		w.mu.Lock()
		w.done = append(w.done, r.Verb+" "+r.Resource)
		nth := len(w.done)
		w.mu.Unlock()
		if w.after != nil {
			w.after(r, nth)
		}
	})
	return w
}

func parsed(notation string) corev1.Taint {
	one, err := taint.Parse(notation)
	if err != nil {
		panic(err)
	}
	return one
}

// run starts the controllers, and returns when all machines run.
func (w *machineWorld) run() {
	controllers.Start(w.api)
	time.Sleep(10 * time.Second)
}

// follow follows the machines, and pods and nodes beside them.
func (w *machineWorld) follow(t *testing.T) *kube.Cluster {
	t.Helper()
	c, err := kube.New(kube.Config{Host: fakeapi.Host, Transport: w.client})
	if err != nil {
		t.Fatal(err)
	}
	release, err := c.FollowMachines(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(release)
	w.cluster = c
	return c
}

func (w *machineWorld) put(kind string, object any) {
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		panic(err)
	}
	u := &unstructured.Unstructured{Object: fields}
	u.SetGroupVersionKind(machinev1beta1.GroupVersion.WithKind(kind))
	w.api.Put(u)
}

// edit is a write of another client to the MachineSet, without a guard: a controller may
// write in between.
func (w *machineWorld) edit(change func(*unstructured.Unstructured)) {
	u := w.sets()[0]
	u.SetResourceVersion("")
	change(u)
	w.api.Put(u)
}

func (w *machineWorld) sets() []*unstructured.Unstructured {
	return w.api.Custom(machinev1beta1.GroupVersion.WithResource("machinesets"))
}

func (w *machineWorld) machines() []*unstructured.Unstructured {
	return w.api.Custom(controllers.Machines)
}

// taints writes the taints of an object of the Machine API.
func taintsOf(u *unstructured.Unstructured, path ...string) string {
	list, _, _ := unstructured.NestedSlice(u.Object, path...)
	var out []string
	for _, one := range list {
		fields, _ := one.(map[string]any)
		t := corev1.Taint{Key: fmt.Sprint(fields["key"]), Effect: corev1.TaintEffect(fmt.Sprint(fields["effect"]))}
		if value, has := fields["value"]; has {
			t.Value = fmt.Sprint(value)
		}
		out = append(out, taint.Format(t))
	}
	return strings.Join(out, " ")
}

// state tells the replicas, the template, the machines and the nodes, each with its taints,
// and what is written beside them. Machines that are the same are counted.
func (w *machineWorld) state() []string {
	s := w.sets()[0]
	replicas, _, _ := unstructured.NestedInt64(s.Object, "spec", "replicas")
	out := []string{fmt.Sprintf("%d wanted with %s", replicas, taintsOf(s, "spec", "template", "spec", "taints"))}
	if s.GetAnnotations()[machineset.MarkerAnnotation] != "" {
		out = append(out, "a rollout goes on")
	}
	nodes := map[string]*corev1.Node{}
	for _, n := range fakeapi.Objects[*corev1.Node](w.api) {
		nodes[n.Name] = n
	}
	for _, m := range w.machines() {
		line := m.GetName() + " with " + taintsOf(m, "spec", "taints")
		if m.GetDeletionTimestamp() != nil {
			line += " being deleted"
		}
		if n := nodes[m.GetName()]; n != nil {
			var taints []string
			for _, t := range n.Spec.Taints {
				taints = append(taints, taint.Format(t))
			}
			line += ", node with " + strings.Join(taints, " ")
		}
		out = append(out, line)
	}
	return out
}
