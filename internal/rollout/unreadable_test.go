// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package rollout

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/eviction"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/kube"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/label"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/machineset"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/planner"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/fakeapi"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/toleration"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/workload"
)

// TestErrors_ofReadsEndWhatNeedsThem: each call has a cluster that refuses every request, and knows nothing of it yet.
func TestErrors_ofReadsEndWhatNeedsThem(t *testing.T) {
	t.Parallel()
	most, web := int64(0), &workload.Workload{Ref: workload.Ref{APIVersion: "apps/v1", Kind: "StatefulSet", Namespace: namespace, Name: "web"}}
	limited := func(c *kube.Cluster) *run {
		change := fromAToB("web")
		change.Limits = eviction.Limits{MaxPods: &most}
		return newRun(c, change, eviction.ComparisonOff)
	}
	ofSets := func(c *kube.Cluster) *run {
		change := taintingPool(machineset.InPlace)
		change.Workloads = wanting(teamA, "web")
		return newRun(c, change, eviction.ComparisonOff)
	}
	drains := func(c *kube.Cluster) *draining {
		return &draining{cluster: c, drain: Drain{NodeDrain: planner.NodeDrain{Nodes: []string{"n1"}}}, recorded: map[string][]awaited{}, expected: []*replaced{{wanted: 1, nodes: map[string]bool{"n1": true}}}}
	}
	machine := &machineset.Machine{Namespace: "m", Name: "a", Node: "n1", Set: "uid", Taints: []corev1.Taint{parsed(teamA)}}
	fresh := planner.NodePlan{Switches: []planner.Switch{{Node: &snapshot.Node{Name: "n1"}, Merged: taint.Merged{Taints: []corev1.Taint{parsed(teamA)}, Changed: true}}}}
	for name, call := range map[string]func(ctx context.Context, c *kube.Cluster) error{
		"a plan":                      func(ctx context.Context, c *kube.Cluster) error { _, err := limited(c).plan(ctx); return err },
		"limits right before a write": func(ctx context.Context, c *kube.Cluster) error { return limited(c).approve(ctx, fresh) },
		"the workloads of a change":   func(ctx context.Context, c *kube.Cluster) error { return limited(c).read(ctx) },
		"a retiring toleration":       func(ctx context.Context, c *kube.Cluster) error { return limited(c).takeAll(ctx) },
		"other lists of the same object": func(ctx context.Context, c *kube.Cluster) error {
			r := limited(c)
			r.known[0].workload = web
			return r.share(ctx, r.change.Workloads[0], &known{})
		},
		"a wait": func(ctx context.Context, c *kube.Cluster) error {
			_, err := (&wait{cluster: c, desired: wanting(teamA, "web")[0], known: known{workload: web}}).observe(ctx)
			return err
		},
		"MachineSets that can be read": func(ctx context.Context, c *kube.Cluster) error { return ofSets(c).readable(ctx) },
		"MachineSets of a step":        func(ctx context.Context, c *kube.Cluster) error { _, err := ofSets(c).sets(ctx); return err },
		"labels of MachineSets":        func(ctx context.Context, c *kube.Cluster) error { return ofSets(c).labelSets(ctx, false) },
		"counts that are left at zero": func(ctx context.Context, c *kube.Cluster) error { return ofSets(c).replenish(ctx) },
		"the limits of a rollout":      func(ctx context.Context, c *kube.Cluster) error { return ofSets(c).allowedRollout(ctx, "") },
		"a node that is emptied":       func(ctx context.Context, c *kube.Cluster) error { return drains(c).empty(ctx, "n1") },
		"replacements of a drain": func(ctx context.Context, c *kube.Cluster) error {
			_, err := drains(c).lookForReplacements(ctx)
			return err
		},
		"pods that came before the cordon": func(ctx context.Context, c *kube.Cluster) error {
			d := drains(c)
			d.drain.Nodes = nil
			return d.carryOut(ctx)
		},
		"a Machine": func(ctx context.Context, c *kube.Cluster) error {
			_, err := rereadMachine(ctx, c, machine)
			return err
		},
		"the MachineSet of a Machine": func(ctx context.Context, c *kube.Cluster) error {
			_, err := rereadSet(ctx, c, planner.NodeTaints{Sets: map[types.UID]*machineset.Set{"uid": {Namespace: "m", Name: "s"}}}, machine)
			return err
		},
		"a Machine that is written": func(ctx context.Context, c *kube.Cluster) error {
			return fromMachine(ctx, c, planner.NodeTaints{}, planner.Switch{Node: &snapshot.Node{Name: "n1"}, Machine: machine, FromMachine: []taint.ID{taint.IDOf(machine.Taints[0])}})
		},
		"marks of an id": func(ctx context.Context, c *kube.Cluster) error {
			_, err := MarkedBy(ctx, c, "terraform/x", toleration.Claim{})
			return err
		},
		"a MachineSet that is handed over": func(ctx context.Context, c *kube.Cluster) error {
			return HandOver(ctx, c, machineset.Target{Namespace: "m", Name: "s"}, taint.Claim{}, taint.Claim{})
		},
		"the labels of a MachineSet": func(ctx context.Context, c *kube.Cluster) error {
			r := ofSets(c)
			r.change.MachineSets.Labels = label.Claim{Owner: "me", Generation: generation}
			return r.labelSets(ctx, true)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				a := newServer(t, aNode("n1", "gpu"))
				c := a.connect(t)
				a.client.OnRequest(func(fakeapi.Request) fakeapi.Fault { return http.StatusForbidden })
				if err := call(t.Context(), c); !errors.Is(err, kube.ErrForbidden) {
					t.Errorf("it ends with %v", err)
				}
			})
		})
	}
}
