// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package session

import (
	"crypto/tls"
	"errors"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/eviction"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/kube"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/messages"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/tf/message"
)

// If the cluster cannot be read, the message reports why: an on-call reader must not look
// at the network where the credentials have expired.
func TestUnreachable(t *testing.T) {
	t.Parallel()
	messages.Expect(t, "no trusted connection")
	wrapped := func(class, err error) error { return &kube.Error{Class: class, Doing: "list nodes", Err: err} }
	certificate := &tls.CertificateVerificationError{Err: errors.New("unknown authority")}
	for name, tt := range map[string]struct {
		data            *Data
		err             error
		summary, detail string
	}{
		"not known": {&Data{}, message.ErrNotConnected, "Unable to read the cluster: the provider block is not known yet, so", "known only after apply"},
		"refused":   {&Data{Cluster: &kube.Cluster{}}, wrapped(kube.ErrUnauthorized, errors.New("401")), "Unable to read the cluster: the credentials were refused, so", "may have expired"},
		"untrusted": {&Data{Cluster: &kube.Cluster{}}, wrapped(kube.ErrUnreachable, certificate), "Unable to read the cluster: no trusted connection, so", "certificate is not trusted"},
		"no answer": {&Data{Cluster: &kube.Cluster{}}, wrapped(kube.ErrUnreachable, errors.New("refused")), "Unable to read the cluster, so", "did not answer"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var diags diag.Diagnostics
			tt.data.Unreachable(tt.err, &diags)
			tt.data.Unreachable(tt.err, &diags)
			messages.GotAll(t, diags)
			if len(diags) != 1 || !strings.HasPrefix(diags[0].Summary(), tt.summary) || !strings.Contains(diags[0].Detail(), tt.detail) {
				t.Errorf("it says %v", diags)
			}
			if original := strings.Contains(diags[0].Detail(), "Original error"); original != (tt.data.Cluster != nil) {
				t.Errorf("the original error is there: %v", original)
			}
		})
	}
}

func TestNoPreview(t *testing.T) {
	t.Parallel()
	forbidden := &kube.Error{Class: kube.ErrForbidden, Doing: "list pods", Err: errors.New("403")}
	none := int64(0)
	for name, tt := range map[string]struct {
		data    *Data
		err     error
		strict  bool
		summary string
		want    []string
		at      bool
	}{
		"no right":                 {&Data{Cluster: &kube.Cluster{}}, forbidden, false, `Unable to preview evictions on node "a"`, []string{"The change is planned, but which pods it evicts is not known. The credentials", "Original error: list pods: 403"}, false},
		"any other error":          {&Data{Cluster: &kube.Cluster{}}, errors.New("strange"), false, `Unable to preview evictions on node "a"`, []string{"is not known.\n\nOriginal error: strange"}, false},
		"a budget of the resource": {&Data{Cluster: &kube.Cluster{}}, forbidden, true, `Unable to check the eviction limits for evictions on node "a": the cluster could not be read`, []string{"A limit is set in evictions. ", "remove the limit for this run"}, true},
		"a budget of the provider": {&Data{Cluster: &kube.Cluster{}, Evictions: message.Limits{Limits: eviction.Limits{MaxPods: &none}}}, forbidden, true, `Unable to check the eviction limits for evictions on node "a": the cluster could not be read`, []string{"here or in the provider block"}, false},
		"no cluster yet":           {&Data{}, message.ErrNotConnected, true, `Unable to check the eviction limits for evictions on node "a" before apply: the provider block is not known yet`, []string{"known only after apply", "Apply checks the limits before its first write"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var diags diag.Diagnostics
			NoPreview(`evictions on node "a"`, "evicts", tt.err, tt.strict, tt.data, &diags)
			if len(diags) != 1 || diags[0].Summary() != tt.summary || diags.HasError() != (tt.strict && tt.data.Cluster != nil) {
				t.Fatalf("it says %v", diags)
			}
			for _, want := range tt.want {
				if !strings.Contains(diags[0].Detail(), want) {
					t.Errorf("nothing says %q in %s", want, diags[0].Detail())
				}
			}
			if _, at := diags[0].(diag.DiagnosticWithPath); at != tt.at {
				t.Errorf("it is at an attribute: %v", at)
			}
		})
	}
}
