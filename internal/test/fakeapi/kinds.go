// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package fakeapi

import (
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/client-go/kubernetes/scheme"
)

var (
	types  = newScheme()
	codecs = serializer.NewCodecFactory(types)
)

func newScheme() *runtime.Scheme {
	s := runtime.NewScheme()
	utilruntime.Must(scheme.AddToScheme(s))
	utilruntime.Must(metav1.AddMetaToScheme(s))
	return s
}

// Kind is a kind of object that the server serves.
type Kind struct {
	schema.GroupVersionKind
	// Plural is the resource's name in the API.
	Plural string
	// Cluster is set for objects without a namespace.
	Cluster bool
	// Generation is set where metadata.generation counts the changes of the spec.
	Generation bool
	// Status is set where the status is written by its own subresource alone.
	Status bool
	// Custom is set for custom resources, which are served in JSON alone.
	Custom bool
	// Validate returns what is wrong with an object that takes the place of another one, of none where
	// that is nil; nil where every object will do.
	Validate func(old, object runtime.Object) field.ErrorList
}

// Resource returns the kind's resource in the API.
func (k *Kind) Resource() schema.GroupVersionResource {
	return k.GroupVersion().WithResource(k.Plural)
}

// CustomKind returns a custom resource with a status subresource.
func CustomKind(apiVersion, kind, plural string) Kind {
	return Kind{GroupVersionKind: schema.FromAPIVersionAndKind(apiVersion, kind), Plural: plural, Generation: true, Status: true, Custom: true}
}

// builtin are the kinds that every server serves. Which of them count generations follows
// the strategies in k8s.io/kubernetes v1.37.2 pkg/registry.
func builtin() []Kind {
	core, apps, batch := corev1.SchemeGroupVersion, appsv1.SchemeGroupVersion, batchv1.SchemeGroupVersion
	admission, storage := admissionregistrationv1.SchemeGroupVersion, storagev1.SchemeGroupVersion
	return []Kind{
		{GroupVersionKind: core.WithKind("ConfigMap"), Plural: "configmaps"},
		{GroupVersionKind: core.WithKind("LimitRange"), Plural: "limitranges"},
		{GroupVersionKind: core.WithKind("Namespace"), Plural: "namespaces", Cluster: true, Status: true},
		{GroupVersionKind: core.WithKind("Node"), Plural: "nodes", Cluster: true, Status: true, Validate: validNode},
		{GroupVersionKind: core.WithKind("PersistentVolume"), Plural: "persistentvolumes", Cluster: true, Status: true},
		{GroupVersionKind: core.WithKind("PersistentVolumeClaim"), Plural: "persistentvolumeclaims", Status: true},
		{GroupVersionKind: core.WithKind("Pod"), Plural: "pods", Generation: true, Status: true, Validate: validPod},
		{GroupVersionKind: core.WithKind("ReplicationController"), Plural: "replicationcontrollers", Generation: true, Status: true},
		{GroupVersionKind: core.WithKind("ResourceQuota"), Plural: "resourcequotas", Status: true},
		{GroupVersionKind: apps.WithKind("ControllerRevision"), Plural: "controllerrevisions"},
		{GroupVersionKind: apps.WithKind("DaemonSet"), Plural: "daemonsets", Generation: true, Status: true},
		{GroupVersionKind: apps.WithKind("Deployment"), Plural: "deployments", Generation: true, Status: true},
		{GroupVersionKind: apps.WithKind("ReplicaSet"), Plural: "replicasets", Generation: true, Status: true},
		{GroupVersionKind: apps.WithKind("StatefulSet"), Plural: "statefulsets", Generation: true, Status: true},
		{GroupVersionKind: batch.WithKind("CronJob"), Plural: "cronjobs", Generation: true, Status: true},
		{GroupVersionKind: batch.WithKind("Job"), Plural: "jobs", Generation: true, Status: true},
		{GroupVersionKind: policyv1.SchemeGroupVersion.WithKind("PodDisruptionBudget"), Plural: "poddisruptionbudgets", Generation: true, Status: true},
		{GroupVersionKind: schedulingv1.SchemeGroupVersion.WithKind("PriorityClass"), Plural: "priorityclasses", Cluster: true, Generation: true},
		{GroupVersionKind: storage.WithKind("CSIDriver"), Plural: "csidrivers", Cluster: true},
		{GroupVersionKind: storage.WithKind("CSINode"), Plural: "csinodes", Cluster: true},
		{GroupVersionKind: storage.WithKind("CSIStorageCapacity"), Plural: "csistoragecapacities"},
		{GroupVersionKind: storage.WithKind("StorageClass"), Plural: "storageclasses", Cluster: true},
		{GroupVersionKind: admission.WithKind("MutatingAdmissionPolicy"), Plural: "mutatingadmissionpolicies", Cluster: true, Generation: true},
		{GroupVersionKind: admission.WithKind("MutatingAdmissionPolicyBinding"), Plural: "mutatingadmissionpolicybindings", Cluster: true, Generation: true},
		{GroupVersionKind: admission.WithKind("MutatingWebhookConfiguration"), Plural: "mutatingwebhookconfigurations", Cluster: true, Generation: true},
		{GroupVersionKind: admission.WithKind("ValidatingWebhookConfiguration"), Plural: "validatingwebhookconfigurations", Cluster: true, Generation: true},
	}
}
