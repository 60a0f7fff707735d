// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package rollout

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/eviction"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/kube"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/machineset"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/planner"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/fakeapi"
)

// oneRefusal refuses one request of those that are made while it counts, and lastingly: each repetition, too, as missing rights do.
type oneRefusal struct {
	nth, seen int
	refused   fakeapi.Request
	counts    atomic.Bool
	// conflicts is set where the first write of each object meets a conflict before.
	conflicts bool
	met       map[string]bool
}

func (f *oneRefusal) fault(r fakeapi.Request) fakeapi.Fault {
	if !f.counts.Load() || r.Verb == "watch" {
		return fakeapi.None
	}
	if object := r.Resource + "/" + r.Name; f.conflicts && r.Write() && r.Subresource == "" && !f.met[object] {
		f.met[object] = true
		return http.StatusConflict
	}
	repeated := r
	repeated.Number = f.refused.Number
	if f.seen++; f.seen != f.nth && (f.seen < f.nth || repeated != f.refused) {
		return fakeapi.None
	}
	f.refused = r
	return http.StatusForbidden
}

// during counts the requests of one call.
func (f *oneRefusal) during(c *fakeapi.Client, call func() error) error {
	c.OnRequest(f.fault)
	f.counts.Store(true)
	defer f.counts.Store(false)
	return call()
}

// beside is what a plan can do without: the plan names what is not known then.
var beside = []string{"selfsubjectrulesreviews", "persistentvolumes", "replicasets", "jobs", "daemonsets", "poddisruptionbudgets", "resourcequotas", "limitranges", "mutatingadmissionpolicies"}

// TestRun_tellsOfEachRequestThatIsRefused, whichever one of a change it is.
func TestRun_tellsOfEachRequestThatIsRefused(t *testing.T) {
	t.Parallel()
	onMachines := func(change func(t *testing.T, w *machineWorld, c *kube.Cluster) Request, notations ...string) func(t *testing.T, f *oneRefusal) error {
		return func(t *testing.T, f *oneRefusal) error {
			w := newMachineWorld(t, 2, notations...)
			w.run()
			c := w.follow(t)
			wants := change(t, w, c)
			return f.during(w.client, func() error {
				_, err := Run(t.Context(), c, wants, eviction.ComparisonOff)
				return err
			})
		}
	}
	drains := func(rules planner.DrainRules) func(t *testing.T, f *oneRefusal) error {
		return func(t *testing.T, f *oneRefusal) error {
			s := newDrainScene(t, hostNode("n1"), hostNode("n2"))
			s.set("web", 1)
			s.onNode("web-1", "n1", ofSet("web"))
			c := s.api.follow(t, true)
			s.api.client.OnAnswer(func(r fakeapi.Request, status int) {
				if (r.Subresource == "eviction" || r.Verb == "delete") && status < http.StatusBadRequest {
					s.end(r.Name)
					s.onNode("web-2", "n2", ofSet("web"))
				}
			})
			ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
			defer cancel()
			f.conflicts = false // Its writes have no guard.
			return f.during(s.api.client, func() error {
				return s.drain(ctx, c, Drain{NodeDrain: planner.NodeDrain{Nodes: []string{"n1"}, Rules: rules}, AwaitReplacements: true})
			})
		}
	}
	for name, run := range map[string]func(t *testing.T, f *oneRefusal) error{
		"taints and tolerations": func(t *testing.T, f *oneRefusal) error {
			a := newServer(t, aNode("n1", "gpu", "*"+teamA))
			a.addSets(aSet("web", 2, "*"+teamA))
			c := a.follow(t, true)
			return f.during(a.client, func() error {
				_, err := Run(t.Context(), c, fromAToB("web"), eviction.ComparisonOff)
				return err
			})
		},
		"a drain":               drains(planner.DrainRules{}),
		"a drain that deletes":  drains(planner.DrainRules{DisableEviction: true}),
		"machines in place":     onMachines(func(*testing.T, *machineWorld, *kube.Cluster) Request { return taintingPool(machineset.InPlace) }),
		"machines are replaced": onMachines(func(*testing.T, *machineWorld, *kube.Cluster) Request { return taintingPool(machineset.Rolling) }),
		"labels of machines":    onMachines(func(*testing.T, *machineWorld, *kube.Cluster) Request { return labelling("pool", "a") }),
		"a taint of Machines": onMachines(func(t *testing.T, _ *machineWorld, c *kube.Cluster) Request {
			t.Helper()
			adopt := adopting()
			if _, err := Run(t.Context(), c, Request{Nodes: &adopt}, eviction.ComparisonOff); err != nil {
				t.Fatal(err)
			}
			desired := releasing(t, c)
			return Request{Nodes: &desired}
		}, "team=a:NoSchedule"),
	} {
		for _, conflicts := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, after conflicts %t", name, conflicts), func(t *testing.T) {
				t.Parallel()
				told := 0
				for nth, more := 1, true; more; nth++ {
					synctest.Test(t, func(t *testing.T) {
						f := oneRefusal{nth: nth, conflicts: conflicts, met: map[string]bool{}}
						err := run(t, &f)
						more = f.seen >= nth
						without := !more || slices.Contains(beside, f.refused.Resource)
						if without != (err == nil) || err != nil && !errors.Is(err, kube.ErrForbidden) {
							t.Errorf("where %s is refused it ends with %v", f.refused, err)
						}
						if err != nil {
							told++
						}
					})
				}
				if told < 3 {
					t.Errorf("only %d requests are refused", told)
				}
			})
		}
	}
}

// taintingPool gives the MachineSet pool the taint a.
func taintingPool(strategy machineset.Strategy) Request {
	return Request{
		Owner:       "me",
		MachineSets: &planner.DesiredSets{Target: machineset.Target{Namespace: machineset.OperatorNamespace, Name: "pool"}, Desired: rollingOut(strategy), AtOnce: 1},
		Machines:    Machines{Slots: &Slots{}},
	}
}
