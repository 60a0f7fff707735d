// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package recorded_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/kube"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/recorded"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/fakeapi"
)

// recorder is a source with the rights of an account, at an address to which clients send tokens.
func recorder(t *testing.T, api *fakeapi.Server, rules ...rbacv1.PolicyRule) *kube.Cluster {
	t.Helper()
	c, err := kube.New(kube.Config{Host: "https://fakeapi.test", Token: api.Account("recorder", rules...), Transport: api.Client()})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func mayRead(group string, resources ...string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{APIGroups: []string{group}, Resources: resources, Verbs: []string{"get", "list"}}
}

func TestWrite_kindsWithoutARightAreMarked(t *testing.T) {
	t.Parallel()
	api := shop()
	defer api.Close()
	var b bytes.Buffer
	summary, err := recorded.Write(t.Context(), &b, recorder(t, api, mayRead("", "nodes", "pods", "namespaces"), mayRead("apps", "deployments", "replicasets")), recorded.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(summary.Missing, "poddisruptionbudgets.policy") || !slices.Contains(summary.Missing, "rollouts.argoproj.io") || slices.Contains(summary.Missing, "deployments.apps") {
		t.Errorf("missing are %q", summary.Missing)
	}
	c := read(t, b.Bytes())
	if !slices.Equal(c.Missing(), summary.Missing) {
		t.Errorf("the file has %q missing, the summary %q", c.Missing(), summary.Missing)
	}
	live := recorder(t, api, mayRead("", "nodes", "pods", "namespaces"), mayRead("apps", "deployments", "replicasets"))
	wantSame(t, live, connect(t, c.Transport()))
}

func TestWrite_withoutPodsNothingIsRecorded(t *testing.T) {
	t.Parallel()
	api := shop()
	defer api.Close()
	_, err := recorded.Write(t.Context(), &bytes.Buffer{}, recorder(t, api, mayRead("", "nodes")), recorded.Options{})
	if err == nil || !strings.Contains(err.Error(), "list pods: ") {
		t.Errorf("error: %v", err)
	}
}

func TestWrite_customKindsThatTheCredentialsMayChangeAreRecorded(t *testing.T) {
	t.Parallel()
	api := shop()
	defer api.Close()
	rules := []rbacv1.PolicyRule{
		mayRead("", "*"), mayRead("apps", "*"), mayRead("batch", "*"), mayRead("policy", "*"), mayRead("argoproj.io", "rollouts"),
		{APIGroups: []string{"example.com"}, Resources: []string{"tenants"}, Verbs: []string{"get", "list", "patch"}},
	}
	var b bytes.Buffer
	if _, err := recorded.Write(t.Context(), &b, recorder(t, api, rules...), recorded.Options{}); err != nil {
		t.Fatal(err)
	}
	content := plain(t, b.Bytes())
	if !bytes.Contains(content, []byte(`"spec":{"deep":{"placement":{"nodeSelector":{"pool":"a"},"tolerations":[{"key":"k"}]}}}`)) {
		t.Errorf("the placement of the custom object is not in the file: %s", content)
	}
	if bytes.Contains(content, []byte(canary)) {
		t.Error("a secret of the custom object is in the file")
	}
}

// answering answers the requests for a path.
type answering struct {
	http.RoundTripper
	path, media string
	code        int
	body        []byte
}

// RoundTrip answers the request.
func (a answering) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Path != a.path {
		return a.RoundTripper.RoundTrip(r)
	}
	return &http.Response{StatusCode: a.code, Header: http.Header{"Content-Type": {a.media}}, Body: io.NopCloser(bytes.NewReader(a.body)), Request: r}, nil
}

// TestWrite_anAnswerThatIsNoListOfPodsIsAnError answers what proxies answer with code 200.
func TestWrite_anAnswerThatIsNoListOfPodsIsAnError(t *testing.T) {
	t.Parallel()
	api := shop()
	defer api.Close()
	other, err := (&runtime.Unknown{TypeMeta: runtime.TypeMeta{Kind: "NodeList", APIVersion: "v1"}}).Marshal()
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ media, body, want string }{
		{"application/json", `{"kind":"Status","apiVersion":"v1","status":"Failure","code":400,"reason":"BadRequest","message":"bad gateway"}`, "bad gateway"},
		{"application/json", `{"error":"the answer is too large"}`, `the answer is a ""`},
		{"application/json", `{"kind":"NodeList","apiVersion":"v1","items":[]}`, `the answer is a "NodeList"`},
		{runtime.ContentTypeProtobuf, "k8s\x00" + string(other), `the answer is a "NodeList"`},
	} {
		through := answering{api.Client(), "/api/v1/pods", tt.media, http.StatusOK, []byte(tt.body)}
		if summary, err := recorded.Write(t.Context(), io.Discard, connect(t, through), recorded.Options{}); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s is recorded as %+v: %v", tt.body, summary, err)
		}
		if _, err := connect(t, through).Snapshot(t.Context()); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s is observed: %v", tt.body, err)
		}
	}
}

// expiring is a source whose list of pods expires after two of them.
type expiring struct{ recorded.Source }

// EncodedPods lists the first pods twice: package kube begins anew then.
func (e expiring) EncodedPods(ctx context.Context, begin func() error, visit func([]byte) error) error {
	seen := 0
	return e.Source.EncodedPods(ctx, begin, func(pod []byte) error {
		if seen++; seen == 3 {
			return apierrors.NewResourceExpired("expired")
		}
		return visit(pod)
	})
}

func TestWrite_aListThatBeginsAnewIsRecordedOnce(t *testing.T) {
	t.Parallel()
	api := shop()
	defer api.Close()
	var b bytes.Buffer
	summary, err := recorded.Write(t.Context(), &b, expiring{connect(t, api.Client())}, recorded.Options{})
	if err != nil || summary.Pods != 6 {
		t.Fatalf("summary %+v: %v", summary, err)
	}
	wantSame(t, connect(t, api.Client()), connect(t, read(t, b.Bytes()).Transport()))
}

// revoked is a source of which nothing but nodes may be listed any more after the first object.
type revoked struct{ recorded.Source }

// EachObject refuses the rest of a list.
func (r revoked) EachObject(ctx context.Context, resource schema.GroupVersionResource, begin func() error, visit func(*unstructured.Unstructured) error) error {
	return r.Source.EachObject(ctx, resource, begin, func(object *unstructured.Unstructured) error {
		if err := visit(object); err != nil {
			return err
		}
		if resource.Resource == "nodes" {
			return nil
		}
		return &kube.Error{Class: kube.ErrForbidden, Doing: "list", Err: kube.ErrForbidden}
	})
}

func TestWrite_aRightThatIsRevokedOnTheWayLeavesNoHalfAList(t *testing.T) {
	t.Parallel()
	api := shop()
	defer api.Close()
	var b bytes.Buffer
	summary, err := recorded.Write(t.Context(), &b, revoked{connect(t, api.Client())}, recorded.Options{})
	if err != nil || !slices.Contains(summary.Missing, "replicasets.apps") {
		t.Fatalf("summary %+v: %v", summary, err)
	}
	if got := read(t, b.Bytes()).Missing(); !slices.Equal(got, summary.Missing) {
		t.Errorf("the file has %q missing, the summary %q", got, summary.Missing)
	}
}

// shape is what a snapshot says without names: how many pods each node and workload has, which nodes fit each
// pod, and how many pods PodDisruptionBudgets cover.
func shape(s *snapshot.Snapshot) map[string][]int {
	out := map[string][]int{}
	workloads, covered := map[string]int{}, 0
	for _, pods := range s.Pods {
		out["pods of a node"] = append(out["pods of a node"], len(pods))
		for _, p := range pods {
			owner := p.Key()
			if p.Controller != nil {
				owner = fmt.Sprint(s.Parents[p.Controller.UID], p.Controller.Owner)
			}
			workloads[owner]++
			fit := 0
			required := nodeaffinity.GetRequiredNodeAffinity(&corev1.Pod{Spec: corev1.PodSpec{NodeSelector: p.Scheduling.NodeSelector, Affinity: &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: p.Scheduling.Affinity}}}})
			for _, n := range s.Nodes {
				if ok, err := required.Match(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: n.Name, Labels: n.Labels}}); ok && err == nil {
					fit++
				}
			}
			out["nodes that fit a pod"] = append(out["nodes that fit a pod"], fit)
			preferred, err := nodeaffinity.NewPreferredSchedulingTerms(p.Scheduling.Preferred)
			if err != nil {
				panic(err)
			}
			for _, n := range s.Nodes {
				out["weights of nodes"] = append(out["weights of nodes"], int(preferred.Score(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: n.Name, Labels: n.Labels}})))
			}
			for _, b := range s.Budgets[p.Namespace] {
				if b.Selector.Matches(p.Labels) {
					covered++
				}
			}
			out["bound volumes of a pod"] = append(out["bound volumes of a pod"], len(s.Volumes[p.Namespace]))
		}
	}
	for _, n := range workloads {
		out["pods of a workload"] = append(out["pods of a workload"], n)
	}
	out["pods that budgets cover"] = []int{covered}
	for _, list := range out {
		slices.Sort(list)
	}
	return out
}

func TestWrite_hashedNamesKeepTheirReferences(t *testing.T) {
	t.Parallel()
	api := shop()
	defer api.Close()
	file, _ := record(t, api.Client(), recorded.Options{HashNames: true})
	want, err := connect(t, api.Client()).Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	c := read(t, file)
	got, err := connect(t, c.Transport()).Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(shape(want), shape(got)); diff != "" || !c.Hashed() {
		t.Errorf("the hashed recording has another shape: %s", diff)
	}
	content := plain(t, file)
	for _, name := range []string{"shop", "web-1", "agent-x", "roll-x", "db-0", "fakeapi.test"} {
		// UIDs of tests are made of names.
		if at := bytes.Index(bytes.ReplaceAll(content, []byte("uid-"+name), nil), []byte(name)); at >= 0 {
			t.Errorf("the name %q is in the file: …%q", name, content[max(0, at-100):min(len(content), at+50)])
		}
	}
	again, _ := record(t, api.Client(), recorded.Options{HashNames: true})
	if bytes.Equal(content, plain(t, again)) {
		t.Error("two files have the same hashes: names can be found out by trying")
	}
}
