// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package message

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/kube"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/rollout"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/workload"
)

// Each error that is told apart ends in what to do.
func TestAdvise(t *testing.T) {
	t.Parallel()
	class := func(class error, err error) error { return &kube.Error{Class: class, Doing: "list pods", Err: err} }
	plain := errors.New("plain")
	for name, tt := range map[string]struct {
		err  error
		want string
		// later reports that a data source is told how to be read later.
		later bool
	}{
		"a timeout":                   {class(kube.ErrUnreachable, fmt.Errorf("get: %w", context.DeadlineExceeded)), "Run it again, with a longer timeout", true},
		"no permission":               {class(kube.ErrForbidden, plain), "The credentials have no permission for this request. Grant it: the guide \"Permissions\"", false},
		"refused credentials":         {class(kube.ErrUnauthorized, plain), "Renew them and run again.", false},
		"an untrusted certificate":    {class(kube.ErrUnreachable, &tls.CertificateVerificationError{Err: plain}), "certificate is not trusted", true},
		"a command that fails":        {class(kube.ErrUnreachable, errors.New("getting credentials: exec: exit 1")), "the command that prints the credentials failed", true},
		"no connection yet":           {ErrNotConnected, "known only after apply", true},
		"no answer":                   {class(kube.ErrUnreachable, plain), "Check that its API server runs, and the network to it.", true},
		"a rejected request":          {class(kube.ErrInvalid, plain), "have it allow this change, or change the configuration", false},
		"no evictions":                {fmt.Errorf("evict pod shop/web: %w", kube.ErrNoEvictions), "A drain deletes no pods in their place", false},
		"no right to delete pods":     {fmt.Errorf("%w: %w", kube.ErrMayNotDelete, class(kube.ErrForbidden, plain)), "the guide has it as a rule of its own. Add that rule, or drain without disable_eviction.", false},
		"a controller that reverts":   {&rollout.RevertedError{Thing: workload.Ref{APIVersion: "machine.openshift.io/v1beta1", Kind: "Machine", Namespace: "ns", Name: "a"}}, "Find out who by its managedFields (kubectl get machine.machine.openshift.io a -n ns -o yaml --show-managed-fields). Make that tool", false},
		"an object that others write": {&rollout.RevertedError{Thing: workload.Ref{Kind: "Node", Name: "a"}, Busy: true}, "before each write, so this run has given up. Find out who by its managedFields (kubectl get node a -o yaml --show-managed-fields). Pause that tool", false},
		"a conflict":                  {class(kube.ErrConflict, plain), "Run again. If that fails too, find out by its managedFields who keeps writing it", false},
		"an interruption":             {context.Canceled, "Run it again.", false},
		"any other error":             {plain, "", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := Advise(tt.err); !strings.Contains(got, tt.want) || (tt.want == "") != (got == "") {
				t.Errorf("it advises %q, want %q", got, tt.want)
			}
			var diags diag.Diagnostics
			UnableToRead("kubetaint_nodes", tt.err, &diags)
			want := tt.want
			if want == "" {
				want = "The request failed. Run again"
			}
			if said := diags[0].Detail(); !strings.Contains(said, want) || strings.Contains(said, LaterAdvice) != tt.later || !strings.Contains(said, "Original error: "+tt.err.Error()) {
				t.Errorf("a data source says %q", said)
			}
		})
	}
}
