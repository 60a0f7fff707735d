// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package acctest

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// BeforeWrite calls a function when the provider is about to make the write after so
// many that were carried out: one that another writer came in between of does not count.
// It goes on to the API server once the function has returned. Writes must go in
// turn.
func (p *Proxy) BeforeWrite(after int64, disturb func(Request)) {
	var written atomic.Int64
	var once sync.Once
	p.Spoil(func(r Request) Fault {
		if r.Write() && written.Load() == after {
			once.Do(func() { disturb(r) })
		}
		return None
	})
	p.After(func(r Request) {
		if r.Written() {
			written.Add(1)
		}
	})
}

// Disturbed applies a configuration, calls a function right before the second write, when
// a rollout has begun, and returns the errors. The function may wait until a watch has
// shown a text to the provider.
func (c *Cluster) Disturbed(t testing.TB, i *Instance, config map[string]any, disturb func(r Request, shown func(text string))) string {
	t.Helper()
	proxy := c.Proxy(t)
	proxy.InTurn()
	shown := proxy.Showing(t)
	tf, called := &Terraform{Provider: proxy.Provider(t, c)}, false
	planned := tf.Plan(t, i, config)
	if planned.Diagnostics.Errors() != "" {
		t.Fatal(planned.Diagnostics.Errors())
	}
	proxy.BeforeWrite(1, func(r Request) { called = true; disturb(r, shown) })
	errors := tf.Carry(t, i, planned, config).Errors()
	if !called {
		t.Fatalf("the apply ended before its second write: %s", errors)
	}
	return errors
}

// Written reports whether the request has changed something. It is known where writes go
// in turn.
func (r Request) Written() bool {
	return r.Write() && r.Status >= http.StatusOK && r.Status < http.StatusMultipleChoices
}

// Scale sets spec.replicas as an autoscaler does: by the scale subresource, and
// without a guard (openshift/kubernetes-autoscaler, openshift_unstructured.go).
func (p *Pool) Scale(replicas int) {
	p.t.Helper()
	patch := fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, replicas)
	if p.c.api != nil {
		// The in-memory API server has no scale subresource: the MachineSet looks the same.
		p.c.Change(p.t, p.Thing, "cluster-autoscaler", string(patch))
		return
	}
	_, err := p.c.things(p.t, p.Thing).Patch(p.t.Context(), p.Name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: "cluster-autoscaler"}, "scale")
	must(p.t, err)
}

// DeleteAndWait deletes the MachineSet, and waits until it is gone. Its machines go after it.
func (p *Pool) DeleteAndWait() {
	p.t.Helper()
	p.c.Remove(p.t, p.Thing)
}

// Recreate deletes the MachineSet, and makes another one of its name, as it was at
// first. It returns the UID of the new one.
func (p *Pool) Recreate() string {
	p.t.Helper()
	p.DeleteAndWait()
	return string(p.c.Make(p.t, p.Thing, p.content).GetUID())
}

// Lose deletes a machine, as a person does, unless it is gone already, and waits until
// it is.
func (p *Pool) Lose(name string) {
	p.t.Helper()
	if err := p.c.things(p.t, p.machine(name)).Delete(p.t.Context(), name, metav1.DeleteOptions{}); !apierrors.IsNotFound(err) {
		must(p.t, err)
	}
	Until(p.t, "machine "+name+" is gone", func(ctx context.Context) (bool, error) {
		_, err := p.c.things(p.t, p.machine(name)).Get(ctx, name, metav1.GetOptions{})
		return apierrors.IsNotFound(err), nil
	})
}

// ChangeCloud changes what the cloud does for the machines that exist, and for those
// that are made later, by a merge patch of the providerSpec's value.
func (p *Pool) ChangeCloud(value string) {
	p.t.Helper()
	p.ChangeCloudOfNew(value)
	for name := range p.Machines() {
		p.c.Change(p.t, p.machine(name), "admin", `{"spec":{"providerSpec":{"value":`+value+`}}}`)
	}
}

// ChangeCloudOfNew does so for the machines that are made later alone.
func (p *Pool) ChangeCloudOfNew(value string) {
	p.t.Helper()
	p.c.Change(p.t, p.Thing, "admin", `{"spec":{"template":{"spec":{"providerSpec":{"value":`+value+`}}}}}`)
}

// AddToTemplate adds taints to the MachineSet's template, as an administrator does.
func (p *Pool) AddToTemplate(notation string) {
	p.t.Helper()
	taints, err := json.Marshal(append(p.set().Spec.Template.Spec.Taints, Parse(p.t, notation)...))
	must(p.t, err)
	p.c.Change(p.t, p.Thing, "admin", `{"spec":{"template":{"spec":{"taints":`+string(taints)+`}}}}`)
}

// Base is the last part of a request's path: the name of an object, if it is about
// one.
func (r Request) Base() string {
	return r.Path[strings.LastIndex(r.Path, "/")+1:]
}

// Keep has Recreate make the MachineSet as it stands now, annotations included.
func (p *Pool) Keep() {
	p.t.Helper()
	object := p.c.Look(p.t, p.Thing)
	p.content = map[string]any{"metadata": map[string]any{"labels": object.GetLabels(), "annotations": object.GetAnnotations()}, "spec": object.Object["spec"]}
}

// DeleteForeground deletes the MachineSet in the foreground: it stays, and its controller makes no
// machine any more, until the last of its machines is gone.
func (p *Pool) DeleteForeground() {
	p.t.Helper()
	policy := metav1.DeletePropagationForeground
	must(p.t, p.c.things(p.t, p.Thing).Delete(p.t.Context(), p.Name, metav1.DeleteOptions{PropagationPolicy: &policy}))
}

// LeaveAtZero is how a rollout that scales to zero, of the resource of this id, leaves the
// MachineSet where its process is killed there. It returns once the machines are gone.
func (p *Pool) LeaveAtZero(id string) {
	p.t.Helper()
	marker, err := json.Marshal(map[string]any{"id": id, "strategy": "scale_to_zero", "originalReplicas": p.Replicas(), "targetTaints": []string{}, "startedAt": time.Now().UTC()})
	must(p.t, err)
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": map[string]any{"kubetaint.io/rollout": string(marker)}}, "spec": map[string]any{"replicas": 0}})
	must(p.t, err)
	p.c.Change(p.t, p.Thing, "terraform-provider-kubetaint", string(patch))
	Until(p.t, "the machines are gone", func(context.Context) (bool, error) { return len(p.Names()) == 0, nil })
}
