// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package kube

import (
	gocmp "cmp"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/label"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/fakeapi"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/toleration"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/workload"
)

func TestMarkedOf_takesAnObjectsOwnRecordsAndNotThoseThatAControllerCopied(t *testing.T) {
	t.Parallel()
	tolerations := `[{"key":"team","operator":"Equal","value":"a","effect":"NoExecute","owner":"me","generation":"g1"}]`
	pins := `[{"key":"dedicated","owner":"me","generation":"g1"}]`
	controlledBy := func(kind string) []metav1.OwnerReference {
		yes := true
		return []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: kind, Name: "web", Controller: &yes}}
	}
	for name, tt := range map[string]struct {
		kind         string
		apiVersion   string
		annotations  map[string]string
		owners       []metav1.OwnerReference
		records, pin int
	}{
		"an object without records is not marked": {kind: "Deployment"},
		"tolerations":                   {kind: "Deployment", annotations: map[string]string{toleration.OwnedAnnotation: tolerations}, records: 1},
		"a node selector alone":         {kind: "Deployment", annotations: map[string]string{label.OwnedAnnotation: pins}, pin: 1},
		"a ReplicaSet without an owner": {kind: "ReplicaSet", annotations: map[string]string{toleration.OwnedAnnotation: tolerations}, records: 1},
		"a Deployment's ReplicaSet has what its Deployment has":     {kind: "ReplicaSet", annotations: map[string]string{toleration.OwnedAnnotation: tolerations, label.OwnedAnnotation: pins}, owners: controlledBy("Deployment")},
		"a ReplicaSet of another group has records of its own":      {kind: "ReplicaSet", apiVersion: "example.com/v1", annotations: map[string]string{toleration.OwnedAnnotation: tolerations}, owners: controlledBy("Deployment"), records: 1},
		"a Deployment that an operator owns has records of its own": {kind: "Deployment", annotations: map[string]string{toleration.OwnedAnnotation: tolerations}, owners: controlledBy("Shop"), records: 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, marked := recordsOn(workload.Ref{APIVersion: gocmp.Or(tt.apiVersion, "apps/v1"), Kind: tt.kind, Name: "web"}, &metav1.ObjectMeta{Annotations: tt.annotations, OwnerReferences: tt.owners})
			if marked != (tt.records+tt.pin > 0) || len(got.Record) != tt.records || len(got.Pins) != tt.pin {
				t.Errorf("marked is %t with %v and %v", marked, got.Record, got.Pins)
			}
		})
	}
}

// A snapshot and the marks need the same lists of what is there in great numbers:
// whichever comes first reads them for both.
func TestMarkedAnywhere_listsNothingTwiceThatASnapshotLists(t *testing.T) {
	t.Parallel()
	const tolerations = `[{"key":"team","operator":"Equal","value":"a","effect":"NoExecute","owner":"me","generation":"g1","retiring":true}]`
	snapshot := func(t *testing.T, c *Cluster) {
		t.Helper()
		s, err := c.Snapshot(t.Context())
		if err != nil || s.Parents["rs-1"].Name != "web" || s.Parents["job-1"].Name != "nightly" {
			t.Fatalf("parents are %v: %v", s.Parents, err)
		}
	}
	marks := func(t *testing.T, c *Cluster) {
		t.Helper()
		got, err := c.MarkedAnywhere(t.Context())
		if err != nil || len(got) != 1 || got[0].Name != "rs-9" || !toleration.Retiring(got[0].Record) {
			t.Fatalf("%v are marked: %v", got, err)
		}
	}
	for name, steps := range map[string][]func(*testing.T, *Cluster){
		"a snapshot first":  {snapshot, marks, snapshot, marks},
		"the marks first":   {marks, snapshot, marks},
		"the marks alone":   {marks, marks},
		"a snapshot alone":  {snapshot},
		"one at both times": {marks, marks, snapshot, snapshot},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			api := town()
			api.Add(markedSet(tolerations))
			c := api.connect(t)
			for _, step := range steps {
				step(t, c)
			}
			requests := api.requests()
			slices.Sort(requests)
			if diff := cmp.Diff(slices.Compact(slices.Clone(requests)), requests); diff != "" {
				t.Errorf("something is listed twice: %s", diff)
			}
		})
	}
}

// OpenShift's objects are many requests where there are none: they are looked for
// where a node says whose cluster it is, and may be missing, or forbidden, there too.
func TestMarkedAnywhere_looksForOpenShiftsObjectsOnItsClustersAlone(t *testing.T) {
	t.Parallel()
	const tolerations = `[{"key":"team","operator":"Equal","value":"a","effect":"NoExecute","owner":"me","generation":"g1","retiring":true}]`
	ingress := workload.Ref{APIVersion: "operator.openshift.io/v1", Kind: "IngressController"}
	const plural = "ingresscontrollers"
	operator := metav1.ObjectMeta{Namespace: "openshift-ingress-operator", Name: "ingress-operator"}
	for name, tt := range map[string]struct {
		label string
		// kept is set where the machine-config operator keeps the node.
		kept bool
		// runs is a Deployment of the cluster, and forbidden are kinds that may not be listed.
		runs      metav1.ObjectMeta
		forbidden []string
		want      []string
		finds     bool
	}{
		"no node is OpenShift's":                            {runs: operator, want: nil},
		"a node is OpenShift's":                             {label: openShiftNode, runs: operator, want: []string{"internal"}, finds: true},
		"a node is OpenShift's, without rights":             {label: openShiftNode, runs: operator, forbidden: []string{plural}, finds: true},
		"OpenShift's label, and none of its operators":      {label: openShiftNode, runs: metav1.ObjectMeta{Namespace: "shop", Name: "ingress-operator"}},
		"OpenShift's label, of the machine-config operator": {label: openShiftNode, kept: true, runs: metav1.ObjectMeta{Namespace: "shop", Name: "web"}, want: []string{"internal"}, finds: true},
		"OpenShift's label on MicroShift":                   {label: openShiftNode, runs: metav1.ObjectMeta{Namespace: "openshift-ingress", Name: "router-default"}},
		"OpenShift's label, and an operator of OLM":         {label: openShiftNode, runs: metav1.ObjectMeta{Namespace: "shop", Name: "etcd-operator", Labels: map[string]string{olmOwner: "etcd"}}, want: []string{"internal"}, finds: true},
		"OpenShift's label, without rights to workloads":    {label: openShiftNode, runs: operator, forbidden: []string{"deployments"}, want: []string{"internal"}, finds: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				api := town(fakeapi.CustomKind(ingress.APIVersion, ingress.Kind, plural))
				api.edit("n1", func(n *corev1.Node) {
					n.Labels = map[string]string{tt.label: "rhcos"}
					if tt.kept {
						n.Annotations = map[string]string{machineConfigAnnotation: "rendered-worker-1"}
					}
				})
				marked := &unstructured.Unstructured{}
				marked.SetAPIVersion(ingress.APIVersion)
				marked.SetKind(ingress.Kind)
				marked.SetNamespace("app")
				marked.SetName("internal")
				marked.SetAnnotations(map[string]string{toleration.OwnedAnnotation: tolerations})
				api.Add(marked)
				api.Add(&appsv1.Deployment{ObjectMeta: tt.runs})
				if len(tt.forbidden) > 0 {
					api.fault = onLists(http.StatusForbidden, tt.forbidden...)
				}
				c := api.connect(t)
				got, err := c.MarkedAnywhere(t.Context())
				if err != nil && !slices.Contains(tt.forbidden, "deployments") {
					t.Fatal(err)
				}
				var names []string
				for _, m := range got {
					names = append(names, m.Name)
				}
				if diff := cmp.Diff(tt.want, names); diff != "" {
					t.Errorf("marked: %s", diff)
				}
				asked := slices.ContainsFunc(api.requests(), func(r string) bool { return strings.Contains(r, plural) })
				finds, err := c.FindsMarks(t.Context(), ingress)
				if err != nil || finds != tt.finds || asked != tt.finds {
					t.Errorf("OpenShift was asked: %t, and finds: %t, want %t (%v)", asked, finds, tt.finds, err)
				}
				if finds, err := c.FindsMarks(t.Context(), workload.Ref{APIVersion: "example.com/v1", Kind: "Widget"}); finds || err != nil {
					t.Errorf("custom kinds are found: %t (%v)", finds, err)
				}
			})
		})
	}
}

// Without permission to list some kinds, the marked objects of the others are found.
func TestMarkedAnywhere_findsWhatMayBeListed(t *testing.T) {
	t.Parallel()
	api := town()
	api.Add(markedSet(`[{"key":"team","operator":"Equal","value":"a","effect":"NoExecute","owner":"me","generation":"g1"}]`))
	api.fault = onLists(http.StatusForbidden, "statefulsets", "daemonsets")
	got, err := api.connect(t).MarkedAnywhere(t.Context())
	if !errors.Is(err, ErrForbidden) || !strings.Contains(err.Error(), "statefulsets") || !strings.Contains(err.Error(), "daemonsets") {
		t.Errorf("got the error %v", err)
	}
	if len(got) != 1 || got[0].Name != "rs-9" {
		t.Errorf("%v are marked", got)
	}
}

// markedSet is a ReplicaSet with an ownership record of tolerations.
func markedSet(record string) *appsv1.ReplicaSet {
	s := &appsv1.ReplicaSet{ObjectMeta: owned("rs-9", "")}
	s.Annotations = map[string]string{toleration.OwnedAnnotation: record}
	return s
}
