// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package faults_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/google/go-cmp/cmp"
	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/fakeapi"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/fakeapi/controllers"
)

// world is what a test compares of a cluster, in lines: all that the provider may write,
// and what controllers make of it. Names of machines and pods are left out.
type world struct {
	lines []string
	// made counts the machines that MachineSets have made.
	made int
}

// random are the parts of ownership records that differ from run to run.
var random = regexp.MustCompile(`"(generation|proof)":"[^"]*"`)

func look(api *fakeapi.Server) world {
	var w world
	add := func(kind string, o metav1.Object, more any) {
		name := o.GetNamespace() + "/" + o.GetName()
		if pool := o.GetLabels()[controllers.PoolLabel]; pool != "" {
			name = "of " + pool
		}
		if owner := metav1.GetControllerOf(o); owner != nil {
			name = "of " + owner.Kind + " " + owner.Name
		}
		annotations := maps.Clone(o.GetAnnotations())
		delete(annotations, "machine.openshift.io/machine")
		raw, err := json.Marshal(map[string]any{"labels": o.GetLabels(), "annotations": annotations, "spec": more})
		if err != nil {
			panic(err)
		}
		w.lines = append(w.lines, kind+" "+name+" "+random.ReplaceAllString(strings.ReplaceAll(string(raw), `\"`, `"`), ""))
	}
	for _, o := range fakeapi.Objects[*corev1.Node](api) {
		for i := range o.Spec.Taints {
			o.Spec.Taints[i].TimeAdded = nil
		}
		add("Node", o, o.Spec)
	}
	for _, o := range fakeapi.Objects[*corev1.Namespace](api) {
		add("Namespace", o, nil)
	}
	for _, o := range fakeapi.Objects[*appsv1.Deployment](api) {
		add("Deployment", o, o.Spec)
	}
	for _, o := range fakeapi.Objects[*appsv1.StatefulSet](api) {
		add("StatefulSet", o, o.Spec)
	}
	for _, o := range fakeapi.Objects[*appsv1.DaemonSet](api) {
		add("DaemonSet", o, o.Spec)
	}
	for _, o := range fakeapi.Objects[*admissionregistrationv1.MutatingAdmissionPolicy](api) {
		add("MutatingAdmissionPolicy", o, o.Spec)
	}
	for _, o := range fakeapi.Objects[*admissionregistrationv1.MutatingAdmissionPolicyBinding](api) {
		add("MutatingAdmissionPolicyBinding", o, o.Spec)
	}
	for _, o := range fakeapi.Objects[*corev1.Pod](api) {
		o.Labels = nil
		add("Pod", o, []any{o.Status.Phase, o.Spec.Tolerations, o.Spec.NodeSelector})
	}
	w.lookAtMachines(api, add)
	slices.Sort(w.lines)
	return w
}

func (w *world) lookAtMachines(api *fakeapi.Server, add func(string, metav1.Object, any)) {
	w.made = api.Created(controllers.Machines)
	for _, plural := range []string{"machinesets", "machines"} {
		for _, o := range api.Custom(machinev1beta1.GroupVersion.WithResource(plural)) {
			add(o.GetKind(), o, o.Object["spec"])
		}
	}
}

// difference returns where another world differs. Fewer machines may have been made there,
// but not more.
func (w world) difference(other world) string {
	if other.made > w.made {
		return fmt.Sprintf("%d machines were made, and an undisturbed apply makes %d", other.made, w.made)
	}
	return cmp.Diff(w.lines, other.lines)
}
