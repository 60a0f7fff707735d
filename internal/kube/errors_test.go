// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package kube

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestErrors_classes(t *testing.T) {
	t.Parallel()
	nodes := corev1.Resource("nodes")
	generic := func(code int) error {
		return apierrors.NewGenericServerResponse(code, "get", nodes, "n1", "broken", 0, true)
	}
	cut := func(err error) error { return &url.Error{Op: "Get", URL: "https://cluster.test", Err: err} }
	tests := []struct {
		name  string
		err   error
		class error
		// out reports that the error tells nothing about the object.
		out bool
		// again reports that the same request may succeed a moment later.
		again bool
	}{
		{name: "404", err: apierrors.NewNotFound(nodes, "n1"), class: ErrNotFound},
		{name: "404 of a kind that is not served, which is no Status", err: generic(404), class: ErrNotFound},
		{name: "403 of a proxy, which is no Status", err: generic(403), class: ErrForbidden},
		{name: "409", err: apierrors.NewConflict(nodes, "n1", errors.New("modified")), class: ErrConflict},
		{name: "409 that a wrapper hides", err: fmt.Errorf("patch: %w", apierrors.NewConflict(nodes, "n1", errors.New("modified"))), class: ErrConflict},
		{name: "403", err: apierrors.NewForbidden(nodes, "n1", errors.New("no")), class: ErrForbidden},
		{name: "403 of rights", err: apierrors.NewForbidden(nodes, "n1", errors.New(`User "ci" cannot patch resource "nodes" in API group "" at the cluster scope`)), class: ErrForbidden},
		{name: "403 of a webhook", err: deniedBy(`admission webhook "validation.machineset.machine.openshift.io" denied the request: providerSpec.ami: Required value`), class: ErrInvalid},
		{name: "403 of a policy", err: apierrors.NewForbidden(nodes, "n1", errors.New("ValidatingAdmissionPolicy 'keep' with binding 'keep' denied request: not now")), class: ErrInvalid},
		{name: "401", err: apierrors.NewUnauthorized("no"), class: ErrUnauthorized, out: true},
		{name: "422", err: apierrors.NewInvalid(schema.GroupKind{Kind: "Node"}, "n1", nil), class: ErrInvalid},
		{name: "400", err: apierrors.NewBadRequest("what?"), class: ErrInvalid},
		{name: "429", err: apierrors.NewTooManyRequests("later", 1), class: ErrUnreachable, out: true, again: true},
		{name: "500", err: apierrors.NewInternalError(errors.New("etcd")), class: ErrUnreachable, out: true, again: true},
		{name: "502 of a proxy", err: generic(502), class: ErrUnreachable, out: true, again: true},
		{name: "503", err: apierrors.NewServiceUnavailable("starting"), class: ErrUnreachable, out: true, again: true},
		{name: "504", err: generic(504), class: ErrUnreachable, out: true, again: true},
		{name: "a server's own timeout", err: apierrors.NewServerTimeout(nodes, "list", 1), class: ErrUnreachable, out: true, again: true},
		{name: "a refused connection", err: cut(syscall.ECONNREFUSED), class: ErrUnreachable, out: true, again: true},
		{name: "a reset connection", err: cut(syscall.ECONNRESET), class: ErrUnreachable, out: true, again: true},
		{name: "a connection that ends in the middle", err: io.ErrUnexpectedEOF, class: ErrUnreachable, out: true, again: true},
		{name: "an answer that ends in the middle", err: fmt.Errorf("unexpected error when reading response body: %w", io.ErrUnexpectedEOF), class: ErrUnreachable, out: true, again: true},
		{name: "a certificate that is not trusted", err: cut(x509.UnknownAuthorityError{}), class: ErrUnreachable, out: true, again: true},
		{name: "a deadline", err: context.DeadlineExceeded, class: ErrUnreachable, out: true, again: true},
		{name: "a deadline that the client sees coming", err: errors.New("client rate limiter Wait returned an error: rate: Wait(n=1) would exceed context deadline"), class: ErrUnreachable, out: true},
		{name: "410", err: apierrors.NewResourceExpired("too old")},
		{name: "an error of another kind", err: errors.New("no idea")},
	}
	all := []error{ErrNotFound, ErrConflict, ErrForbidden, ErrUnauthorized, ErrInvalid, ErrUnreachable}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := wrap("get node n1", tt.err)
			for _, class := range all {
				if want := errors.Is(tt.class, class); errors.Is(got, class) != want {
					t.Errorf("is %q: %t, want %t", class, !want, want)
				}
			}
			if !errors.Is(got, tt.err) || !strings.HasPrefix(got.Error(), "get node n1: ") || !strings.Contains(got.Error(), tt.err.Error()) {
				t.Errorf("%q does not carry the original error %q", got, tt.err)
			}
			if OutOfReach(got) != tt.out || transient(tt.err) != tt.again {
				t.Errorf("out of reach %t, transient %t; want %t, %t", OutOfReach(got), transient(tt.err), tt.out, tt.again)
			}
			if again := wrap("list nodes", got); again.Error() != got.Error() && tt.class != nil {
				t.Errorf("wrapped twice it reads %q", again)
			}
		})
	}
}

func TestWrap_leavesNothingAndCancellationAlone(t *testing.T) {
	t.Parallel()
	if err := wrap("get", nil); err != nil {
		t.Errorf("nil became %v", err)
	}
	cancelled := &url.Error{Op: "Get", Err: context.Canceled}
	if err := wrap("get", cancelled); !errors.Is(err, cancelled) || OutOfReach(err) {
		t.Errorf("a cancellation became %v", err)
	}
}

// TestWrap_printsOneLine: a webhook chooses its message, and CI reads commands at the start of a line.
func TestWrap_printsOneLine(t *testing.T) {
	t.Parallel()
	err := deniedBy("admission webhook \"a\" denied the request: no\n::error::forged\r\x1b[2J\u202edesrever")
	for _, doing := range []error{err, fmt.Errorf("patch: %w", err), errors.New("of no class\n::error::\x1b\u202e"), &url.Error{Op: "Get", URL: "https://cluster.test", Err: errors.New("x\n::error::\x1b\u202e")}} {
		got := wrap("patch nodes/a", doing)
		if strings.ContainsAny(got.Error(), "\n\r\x1b\u202e") || strings.Contains(got.Error(), "::error") || !strings.HasPrefix(got.Error(), "patch nodes/a: ") {
			t.Errorf("%T prints %q", doing, got)
		}
		if !errors.Is(got, doing) {
			t.Errorf("%T does not wrap the original error", got)
		}
	}
}

func TestPatience(t *testing.T) {
	t.Parallel()
	broken := apierrors.NewServiceUnavailable("starting")
	tests := []struct {
		name  string
		fails int
		err   error
		tries int
		wrong bool
		// The pauses without and with all of their jitter.
		least, most time.Duration
	}{
		{name: "a success needs no second try", tries: 1},
		{name: "an error that stays is returned at once", fails: 9, err: errors.New("no"), tries: 1, wrong: true},
		{name: "one transient error costs one pause", fails: 1, err: broken, tries: 2, least: 10 * time.Second, most: 12 * time.Second},
		// 10 + 20 + 25 + 25s: the pause doubles up to its bound and goes on.
		{name: "the pause stops growing and the tries go on", fails: 4, err: broken, tries: 5, least: 80 * time.Second, most: 96 * time.Second},
		{name: "in the end it gives up", fails: 9, err: broken, tries: 6, wrong: true, least: 105 * time.Second, most: 126 * time.Second},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				p, tries, start := retryPolicy{first: 10 * time.Second, most: 25 * time.Second, tries: 6}, 0, time.Now()
				err := p.do(t.Context(), func(context.Context) error {
					if tries++; tries <= tt.fails {
						return tt.err
					}
					return nil
				})
				took := time.Since(start)
				if tries != tt.tries || (err != nil) != tt.wrong || took < tt.least || took > tt.most {
					t.Errorf("%d tries in %s, %v", tries, took, err)
				}
			})
		})
	}
}

func TestPatience_endsWithItsContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 15*time.Second)
		defer cancel()
		start := time.Now()
		p := retryPolicy{first: 10 * time.Second, most: time.Minute, tries: 100}
		err := p.do(ctx, func(context.Context) error { return apierrors.NewServiceUnavailable("starting") })
		if !apierrors.IsServiceUnavailable(err) || time.Since(start) != 15*time.Second {
			t.Errorf("got %v after %s, want what the server said last, when the context ends", err, time.Since(start))
		}
	})
}

// TestResourceOf: kinds of several API groups have the same name.
func TestResourceOf(t *testing.T) {
	t.Parallel()
	for want, err := range map[string]error{
		"deployments.apps":     wrap("read", apierrors.NewNotFound(schema.GroupResource{Group: "apps", Resource: "deployments"}, "web")),
		"rollouts.argoproj.io": fmt.Errorf("reading: %w", apierrors.NewNotFound(schema.GroupResource{Group: "argoproj.io", Resource: "rollouts"}, "web")),
		"nodes":                apierrors.NewNotFound(schema.GroupResource{Resource: "nodes"}, "n1"),
		"":                     errors.New("not found"),
	} {
		if got := ResourceOf(err); got != want {
			t.Errorf("%v is about %q, want %q", err, got, want)
		}
	}
}

// deniedBy is what the API server answers where a webhook refuses a request and says no
// more than why: the status is that of missing rights.
func deniedBy(message string) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure, Code: http.StatusForbidden, Reason: metav1.StatusReasonForbidden, Message: message}}
}
