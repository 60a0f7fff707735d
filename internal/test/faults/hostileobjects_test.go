// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package faults_test

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/admission"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/label"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/machineset"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
	taints "github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/fakeapi"
	tolerations "github.com/kubetaint/terraform-provider-kubetaint/internal/toleration"
)

// annotated is an object that may carry a record.
type annotated struct {
	kind, namespace, name string
	annotations, labels   map[string]string
	// of is the object: most of those that look for annotations need no more of it.
	of any
	// put writes the annotations.
	put func(annotations map[string]string)
}

func (o annotated) key() string { return strings.TrimPrefix(o.namespace+"/"+o.name, "/") }

func (o annotated) title() string { return o.kind + ` "` + o.key() + `"` }

// json returns the object as JSON has it.
func (o annotated) json() []byte {
	raw, err := json.Marshal(o.of)
	if err != nil {
		panic(err)
	}
	return raw
}

// content returns the object without its status, read from JSON.
func content(raw []byte) map[string]any {
	var out map[string]any
	if err := json.Unmarshal(raw, &out); err != nil {
		panic(err)
	}
	delete(out, "status")
	return out
}

// annotatedObjects are all objects of the worlds that may carry a record.
func annotatedObjects(api *fakeapi.Server) []annotated {
	out := slices.Concat(
		objectsOf[*corev1.Node](api, "Node"), objectsOf[*corev1.Namespace](api, "Namespace"),
		objectsOf[*appsv1.Deployment](api, "Deployment"), objectsOf[*appsv1.StatefulSet](api, "StatefulSet"), objectsOf[*appsv1.DaemonSet](api, "DaemonSet"),
		objectsOf[*admissionregistrationv1.MutatingAdmissionPolicy](api, admission.PolicyKind), objectsOf[*admissionregistrationv1.MutatingAdmissionPolicyBinding](api, admission.BindingKind),
		objectsOf[*batchv1.CronJob](api, "CronJob"), components(api),
	)
	for _, o := range placedObjects(api) {
		out = append(out, annotatedObject(o.GetKind(), o, o, func(annotations map[string]string) {
			o.SetAnnotations(annotations)
			api.Put(o)
		}))
	}
	for _, plural := range []string{"machinesets", "machines"} {
		for _, o := range api.Custom(machinev1beta1.GroupVersion.WithResource(plural)) {
			out = append(out, annotatedObject(o.GetKind(), o, o, func(annotations map[string]string) {
				o.SetAnnotations(annotations)
				api.Put(o)
			}))
		}
	}
	return out
}

func objectsOf[T interface {
	runtime.Object
	metav1.Object
}](api *fakeapi.Server, kind string) []annotated {
	var out []annotated
	for _, o := range fakeapi.Objects[T](api) {
		out = append(out, annotatedObject(kind, o, o, func(annotations map[string]string) {
			fakeapi.Edit(api, o.GetNamespace(), o.GetName(), func(o T) { o.SetAnnotations(annotations) })
		}))
	}
	return out
}

func annotatedObject(kind string, o metav1.Object, content any, put func(map[string]string)) annotated {
	out := annotated{kind: kind, namespace: o.GetNamespace(), name: o.GetName(), annotations: maps.Clone(o.GetAnnotations()), labels: o.GetLabels(), of: content, put: put}
	if out.annotations == nil {
		out.annotations = map[string]string{}
	}
	return out
}

// ofMachine reports whether an object is a Machine of the MachineSet that is meant, or the node
// of one.
func (o annotated) ofMachine() bool {
	return (o.kind == "Machine" || o.kind == "Node") && strings.HasPrefix(o.name, "ms-")
}

// damaged reports whether an annotation of the object cannot be read.
func (o annotated) damaged(annotation string) bool {
	value := o.annotations[annotation]
	var err error
	switch annotation {
	case taints.OwnedAnnotation:
		_, err = taints.ParseRecord(value)
	case label.OwnedAnnotation:
		_, err = label.ParseRecord(value)
	case tolerations.OwnedAnnotation:
		_, err = tolerations.ParseRecord(value)
	case machineset.MarkerAnnotation:
		_, err = machineset.ParseMarker(value)
	case machineset.RemnantsAnnotation:
		_, err = machineset.ParseRemnants(value)
	case snapshot.AwaitedAnnotation:
		err = damagedAwaited(value)
	}
	return err != nil
}
