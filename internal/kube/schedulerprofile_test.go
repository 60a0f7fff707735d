// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package kube

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/fakeapi"
)

func TestUnmodelled_namesTheProfileOfOpenShiftsScheduler(t *testing.T) {
	t.Parallel()
	kind := fakeapi.CustomKind("config.openshift.io/v1", "Scheduler", "schedulers")
	kind.Cluster = true
	for name, tt := range map[string]struct {
		profile string
		// elsewhere is set for a cluster that is none of OpenShift, without for one that does not serve the kind.
		elsewhere, without bool
		fault              fakeapi.Fault
		want               profile
		// asked is how often it is listed.
		asked int
		fails bool
	}{
		"another profile":         {profile: "HighNodeUtilization", want: profile{name: "HighNodeUtilization"}, asked: 1},
		"the default profile":     {profile: "LowNodeUtilization", asked: 1},
		"no profile":              {asked: 1},
		"no right to read it":     {profile: "NoScoring", fault: 403, want: profile{unread: true}, asked: 1},
		"no such kind":            {without: true, asked: 1},
		"a cluster of another":    {profile: "NoScoring", elsewhere: true},
		"no answer within a time": {profile: "NoScoring", fault: fakeapi.NoAnswer, fails: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				api := town()
				if !tt.without {
					api = town(kind)
					api.Add(object("config.openshift.io/v1", "Scheduler", "", "cluster", map[string]any{"spec": map[string]any{"profile": tt.profile}}))
				}
				n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n2"}}
				if !tt.elsewhere {
					n.Annotations = map[string]string{machineConfigAnnotation: "rendered"}
				}
				api.Add(n)
				c := api.connect(t)
				if _, err := c.Nodes(t.Context()); err != nil {
					t.Fatal(err)
				}
				api.fault = func(r fakeapi.Request, _ int) fakeapi.Fault {
					return map[bool]fakeapi.Fault{true: tt.fault}[r.Resource == "schedulers"]
				}
				for range 2 {
					out, err := c.Unmodelled(t.Context(), false, []*snapshot.Pod{{Namespace: "shop", Name: "web"}})
					if got := (profile{out.Profile, out.ProfileUnread}); got != tt.want || tt.fails != errors.Is(err, ErrUnreachable) {
						t.Errorf("got %+v, %v", got, err)
					}
				}
				if out, err := c.Unmodelled(t.Context(), false, nil); out.Profile != "" || out.ProfileUnread || err != nil {
					t.Errorf("where no pod is created: %+v, %v", out, err)
				}
				asked := 0
				for _, r := range api.requests() {
					if strings.Contains(r, "schedulers") {
						asked++
					}
				}
				if asked != tt.asked {
					t.Errorf("it is listed %d times, want %d", asked, tt.asked)
				}
			})
		})
	}
}
