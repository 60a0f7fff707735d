// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package recorded_test

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/recorded"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/fakeapi"
)

// withMonitoring is a cluster of OpenShift with one node and the ConfigMap of its monitoring, and more objects.
func withMonitoring(more ...runtime.Object) *fakeapi.Server {
	api := fakeapi.New(
		fakeapi.CustomKind("v1", "Secret", "secrets"), fakeapi.CustomKind("events.k8s.io/v1", "Event", "events"),
		fakeapi.CustomKind("operator.openshift.io/v1", "IngressController", "ingresscontrollers"), fakeapi.CustomKind("longhorn.io/v1beta2", "Node", "nodes"),
	)
	api.Add(
		&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1", UID: "n1"}},
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "kube-system", UID: "ks"}},
		&corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Namespace: "openshift-monitoring", Name: "cluster-monitoring-config", UID: "m"},
			Data:       map[string]string{"config.yaml": "prometheusK8s:\n  tolerations:\n  - key: infra\n    operator: Exists\n"},
		},
	)
	api.Add(more...)
	return api
}

// ownedBy is a pod with an owner that is no controller of pods.
func ownedBy(apiVersion, kind, name string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "p", UID: "p", OwnerReferences: []metav1.OwnerReference{{APIVersion: apiVersion, Kind: kind, Name: name, UID: "o"}}},
		Spec:       corev1.PodSpec{NodeName: "n1"},
	}
}

func TestWrite_anOwnerThatIsAConfigMapLeavesTheFileReadable(t *testing.T) {
	t.Parallel()
	api := withMonitoring(ownedBy("v1", "ConfigMap", "c"), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "c", UID: "o"}})
	defer api.Close()
	for _, hashed := range []bool{false, true} {
		file, _ := record(t, api.Client(), recorded.Options{HashNames: hashed})
		if _, err := recorded.Read(bytes.NewReader(file)); err != nil {
			t.Errorf("hashed %v: a file that was written without an error: %v", hashed, err)
		}
	}
}

// TestWrite_anOpenShiftClusterIsRecordedWithTheRightsOfAPlan has an installer pod of OpenShift's control plane,
// whose owner is the ConfigMap revision-status-N (openshift/library-go
// pkg/operator/staticpod/controller/installer/installer_controller.go, setOwnerRefs), and no right to list ConfigMaps.
func TestWrite_anOpenShiftClusterIsRecordedWithTheRightsOfAPlan(t *testing.T) {
	t.Parallel()
	installer := ownedBy("v1", "ConfigMap", "revision-status-7")
	installer.Namespace, installer.Name, installer.Status.Phase = "openshift-etcd", "installer-7-n1", corev1.PodSucceeded
	api := withMonitoring(installer)
	defer api.Close()
	source := recorder(t, api,
		mayRead("", "nodes", "pods", "namespaces", "resourcequotas", "limitranges", "persistentvolumes", "persistentvolumeclaims", "replicationcontrollers"),
		mayRead("admissionregistration.k8s.io", "mutatingadmissionpolicies", "mutatingadmissionpolicybindings", "mutatingwebhookconfigurations", "validatingwebhookconfigurations"),
		mayRead("scheduling.k8s.io", "priorityclasses"),
		mayRead("storage.k8s.io", "storageclasses", "csidrivers", "csinodes", "csistoragecapacities"),
		mayRead("apps", "*"), mayRead("batch", "*"), mayRead("policy", "*"), mayRead("operator.openshift.io", "*"),
		rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"configmaps"}, ResourceNames: []string{"cluster-monitoring-config", "user-workload-monitoring-config"}, Verbs: []string{"get"}})
	var b bytes.Buffer
	summary, err := recorded.Write(t.Context(), &b, source, recorded.Options{})
	if err != nil || len(summary.Missing) > 0 {
		t.Fatalf("missing are %q: %v", summary.Missing, err)
	}
	if _, err := recorded.Read(bytes.NewReader(b.Bytes())); err != nil {
		t.Fatalf("a file that was written without an error: %v", err)
	}
	if !bytes.Contains(plain(t, b.Bytes()), []byte("prometheusK8s")) {
		t.Error("the ConfigMap of monitoring is not in the file")
	}
}

// listing is a source that notes what is listed.
type listing struct {
	recorded.Source
	resources []string
}

// EachObject notes the resource.
func (l *listing) EachObject(ctx context.Context, r schema.GroupVersionResource, begin func() error, visit func(*unstructured.Unstructured) error) error {
	l.resources = append(l.resources, r.Resource)
	return l.Source.EachObject(ctx, r, begin, visit)
}

func TestWrite_ownersListNoSecretsConfigMapsAndEvents(t *testing.T) {
	t.Parallel()
	meta := metav1.ObjectMeta{Namespace: "bank", Name: canary, UID: "s", Labels: map[string]string{"token": canary}}
	dynamic := func(apiVersion, kind string) runtime.Object {
		return &unstructured.Unstructured{Object: map[string]any{"apiVersion": apiVersion, "kind": kind, "metadata": asMap(meta.DeepCopy())}}
	}
	for _, owner := range []struct {
		apiVersion, kind, resource string
		object                     runtime.Object
	}{
		{"v1", "Secret", "secrets", dynamic("v1", "Secret")},
		{"v1", "ConfigMap", "configmaps", &corev1.ConfigMap{ObjectMeta: meta}},
		{"events.k8s.io/v1", "Event", "events", dynamic("events.k8s.io/v1", "Event")},
	} {
		api := withMonitoring(ownedBy(owner.apiVersion, owner.kind, "o"), owner.object)
		source := &listing{Source: connect(t, api.Client())}
		var b bytes.Buffer
		if _, err := recorded.Write(t.Context(), &b, source, recorded.Options{}); err != nil {
			t.Fatal(err)
		}
		if content := plain(t, b.Bytes()); bytes.Contains(content, []byte(canary)) {
			t.Errorf("an object of kind %s is in the file", owner.kind)
		}
		if slices.Contains(source.resources, owner.resource) {
			t.Errorf("all %s of the cluster were read", owner.resource)
		}
		api.Close()
	}
}

// changing is a source whose credentials may change a custom kind.
type changing struct {
	recorded.Source
	custom schema.GroupResource
}

// CustomResources returns the kind.
func (c changing) CustomResources(context.Context) ([]schema.GroupResource, error) {
	return []schema.GroupResource{c.custom}, nil
}

func TestWrite_theSummaryCountsNodesOfKubernetes(t *testing.T) {
	t.Parallel()
	api := withMonitoring()
	defer api.Close()
	for i := range 3 {
		api.Add(&unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "longhorn.io/v1beta2", "kind": "Node", "metadata": map[string]any{"namespace": "longhorn-system", "name": fmt.Sprint("l", i)}, "spec": map[string]any{},
		}})
	}
	var b bytes.Buffer
	summary, err := recorded.Write(t.Context(), &b, changing{connect(t, api.Client()), schema.GroupResource{Group: "longhorn.io", Resource: "nodes"}}, recorded.Options{})
	if err != nil || summary.Nodes != 1 || !bytes.Contains(plain(t, b.Bytes()), []byte(`"name":"l2"`)) {
		t.Errorf("a cluster of 1 node is recorded as %+v: %v", summary, err)
	}
}

func TestWrite_aCustomKindNamedNodeIsRecordedAsAnOwner(t *testing.T) {
	t.Parallel()
	api := withMonitoring(ownedBy("longhorn.io/v1beta2", "Node", "l"), &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "longhorn.io/v1beta2", "kind": "Node", "metadata": map[string]any{"namespace": "shop", "name": "l", "uid": "o"},
	}})
	defer api.Close()
	file, _ := record(t, api.Client(), recorded.Options{})
	if !bytes.Contains(plain(t, file), []byte(`{"apiVersion":"longhorn.io/v1beta2"`)) {
		t.Error("the owner of a pod is not in the file")
	}
}

func TestOpen_theIDOfAFolderIsThatOfANamespaceOfKubernetes(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, "a.yaml", []byte(oneNode+"---\napiVersion: v1\nkind: Namespace\nmetadata: {name: kube-system, uid: real}\n---\napiVersion: tenancy.example.com/v1\nkind: Namespace\nmetadata: {name: kube-system, uid: other}\n"))
	c, err := recorded.Open(dir)
	if err != nil || c.ID() != "real" {
		t.Errorf("the id is %q: %v", c.ID(), err)
	}
}
