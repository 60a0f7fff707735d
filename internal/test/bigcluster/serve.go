// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package bigcluster

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kruntime "k8s.io/apimachinery/pkg/runtime"
	kprotobuf "k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
)

// encodedPages serves lists that were encoded beforehand into files, so that
// the server costs next to nothing and keeps nothing on the heap: what is
// measured is the client.
type encodedPages struct {
	dir   string
	pages map[string][]string
}

func (s *encodedPages) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	page := 0
	_, _ = fmt.Sscan(r.URL.Query().Get("continue"), &page)
	all := s.pages[r.URL.Path]
	if page >= len(all) {
		http.NotFound(w, r)
		return
	}
	file, err := os.Open(all[page])
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	defer file.Close()
	w.Header().Set("Content-Type", "application/vnd.kubernetes.protobuf")
	_, _ = io.Copy(w, file)
}

func (s *encodedPages) add(tb testing.TB, path string, page kruntime.Object) {
	tb.Helper()
	var b bytes.Buffer
	if err := kprotobuf.NewSerializer(scheme.Scheme, scheme.Scheme).Encode(page, &b); err != nil {
		tb.Fatal(err)
	}
	file := filepath.Join(s.dir, fmt.Sprintf("%s-%d", filepath.Base(path), len(s.pages[path])))
	if err := os.WriteFile(file, b.Bytes(), 0o600); err != nil {
		tb.Fatal(err)
	}
	s.pages[path] = append(s.pages[path], file)
}

// Serve serves the lists that a plan reads of a cluster of so many objects, in pages of pageSize, until the test ends. A path
// that it does not have is not found. Start is httptest.NewServer or httptest.NewTLSServer.
func Serve(tb testing.TB, start func(http.Handler) *httptest.Server, nodes, pods, volumes, pageSize int) *httptest.Server {
	tb.Helper()
	s := &encodedPages{dir: tb.TempDir(), pages: map[string][]string{}}
	add := func(path string, count int, list func(from, to int, meta metav1.ListMeta) kruntime.Object) {
		for from := 0; from == 0 || from < count; from += pageSize {
			to := min(from+pageSize, count)
			meta := metav1.ListMeta{ResourceVersion: "1000"}
			if to < count {
				meta.Continue = fmt.Sprint(len(s.pages[path]) + 1)
			}
			s.add(tb, path, list(from, to, meta))
		}
	}
	s.add(tb, "/api/v1/namespaces/kube-system", &corev1.Namespace{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Namespace"}, ObjectMeta: metav1.ObjectMeta{Name: metav1.NamespaceSystem, UID: "the-cluster"},
	})
	add("/api/v1/nodes", nodes, func(from, to int, meta metav1.ListMeta) kruntime.Object {
		l := &corev1.NodeList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "NodeList"}, ListMeta: meta}
		for i := from; i < to; i++ {
			l.Items = append(l.Items, Versioned(Node(i), i))
		}
		return l
	})
	add("/api/v1/pods", pods, func(from, to int, meta metav1.ListMeta) kruntime.Object {
		l := &corev1.PodList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PodList"}, ListMeta: meta}
		for i := from; i < to; i++ {
			l.Items = append(l.Items, Versioned(Pod(i, nodes), i))
		}
		return l
	})
	partials := func(path string, count int, one func(i int) metav1.PartialObjectMetadata) {
		add(path, count, func(from, to int, meta metav1.ListMeta) kruntime.Object {
			l := &metav1.PartialObjectMetadataList{TypeMeta: metav1.TypeMeta{APIVersion: "meta.k8s.io/v1", Kind: "PartialObjectMetadataList"}, ListMeta: meta}
			for i := from; i < to; i++ {
				l.Items = append(l.Items, one(i))
			}
			return l
		})
	}
	partials("/apis/apps/v1/replicasets", min(pods, apps)*revisions, revision)
	partials("/apis/batch/v1/jobs", 0, nil)
	add("/apis/apps/v1/daemonsets", 0, func(_, _ int, meta metav1.ListMeta) kruntime.Object {
		return &appsv1.DaemonSetList{TypeMeta: metav1.TypeMeta{APIVersion: "apps/v1", Kind: "DaemonSetList"}, ListMeta: meta}
	})
	add("/apis/policy/v1/poddisruptionbudgets", 0, func(_, _ int, meta metav1.ListMeta) kruntime.Object {
		return &policyv1.PodDisruptionBudgetList{TypeMeta: metav1.TypeMeta{APIVersion: "policy/v1", Kind: "PodDisruptionBudgetList"}, ListMeta: meta}
	})
	add("/api/v1/resourcequotas", 0, func(_, _ int, meta metav1.ListMeta) kruntime.Object {
		return &corev1.ResourceQuotaList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ResourceQuotaList"}, ListMeta: meta}
	})
	add("/api/v1/limitranges", 0, func(_, _ int, meta metav1.ListMeta) kruntime.Object {
		return &corev1.LimitRangeList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "LimitRangeList"}, ListMeta: meta}
	})
	add("/api/v1/persistentvolumeclaims", volumes, func(from, to int, meta metav1.ListMeta) kruntime.Object {
		l := &corev1.PersistentVolumeClaimList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PersistentVolumeClaimList"}, ListMeta: meta}
		for i := from; i < to; i++ {
			l.Items = append(l.Items, corev1.PersistentVolumeClaim{
				ObjectMeta: metav1.ObjectMeta{Namespace: fmt.Sprintf("team-%d", i%100), Name: fmt.Sprintf("data-db-%d", i)},
				Spec:       corev1.PersistentVolumeClaimSpec{VolumeName: fmt.Sprintf("pv-%d", i)},
			})
		}
		return l
	})
	add("/api/v1/persistentvolumes", volumes, func(from, to int, meta metav1.ListMeta) kruntime.Object {
		l := &corev1.PersistentVolumeList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PersistentVolumeList"}, ListMeta: meta}
		for i := from; i < to; i++ {
			v := corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("pv-%d", i)}}
			v.Spec.NodeAffinity = &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
				MatchExpressions: []corev1.NodeSelectorRequirement{{Key: corev1.LabelTopologyZone, Operator: corev1.NodeSelectorOpIn, Values: []string{fmt.Sprintf("z%d", i%3)}}},
			}}}}
			l.Items = append(l.Items, v)
		}
		return l
	})
	server := start(s)
	tb.Cleanup(server.Close)
	return server
}

// revision is the metadata of the i-th ReplicaSet: of each Deployment the one that has the pods comes first, then those of
// earlier revisions.
func revision(i int) metav1.PartialObjectMetadata {
	r := ReplicaSet(i % apps)
	if age := i / apps; age > 0 {
		r.Name, r.UID = fmt.Sprintf("%s-before-%d", r.Name, age), types.UID(fmt.Sprintf("%s-before-%d", r.UID, age))
	}
	r.ResourceVersion = fmt.Sprint(i + 1)
	return metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: "apps/v1", Kind: "ReplicaSet"}, ObjectMeta: r.ObjectMeta}
}

// Versioned returns an object as an API server lists it.
func Versioned[T any, O interface {
	*T
	metav1.Object
}](object O, i int) T {
	object.SetResourceVersion(fmt.Sprint(i + 1))
	return *object
}
