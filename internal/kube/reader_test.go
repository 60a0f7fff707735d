// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package kube

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/fakeapi"
)

// A connection that only reads has a snapshot and asks for its own rights, and none of its writes reaches
// the server, dry runs included.
func TestNewReader_sendsNoWrite(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := newServer(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1", UID: "u"}})
		a.Put(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}, Spec: corev1.PodSpec{NodeName: "n1"}})
		defer a.Close()
		c, err := NewReader(&rest.Config{Host: "https://fake.test", Transport: a.client}, "kubectl-kubetaint/test")
		if err != nil {
			t.Fatal(err)
		}
		s, err := c.Snapshot(t.Context())
		if err != nil || len(s.Pods["n1"]) != 1 {
			t.Fatalf("the snapshot has %v: %v", s, err)
		}
		_, edited := c.EditNode(t.Context(), "n1", wantGPU)
		if _, err := c.customKinds(t.Context()); err != nil {
			t.Errorf("its own rights: %v", err)
		}
		for what, err := range map[string]error{
			"edit": edited, "cordon": c.Cordon(t.Context(), s.Nodes["n1"]), "evict": c.Evict(t.Context(), &snapshot.Pod{Namespace: "shop", Name: "web"}, nil),
			"delete": c.DeletePod(t.Context(), &snapshot.Pod{Namespace: "shop", Name: "web"}, nil),
		} {
			if !errors.Is(err, ErrReadOnly) {
				t.Errorf("%s: %v", what, err)
			}
		}
		writes := func(e fakeapi.AuditEvent) bool {
			return e.Verb != "get" && e.Verb != "list" && e.Resource != "selfsubjectrulesreviews"
		}
		if at := slices.IndexFunc(a.Audit(), writes); at >= 0 {
			t.Errorf("it sends %s", a.Audit()[at])
		}
		if agent := a.Audit()[0].UserAgent; agent != "kubectl-kubetaint/test" {
			t.Errorf("the user agent is %q", agent)
		}
	})
}

// Other changes of a configuration come first.
func TestReadOnly_comesAfterOtherChanges(t *testing.T) {
	t.Parallel()
	given := &rest.Config{Host: "https://a.test"}
	got := ReadOnly(func(rc *rest.Config) *rest.Config {
		out := rest.CopyConfig(rc)
		out.Host = "https://b.test"
		return out
	})(given)
	if got.Host != "https://b.test" || given.WrapTransport != nil {
		t.Errorf("host %q, and the given configuration is changed: %t", got.Host, given.WrapTransport != nil)
	}
	if _, err := got.WrapTransport(http.DefaultTransport).RoundTrip(httptest.NewRequest(http.MethodPatch, "https://b.test/api", nil)); !errors.Is(err, ErrReadOnly) {
		t.Error(err)
	}
}
