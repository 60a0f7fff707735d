// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package faults_test

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/eviction"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/planner"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/rollout"
	tolerations "github.com/kubetaint/terraform-provider-kubetaint/internal/toleration"
)

// witness sees the resources of one run, one after the other.
type witness struct {
	changes  []*seenChange
	at       *seenChange
	applying bool
}

// seenChange is what one run does to one resource.
type seenChange struct {
	resource string
	// plans are those that the plan walk words: two for a replacement, none for a removal that evicts no pod.
	plans [][]seenStep
	taken []seenStep
	// replaced is set for a replacement, done once the apply has ended without an error.
	replaced, done bool
}

// seenStep is a step of a plan, or one that a run takes.
type seenStep struct {
	kind   planner.StepKind
	words  string
	impact []seenPod
	// object is the workload that it writes, and restarts is set where its pods restart by it.
	object   string
	restarts bool
	// keeps is set where tolerations stay as long as pods need them, retained for those of other resources.
	keeps, retained bool
	// rollsOut is set where it replaces machines.
	rollsOut bool
	// followed is set where the run has read pods: without them it knows no impact.
	followed bool
}

// seenPod is a pod that a step evicts or may evict.
type seenPod struct {
	name, workload string
	uid            types.UID
	verdict        eviction.Verdict
}

// Worded notes the plans of the plan walk alone: an apply plans again.
func (w *witness) Worded(p planner.Plan) {
	if w.applying {
		return
	}
	var steps []seenStep
	for _, s := range p.Steps {
		steps = append(steps, see(s, true))
	}
	w.at.plans = append(w.at.plans, steps)
}

// Takes notes a step that a run takes.
func (w *witness) Takes(s planner.Step, followed bool) {
	w.at.taken = append(w.at.taken, see(s, followed))
}

func see(s planner.Step, followed bool) seenStep {
	out := seenStep{kind: s.Kind, words: s.String(), retained: s.Retained, rollsOut: s.Switch != nil, followed: followed}
	if s.Workload != nil {
		out.object = s.Workload.Words()
		out.restarts, out.keeps = s.Kind != planner.Wait && len(s.Pods) > 0, tolerations.Retiring(s.Merged.Record)
	}
	if s.Report == nil {
		return out
	}
	for _, v := range s.Report.Pods {
		if v.Verdict != eviction.Stays {
			out.impact = append(out.impact, seenPod{
				name: v.Pod.Name, workload: fmt.Sprintf("%s %s/%s", v.Owner.Kind, v.Pod.Namespace, v.Owner.Name), uid: v.Pod.UID, verdict: v.Verdict,
			})
		}
	}
	return out
}

// sees has the witness see the processes of a Terraform.
func (w *witness) sees(ctx context.Context, tf *acctest.Terraform) *acctest.Terraform {
	out := *tf
	if out.Context == nil {
		out.Context = ctx
	}
	out.Context = rollout.WithWitness(out.Context, w)
	return &out
}
