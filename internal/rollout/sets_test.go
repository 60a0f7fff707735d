// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package rollout

import (
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/eviction"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/kube"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/machineset"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/planner"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/fakeapi"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/fakeapi/controllers"
)

// ofMachineAPI is an object of OpenShift's Machine API, as the fake API server stores it.
func ofMachineAPI(t *testing.T, kind string, object any) *unstructured.Unstructured {
	t.Helper()
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		t.Fatal(err)
	}
	out := &unstructured.Unstructured{Object: fields}
	out.SetGroupVersionKind(machinev1beta1.GroupVersion.WithKind(kind))
	return out
}

// TestRun_countsOfMachineSetsWhatThePlanCounts: tolerations that another resource of the run
// plans, and that may come before the taints or after them, count in the check right before the
// first write as they do in the plan.
func TestRun_countsOfMachineSetsWhatThePlanCounts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		api := fakeapi.New(controllers.MachineAPI...)
		t.Cleanup(func() {
			api.Close()
			// Watches outlive the last user of a cluster.
			time.Sleep(2 * time.Minute)
		})
		set := &machinev1beta1.MachineSet{ObjectMeta: metav1.ObjectMeta{Namespace: machineset.OperatorNamespace, Name: "gpu", UID: "gpu"}}
		set.Spec.Replicas, set.Status.ObservedGeneration = ptr.To[int32](1), 1
		machine := &machinev1beta1.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: set.Namespace, Name: "m1", OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(set, machinev1beta1.GroupVersion.WithKind("MachineSet"))}}}
		machine.Status.NodeRef, machine.Status.Phase = &corev1.ObjectReference{Name: "n1"}, ptr.To("Running")
		web := aSet("web", 1)
		pod := &corev1.Pod{
			TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
			ObjectMeta: metav1.ObjectMeta{Namespace: web.Namespace, Name: "web-0", OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(web, appsv1.SchemeGroupVersion.WithKind("StatefulSet"))}},
			Spec:       corev1.PodSpec{NodeName: "n1", NodeSelector: map[string]string{"no": "node"}}, Status: corev1.PodStatus{Phase: corev1.PodRunning},
		}
		node := aNode("n1", "gpu")
		status := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceSystem, Name: "cluster-autoscaler-status"}, Data: map[string]string{
			"status": "nodeGroups:\n- name: gpu-a\n  health: {cloudProviderTarget: 1, maxSize: 3}\n",
		}}
		api.Add(ofMachineAPI(t, "MachineSet", set), ofMachineAPI(t, "Machine", machine), node, pod, status)
		c, err := kube.New(kube.Config{Host: fakeapi.Host, Transport: api.Client()})
		if err != nil {
			t.Fatal(err)
		}
		release, err := c.FollowMachines(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(release)
		added, err := taint.Parse(teamA)
		if err != nil {
			t.Fatal(err)
		}
		none, shared := int64(0), &planner.Shared{}
		key := snapshot.WorkloadKey{Namespace: web.Namespace, Owner: snapshot.Owner{Group: "apps", Kind: "StatefulSet", Name: "web"}}
		shared.Note("tolerations", []planner.PlannedTolerations{{Pods: []snapshot.WorkloadKey{key}, After: []corev1.Toleration{taint.TolerationFor(added)}}})
		// The check before the first write of all comes before any wait; this is the one after it.
		_, err = carry(t.Context(), c, Request{
			Owner: "me", Shared: shared, Limits: eviction.Limits{MaxPods: &none}, Machines: Machines{Slots: &Slots{}},
			MachineSets: &planner.DesiredSets{
				Target:  machineset.Target{Namespace: set.Namespace, Name: set.Name},
				Desired: machineset.Desired{Claim: taint.Claim{Owner: "me", Generation: generation, Taints: []corev1.Taint{added}}, Rollout: machineset.Rollout{Strategy: machineset.InPlace}},
			},
		}, hooks{})
		over := new(LimitsError)
		if !errors.As(err, &over) {
			t.Fatalf("got %v, want that the limits do not allow it", err)
		}
		if got := over.Report.Pods; len(got) != 1 || got[0].Verdict != eviction.Unknown || over.Exceeded[0].Certain {
			t.Errorf("it counts %v, want one pod whose outcome is unknown", got)
		}
		if !slices.Equal(over.Unmodelled.NodeGroups, []string{"gpu-a"}) {
			t.Errorf("it names the node groups %q", over.Unmodelled.NodeGroups)
		}
	})
}
