// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package faults_test

import (
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/fakeapi"
)

// spoofAzure is spoof with a command of Azure Pipelines, which need not begin a line.
const spoofAzure = "##vso[task.setvariable variable=told]" + spoof

// TestHostileText_ofObjects fills the texts that a cluster takes from a user who may write an object: the Machine that a
// node names, what Machines and MachineSets say of themselves, the owners of workloads and pods, and the names of
// field managers. No warning, error or attribute prints one as it is.
func TestHostileText_ofObjects(t *testing.T) {
	t.Parallel()
	acctest.TooLong(t)
	for _, s := range hostileSubjects() {
		if s.action || !due(s) {
			continue
		}
		t.Run(s.name(), func(t *testing.T) {
			t.Parallel()
			bubble(t, moment{api: fakeapi.New(s.kinds...)}, func(t *testing.T, api *fakeapi.Server) {
				s.world(api)
				time.Sleep(calm)
				i, told := acctest.Instance{Type: "kubetaint_" + s.typeName}, ""
				if d := through(api.Client()).Apply(t, &i, s.first); d.Errors() != "" {
					t.Fatal(d.Errors())
				}
				time.Sleep(calm)
				spoofObjects(t, api)
				time.Sleep(calm)
				note := func(i *acctest.Instance, d acctest.Diagnostics) {
					told += d.Errors() + d.Warnings()
					if i.Exists() {
						told += fmt.Sprint(through(api.Client()).Attributes(t, i))
					}
				}
				fresh := acctest.Instance{Type: i.Type}
				note(&fresh, through(api.Client()).Plan(t, &fresh, s.second).Diagnostics)
				note(&i, through(api.Client()).Plan(t, &i, s.second).Diagnostics)
				note(&i, through(api.Client()).Apply(t, &i, s.second))
				note(&i, through(api.Client()).Apply(t, &i, nil))
				if spoofs(told) || strings.Contains(told, "##vso[") {
					t.Errorf("printed: %q", told)
				}
			})
		})
	}
}

// TestHostileText_ofActions fills the same texts, the owners of pods, and what an earlier drain has recorded: neither
// a diagnostic of an action nor what it tells while it runs prints one as it is.
func TestHostileText_ofActions(t *testing.T) {
	t.Parallel()
	for _, s := range hostileSubjects() {
		if !s.action || !due(s) && s.strategy != "rolling" {
			continue
		}
		t.Run(s.name(), func(t *testing.T) {
			t.Parallel()
			bubble(t, moment{api: fakeapi.New(s.kinds...)}, func(t *testing.T, api *fakeapi.Server) {
				s.world(api)
				time.Sleep(calm)
				spoofObjects(t, api)
				spoofOwners[*corev1.Pod](api)
				cordonPool(api)
				for _, n := range fakeapi.Objects[*corev1.Node](api) {
					fakeapi.Edit(api, "", n.Name, func(n *corev1.Node) {
						recorded := fmt.Sprintf(`[{"group":%[1]q,"kind":%[1]q,"namespace":"shop","name":%[1]q,"pods":1},{"group":"apps","kind":"Deployment","namespace":"shop","name":"web","pods":1}]`, "x\n::error::y##vso[")
						metav1.SetMetaDataAnnotation(&n.ObjectMeta, snapshot.AwaitedAnnotation, recorded)
					})
				}
				time.Sleep(calm)
				walk := through(api.Client()).Walk(t)
				config := acctest.With(s.first, object{"timeout": "5m"})
				d := walk.Invoke("kubetaint_"+s.typeName, config)
				if len(walk.Progress) == 0 && strings.HasPrefix(s.strategy, "scale_to_zero") {
					// A MachineAutoscaler has it refused: see what it says without one as well.
					withoutAutoscalers(api)
					walk = through(api.Client()).Walk(t)
					d = append(d, walk.Invoke("kubetaint_"+s.typeName, config)...)
				}
				told := d.Errors() + d.Warnings() + strings.Join(walk.Progress, "\n")
				if len(walk.Progress) == 0 {
					t.Errorf("it has told nothing while it ran: %s", told)
				}
				if spoofs(told) || strings.Contains(told, "##vso[") {
					t.Errorf("printed: %q", told)
				}
			})
		})
	}
}

// withoutAutoscalers takes the MachineAutoscalers of MachineSets away.
func withoutAutoscalers(api *fakeapi.Server) {
	for _, o := range api.Custom(machinev1beta1.GroupVersion.WithResource("machinesets")) {
		o = o.DeepCopy()
		annotations := o.GetAnnotations()
		delete(annotations, "autoscaling.openshift.io/machineautoscaler")
		delete(annotations, "machine.openshift.io/cluster-api-autoscaler-node-group-max-size")
		o.SetAnnotations(annotations)
		api.Put(o)
	}
}

// spoofObjects fills the texts of all objects.
func spoofObjects(t *testing.T, api *fakeapi.Server) {
	t.Helper()
	for _, n := range fakeapi.Objects[*corev1.Node](api) {
		fakeapi.Edit(api, "", n.Name, func(n *corev1.Node) {
			metav1.SetMetaDataAnnotation(&n.ObjectMeta, "machine.openshift.io/machine", spoofAzure)
		})
	}
	spoofOwners[*appsv1.Deployment](api)
	spoofOwners[*appsv1.StatefulSet](api)
	spoofOwners[*appsv1.DaemonSet](api)
	for plural, fields := range map[string]map[string]any{
		"machinesets": {"spec template metadata labels machine.openshift.io/cluster-api-machine-role": spoofAzure},
		"machines": {
			"spec lifecycleHooks preDrain": []any{map[string]any{"name": spoofAzure, "owner": spoofAzure}},
			"status errorMessage":          spoofAzure, "status phase": spoofAzure,
		},
	} {
		for _, o := range api.Custom(machinev1beta1.GroupVersion.WithResource(plural)) {
			o = o.DeepCopy()
			spoofMeta(o)
			annotations := map[string]string{
				"autoscaling.openshift.io/machineautoscaler": spoofAzure, "capacity.cluster-autoscaler.kubernetes.io/taints": spoofAzure,
				"machine.openshift.io/cluster-api-autoscaler-node-group-max-size": "9",
			}
			maps.Copy(annotations, o.GetAnnotations())
			o.SetAnnotations(annotations)
			for at, value := range fields {
				if err := unstructured.SetNestedField(o.Object, value, strings.Fields(at)...); err != nil {
					t.Fatal(err)
				}
			}
			api.Put(o)
		}
	}
}

// spoofOwners fills the owners and field managers of all objects of a kind.
func spoofOwners[T interface {
	runtime.Object
	metav1.Object
}](api *fakeapi.Server) {
	for _, o := range fakeapi.Objects[T](api) {
		fakeapi.Edit(api, o.GetNamespace(), o.GetName(), func(o T) {
			spoofMeta(o)
			o.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: "example.com/v1", Kind: spoofAzure, Name: spoofAzure, UID: "spoofed", Controller: ptr.To(true)}})
		})
	}
}

// spoofMeta has a manager of a hostile name write all that the provider writes. The API server takes printable
// characters alone for it (k8s.io/apimachinery v0.37.2 pkg/apis/meta/v1/validation/validation.go, ValidateFieldManager).
func spoofMeta(o metav1.Object) {
	fields := `{"f:spec":{"f:replicas":{},"f:template":{"f:spec":{"f:tolerations":{},"f:taints":{},"f:nodeSelector":{"f:dedicated":{}}}}}}`
	o.SetManagedFields(append(o.GetManagedFields(), metav1.ManagedFieldsEntry{
		Manager: "::error::##vso[told]", Operation: metav1.ManagedFieldsOperationUpdate, FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(fields),
	}))
}
