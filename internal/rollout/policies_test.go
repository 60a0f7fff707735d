// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package rollout

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/admission"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/eviction"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/kube"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/fakeapi"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/toleration"
)

// giving is the claim of a policy that gives tolerations to the pods of a namespace. After a
// "-" they retire.
func giving(name, owner string, notations ...string) admission.Claim {
	c := admission.Claim{Policy: admission.Policy{Name: name, Match: admission.Match{Namespaces: []string{namespace}}}, Mark: admission.Mark{Owner: owner, Generation: generation}}
	for _, one := range notations {
		bare, retires := strings.CutPrefix(one, "-")
		if retires {
			c.Retiring = append(c.Retiring, tolerating(bare))
		} else {
			c.Tolerations = append(c.Tolerations, tolerating(bare))
		}
	}
	return c
}

// connect returns a cluster that is not followed.
func (a *testServer) connect(t *testing.T) *kube.Cluster {
	t.Helper()
	c, err := kube.New(kube.Config{Host: fakeapi.Host, Transport: a.client})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// make puts policies as they are claimed, those that retire included.
func (a *testServer) make(t *testing.T, claims ...admission.Claim) {
	t.Helper()
	c := a.connect(t)
	for _, claim := range claims {
		if _, err := c.EditPolicy(t.Context(), claim.Name, func(*admission.Observed) (*admission.Objects, error) {
			objects, err := claim.Objects(claim.Mark)
			return &objects, err
		}); err != nil {
			t.Fatal(err)
		}
	}
}

// given returns what a policy gives, with a "-" before what retires.
func given(p *admission.Observed) string {
	if p == nil {
		return "gone"
	}
	parts := []string{p.Owner + ":"}
	for _, t := range p.Tolerations {
		parts = append(parts, taint.FormatToleration(t))
	}
	for _, t := range p.Retiring {
		parts = append(parts, "-"+taint.FormatToleration(t))
	}
	return strings.Join(parts, " ")
}

func TestEnforcePolicy(t *testing.T) {
	t.Parallel()
	const other = "size=9:NoSchedule"
	greater := admission.Claim{Policy: admission.Policy{Name: "gpu", Match: admission.Match{Namespaces: []string{namespace}}}, Mark: admission.Mark{Owner: "me", Generation: generation}}
	greater.Tolerations = []corev1.Toleration{{Key: "size", Operator: corev1.TolerationOpGt, Value: "5", Effect: corev1.TaintEffectNoSchedule}}
	release := giving("gpu", "me")
	release.Release = true
	for name, tt := range map[string]struct {
		// taints are those of the node n1, and there is what is there before.
		taints string
		there  []admission.Claim
		claim  admission.Claim
		// compares is set where the cluster may compare values.
		compares bool
		// faults are the status of lists of nodes.
		faults int

		want    string
		written bool
		fails   error
		says    string
	}{
		"one that is not there is made": {claim: giving("gpu", "me", teamA), want: "me: " + teamA, written: true},
		"one that is as wanted is not written": {
			there: []admission.Claim{giving("gpu", "me", teamA)}, claim: giving("gpu", "me", teamA), want: "me: " + teamA,
		},
		"a toleration that a live taint needs retires": {
			taints: teamA, there: []admission.Claim{giving("gpu", "me", teamA)}, claim: giving("gpu", "me", teamB), want: "me: " + teamB + " -" + teamA, written: true,
		},
		"a toleration that no live taint needs goes": {
			taints: teamB, there: []admission.Claim{giving("gpu", "me", teamA)}, claim: giving("gpu", "me", teamB), want: "me: " + teamB, written: true,
		},
		"nothing is kept without the right to list nodes": {
			taints: teamA, there: []admission.Claim{giving("gpu", "me", teamA)}, claim: giving("gpu", "me", teamB), faults: http.StatusForbidden, want: "me: " + teamB, written: true,
		},
		"nothing is written where nodes cannot be listed for another reason": {
			taints: teamA, there: []admission.Claim{giving("gpu", "me", teamA)}, claim: giving("gpu", "me", teamB), faults: http.StatusUnprocessableEntity, want: "me: " + teamA, fails: kube.ErrInvalid,
		},
		"nodes are not asked for where there is none": {claim: giving("gpu", "me", teamB), faults: http.StatusUnprocessableEntity, want: "me: " + teamB, written: true},
		"a comparison keeps nothing where the cluster does not compare": {
			taints: other, there: []admission.Claim{greater}, claim: giving("gpu", "me", teamB), want: "me: " + teamB, written: true,
		},
		"a comparison retires where the cluster may compare": {
			taints: other, there: []admission.Claim{greater}, claim: giving("gpu", "me", teamB), compares: true,
			want: "me: " + teamB + " -" + taint.FormatToleration(greater.Tolerations[0]), written: true,
		},
		"one that is given up is deleted":         {there: []admission.Claim{giving("gpu", "me", teamA)}, claim: release, want: "gone", written: true},
		"one that is gone is not given up":        {claim: release, want: "gone"},
		"one of another resource is a conflict":   {there: []admission.Claim{others(giving("gpu", "you", teamA))}, claim: giving("gpu", "me", teamA), want: "you: " + teamA, says: `is owned by "you"`},
		"one of another resource is not given up": {there: []admission.Claim{others(giving("gpu", "you", teamA))}, claim: release, want: "you: " + teamA},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				api := newServer(t, aNode("n1", "gpu", strings.Fields(tt.taints)...))
				api.make(t, tt.there...)
				begun, _ := api.writes()
				before := len(begun)
				api.faulty(func(r fakeapi.Request) int {
					return map[bool]int{true: tt.faults}[r.Verb == "list" && r.Resource == "nodes"]
				})
				comparison := eviction.ComparisonOff
				if tt.compares {
					comparison = eviction.ComparisonUnknown
				}
				seen, err := EnforcePolicy(t.Context(), api.connect(t), tt.claim, comparison)
				if (err != nil) != (tt.fails != nil || tt.says != "") || tt.fails != nil && !errors.Is(err, tt.fails) || err != nil && !strings.Contains(err.Error(), tt.says) {
					t.Errorf("it ends with %v, want %v", err, tt.fails)
				}
				if err == nil && given(seen) != tt.want {
					t.Errorf("it returns %s, want %s", given(seen), tt.want)
				}
				now, err := api.connect(t).Policy(t.Context(), "gpu")
				if err != nil || given(now) != tt.want {
					t.Errorf("there is %s (%v), want %s", given(now), err, tt.want)
				}
				if begun, _ := api.writes(); (len(begun) > before) != tt.written {
					t.Errorf("it wrote %v", begun[before:])
				}
			})
		})
	}
}

// others gives a claim another generation.
func others(c admission.Claim) admission.Claim {
	c.Generation = "g9"
	return c
}

// faulty has requests answered with a status, besides what the server does; 0 is none.
func (a *testServer) faulty(status func(fakeapi.Request) int) {
	a.client.OnRequest(func(r fakeapi.Request) fakeapi.Fault {
		if r.Write() {
			a.begin(r.Name)
		}
		return fakeapi.Fault(status(r))
	})
}

// TestRun_takesWhatRetiresOutOfPolicies once no live taint needs it. One
// that cannot be written keeps no other workload from it.
func TestRun_takesWhatRetiresOutOfPolicies(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		api := newServer(t, aNode("n1", "gpu", teamB))
		api.make(t, giving("a-refused", "me", "-"+teamA), giving("b-mine", "me", "keep:NoSchedule", "-"+teamA, "-"+teamB), giving("c-others", "you", "-"+teamA), giving("d-changed", "me", "-"+teamA), giving("e-still", "me", teamA))
		fakeapi.Edit(api.Server, "", "d-changed", func(b *admissionregistrationv1.MutatingAdmissionPolicyBinding) { b.Labels = nil })
		begun, _ := api.writes()
		before := len(begun)
		api.faulty(func(r fakeapi.Request) int {
			return map[bool]int{true: http.StatusForbidden}[r.Write() && r.Name == "a-refused"]
		})
		err := contractNow(t.Context(), api.connect(t), toleration.Claim{})
		if !errors.Is(err, kube.ErrForbidden) {
			t.Errorf("it ends with %v, want the refusal", err)
		}
		for name, want := range map[string]string{"a-refused": "me: -" + teamA, "b-mine": "me: keep:NoSchedule -" + teamB, "c-others": "you:", "d-changed": "me: -" + teamA, "e-still": "me: " + teamA} {
			if now, err := api.connect(t).Policy(t.Context(), name); err != nil || given(now) != want {
				t.Errorf("%s is %s (%v), want %s", name, given(now), err, want)
			}
		}
		if begun, _ := api.writes(); strings.Contains(fmt.Sprint(begun[before:]), "e-still") || strings.Contains(fmt.Sprint(begun[before:]), "d-changed") {
			t.Errorf("it wrote %v", begun[before:])
		}
	})
}
