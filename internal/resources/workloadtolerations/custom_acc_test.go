// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package workloadtolerations_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
)

// noPods are rights to workloads without any to pods.
var noPods = []rbacv1.PolicyRule{
	{APIGroups: []string{""}, Resources: []string{"namespaces"}, Verbs: []string{"get"}},
	{APIGroups: []string{""}, Resources: []string{"nodes"}, Verbs: []string{"get", "list", "watch"}},
	{APIGroups: []string{"apps"}, Resources: []string{"deployments", "replicasets"}, Verbs: []string{"get", "list", "patch"}},
}

// version is a ClusterServiceVersion as owner references name it.
func version(name, uid string) *unstructured.Unstructured {
	owner := &unstructured.Unstructured{}
	owner.SetAPIVersion("operators.coreos.com/v1alpha1")
	owner.SetKind("ClusterServiceVersion")
	owner.SetName(name)
	owner.SetUID(types.UID(uid))
	return owner
}

// place makes a namespace of OpenShift's, which stays for other tests.
func (s *shop) place(namespace string) *shop {
	s.t.Helper()
	_, err := s.c.Admin.CoreV1().Namespaces().Create(s.t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		s.t.Fatal(err)
	}
	out := *s
	out.namespace = namespace
	return &out
}

// operator is an object by which an operator takes tolerations, and what it makes
// of it.
type operator struct {
	object, operand acctest.Thing
	there           *shop
	path            []string
}

const subscriptionDefinition = `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"subscriptions.operators.coreos.com"},
"spec":{"group":"operators.coreos.com","scope":"Namespaced","names":{"plural":"subscriptions","singular":"subscription","kind":"Subscription"},
"versions":[{"name":"v1alpha1","served":true,"storage":true,"subresources":{"status":{}},"schema":{"openAPIV3Schema":{"type":"object","required":["spec"],"properties":{
"spec":{"type":"object","required":["name"],"x-kubernetes-preserve-unknown-fields":true,"properties":{"name":{"type":"string"}}},"status":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}}}}]}}`

// operators makes an object of each kind of OpenShift's with its operand.
var operators = map[string]func(s *shop) operator{
	"IngressController": func(s *shop) operator {
		s.c.OpenShiftKind(s.t, schema.GroupVersionResource{Group: "operator.openshift.io", Version: "v1", Resource: "ingresscontrollers"},
			"operator", "v1", "zz_generated.crd-manifests", "0000_50_ingress_00_ingresscontrollers-Default.crd.yaml")
		object := s.custom(s.thing("IngressController", acctest.Name(s.t, "web")), map[string]any{"replicas": 2})
		there := s.place("openshift-ingress")
		return operator{object: object, there: there, operand: there.make("Deployment", "router-"+object.Name, 2, "", nil)}
	},
	"DNS": func(s *shop) operator {
		s.c.OpenShiftKind(s.t, schema.GroupVersionResource{Group: "operator.openshift.io", Version: "v1", Resource: "dnses"},
			"operator", "v1", "zz_generated.crd-manifests", "0000_70_dns_00_dnses.crd.yaml")
		object := s.thing("DNS", acctest.Name(s.t, "dns"))
		object.Namespace = ""
		s.custom(object, map[string]any{"logLevel": "Normal"})
		there := s.place("openshift-dns")
		return operator{object: object, there: there, operand: there.make("DaemonSet", "dns-"+object.Name, 1, "", nil)}
	},
	"Config": func(s *shop) operator {
		s.c.OpenShiftKind(s.t, schema.GroupVersionResource{Group: "imageregistry.operator.openshift.io", Version: "v1", Resource: "configs"},
			"imageregistry", "v1", "zz_generated.crd-manifests", "00_configs.crd.yaml")
		object := s.thing("Config", "cluster")
		object.Namespace = ""
		s.custom(object, map[string]any{"managementState": "Managed", "replicas": 1})
		there := s.place("openshift-image-registry")
		return operator{object: object, there: there, operand: there.make("Deployment", "image-registry", 1, "", nil)}
	},
	"Subscription": func(s *shop) operator {
		s.c.Define(s.t, schema.GroupVersionResource{Group: "operators.coreos.com", Version: "v1alpha1", Resource: "subscriptions"}, subscriptionDefinition)
		object := s.custom(s.thing("Subscription", acctest.Name(s.t, "gpu")), map[string]any{"name": "gpu-operator"})
		s.c.ChangeStatus(s.t, object, `{"status":{"installedCSV":"gpu-operator.v1","currentCSV":"gpu-operator.v2"}}`)
		operand := s.make("Deployment", acctest.Name(s.t, "operator"), 2, "", nil)
		s.c.SetOwner(s.t, operand, version("gpu-operator.v1", "11111111-1111-1111-1111-111111111111"))
		other := s.make("Deployment", acctest.Name(s.t, "other"), 1, "", nil)
		s.c.SetOwner(s.t, other, version("other-operator.v1", "22222222-2222-2222-2222-222222222222"))
		return operator{object: object, there: s, operand: operand}
	},
	"Widget": func(s *shop) operator {
		object := s.widget(acctest.Name(s.t, "widget"), nil)
		operand := s.make("StatefulSet", acctest.Name(s.t, "operand"), 2, "", nil)
		s.c.SetOwner(s.t, operand, s.c.Look(s.t, object))
		s.make("StatefulSet", acctest.Name(s.t, "other"), 1, "", nil)
		return operator{object: object, there: s, operand: operand, path: strings.Split(acctest.WidgetPath, ".")}
	},
	"Gadget": func(s *shop) operator {
		object := s.gadget(nil)
		operand := s.make("DaemonSet", acctest.Name(s.t, "operand"), 1, "", nil)
		s.c.SetOwner(s.t, operand, s.c.Look(s.t, object))
		return operator{object: object, there: s, operand: operand, path: strings.Split(acctest.WidgetPath, ".")}
	},
}

// TestAccWorkloadTolerations_operatorsObjects writes to the object that an operator
// takes tolerations from, waits for the pods of what the operator makes of it, and
// leaves the object as it was.
func TestAccWorkloadTolerations_operatorsObjects(t *testing.T) {
	t.Parallel()
	for name, open := range operators {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := openShop(t)
			o := open(s)
			more := map[string]any{}
			if o.path == nil {
				o.path = s.pathOf(name)
			} else {
				more["path"] = acctest.WidgetPath
				s.managesWidgets()
			}
			before := s.c.Look(t, o.object).Object["spec"]
			config := s.manage(o.object, "team=a:NoExecute spot*", more)
			i := s.fresh()

			// The wait goes on until the operator has followed.
			begin := s.c.Operate(t, o.object, o.path, o.operand, s.pathOf(o.operand.Kind))
			done := make(chan acctest.Diagnostics)
			go func() { done <- s.tf.Apply(t, i, config) }()
			s.until("the object has the tolerations", func() bool { return len(s.standing(o.object, o.path)) == 2 })
			pods := o.there.live(o.operand.Name)
			select {
			case d := <-done:
				t.Fatalf("the apply has not waited for the pods: %s%s", d.Errors(), d.Warnings())
			default:
			}
			begin()
			d := <-done
			if d.Errors() != "" {
				t.Fatal(d.Errors())
			}
			says(t, "warning", d.Warnings(), fmt.Sprintf("restarts %d pod", len(pods)))
			if strings.Contains(d.Warnings(), "are not known") {
				t.Fatalf("its pods are known, and the plan says: %s", d.Warnings())
			}
			o.there.wantPods(o.operand.Name, len(pods), "team=a:NoExecute spot*", o.operand.Kind)
			s.quiet(i, config)
			if got := formatted(s.standing(o.object, o.path)); got != "spot Exists, team=a:NoExecute" || len(s.record(o.object)) != 2 {
				t.Fatalf("the object has %s and the record %v", got, s.record(o.object))
			}
			s.destroy(i)
			after := s.c.Look(t, o.object)
			if diff := cmp.Diff(before, after.Object["spec"]); diff != "" || len(after.GetAnnotations()) > 0 {
				t.Fatalf("the object is not as it was: %s%v", diff, after.GetAnnotations())
			}
		})
	}
}
