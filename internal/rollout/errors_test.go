// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package rollout

import (
	"errors"
	"testing"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/workload"
)

func TestStuckError_saysWhatWasSeenLast(t *testing.T) {
	t.Parallel()
	web := &workload.Workload{Ref: workload.Ref{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "shop", Name: "web"}, Wants: 3}
	for want, stuck := range map[string]StuckError{
		"its controller has not reported it yet":                                                {},
		"still without the tolerations: web-1, web-2":                                           {Lacking: []string{"web-1", "web-2"}},
		"still pinned to the nodes: web-1":                                                      {Lacking: []string{"web-1"}, LosesLabels: true},
		"recreated and on no node yet: web-3":                                                   {Pending: []string{"web-3"}},
		"not ready, so that its controller replaces no other pod: web-0":                        {Blocking: []string{"web-0"}},
		"2 of 3 pods are not created yet; a lost pod would be recreated from an older template": {Missing: 2, Relapses: true},
		"1 of 3 pods are not created yet; an older ReplicaSet can still create pods":            {Missing: 1, Older: true},
		"still without the tolerations: web-1; its template does not have the tolerations":      {Lacking: []string{"web-1"}, Lost: true},
	} {
		stuck.Workload, stuck.Err = web, errors.New("too late")
		if got, want := stuck.Error(), `Deployment "shop/web" has not finished rolling out (`+want+"): too late"; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}
