// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package faults_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/fakeapi"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/fakeapi/controllers"
)

// world has three Deployments and a StatefulSet, some of which tolerate some taints.
func (s *sequence) world(api *fakeapi.Server) {
	if s.machines {
		onMachines(api)
	} else {
		shop("Deployment")(api)
	}
	for _, kind := range []string{"StatefulSet", "DaemonSet"} {
		if s.IntN(2) == 0 {
			continue
		}
		tolerations := []corev1.Toleration{{Key: "foreign", Operator: corev1.TolerationOpExists}}
		if s.IntN(2) == 0 {
			tolerations = append(tolerations, corev1.Toleration{Key: "team", Operator: corev1.TolerationOpExists})
		}
		api.Add(workload(kind, tolerations...))
	}
}

// told is what plans and applies have said.
type told struct {
	all string
	// plan is what the last plan has said.
	plan string
}

// outcome is how a run ended.
type outcome struct {
	// refused is set where a plan was an error.
	refused bool
	// failed is the error of the apply.
	failed string
	// seen is what a run has done that has come to its end, nil for others.
	seen *witness
}

// run plans and applies all resources in one run, by two processes, of which the second one may be killed.
func (s *sequence) run(t *testing.T, planning, applying *acctest.Terraform, killed func() bool, after bool, said *told) outcome {
	t.Helper()
	planned, of, seen := map[*instance]acctest.Planned{}, map[*instance]*seenChange{}, &witness{}
	planning, applying = seen.sees(t.Context(), planning), seen.sees(t.Context(), applying)
	walk := planning.Walk(t)
	said.plan = ""
	for _, r := range s.order(after) {
		if d := walk.Refresh(&r.Instance); d.Errors() != "" {
			t.Fatal(d.Errors())
		}
		if !r.Exists() && r.config(after) == nil {
			continue
		}
		seen.at = &seenChange{resource: r.Type}
		p := walk.Plan(&r.Instance, s.configured(r, after))
		seen.at.replaced = p.Replace
		if r == s.resources[0] && r.config(after) != nil && p.State != nil {
			s.tolerationsID = planning.Attributes(t, &acctest.Instance{Type: r.Type, State: p.State})["id"]
		}
		said.plan += p.Diagnostics.Warnings()
		if p.Diagnostics.Errors() != "" {
			return outcome{refused: true}
		}
		if !p.Empty {
			planned[r], of[r] = p, seen.at
		}
	}
	said.all += said.plan
	walk, seen.applying = applying.Walk(t), true
	for _, r := range s.order(after) {
		if p, changes := planned[r]; changes {
			saved := r.Instance
			seen.at = of[r]
			seen.changes = append(seen.changes, seen.at)
			d := s.apply(walk, r, p, after)
			said.all += d.Warnings()
			if killed() {
				r.Instance = saved
				return outcome{failed: "killed"}
			}
			if d.Errors() != "" {
				return outcome{failed: d.Errors()}
			}
			seen.at.done = true
		}
	}
	return outcome{seen: seen}
}

// apply applies one resource. A replacement destroys first.
func (s *sequence) apply(walk *acctest.Walk, r *instance, p acctest.Planned, after bool) acctest.Diagnostics {
	if p.Replace {
		if d := walk.ApplyChange(&r.Instance, acctest.Planned{Private: p.Private}, nil); d.Errors() != "" {
			return d
		}
	}
	return walk.ApplyChange(&r.Instance, p, s.configured(r, after))
}

// configured returns the configuration of a resource with its link.
func (s *sequence) configured(r *instance, after bool) map[string]any {
	config := r.config(after)
	if config != nil && s.timeouts != nil && r.Type != "kubetaint_toleration_policy" && r.Type != "kubetaint_namespace_tolerations" {
		config = acctest.With(config, object{"timeouts": s.timeouts})
	}
	if config == nil || !r.linked || s.resources[0].config(after) == nil {
		return config
	}
	return acctest.With(config, object{"tolerated_by": []any{s.tolerationsID}})
}

// order is that of Terraform's walk: what depends on another resource is changed after it, and
// destroyed before it.
func (s *sequence) order(after bool) []*instance {
	out := slices.Clone(s.resources)
	before := func(r *instance) int {
		switch {
		case r.linked && r.config(after) == nil:
			return 0
		case r.linked:
			return 2
		}
		return 1
	}
	slices.SortStableFunc(out, func(a, b *instance) int { return before(a) - before(b) })
	return out
}

// refusal is in a plan whose apply writes nothing because pods would be stranded.
const refusal = "apply will refuse this"

// TestSequences_evictOnlyWhomAPlanNames applies a random configuration, and a random change of it
// with a fault or a kill at a random request, and goes on until all is done. Whom a taint evicts
// meanwhile has been named by a plan before. An apply without a fault fails if its plan has said so, and
// only then. It takes the steps of its plan, each evicts the pods that the plan has of it, and no other pod is gone
// afterwards but those of workloads that restart. In the end nothing is left to plan.
func TestSequences_evictOnlyWhomAPlanNames(t *testing.T) {
	t.Parallel()
	from, count := chosenSeeds(t, 12, 2000)
	ended := &ends{}
	t.Cleanup(func() { ended.check(t, count) })
	for seed := from; seed < from+count; seed++ {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			t.Parallel()
			s := newSequence(uint64(seed), namesOfFakes)
			s.ends = ended
			s.try(t)
		})
	}
}

func (s *sequence) try(t *testing.T) {
	t.Helper()
	bubble(t, moment{api: fakeapi.New(controllers.MachineAPI...)}, func(t *testing.T, api *fakeapi.Server) {
		s.log(t)
		s.world(api)
		time.Sleep(calm)
		said := &told{}
		if !s.carriedOut(t, api, false, said) {
			s.ends.note("refused at first")
			return
		}
		disturbed, at := api.Client(), 1+s.IntN(60)
		what := among(s, fakeapi.None, fakeapi.Kill, fakeapi.KillAfter, 409, 500, fakeapi.CutAfter)
		t.Logf("fault %d at request %d", what, at)
		disturbed.OnRequest(func(r fakeapi.Request) fakeapi.Fault {
			if r.Number == at {
				return what
			}
			return fakeapi.None
		})
		if s.run(t, through(api.Client()), through(disturbed), disturbed.Killed, true, said).refused {
			s.ends.note("change refused")
			return
		}
		// Until rollouts that this run has begun are over, a plan sees pods that they replace before the apply.
		time.Sleep(calm)
		s.checkEvicted(t, api, said)
		// While a pod is missing, a toleration is kept that it may need: the run after it removes it.
		for range 2 {
			if !s.carriedOut(t, api, true, said) {
				s.ends.note("change refused")
				return
			}
		}
		s.checkPlansAreEmpty(t, through(api.Client()))
		s.ends.note(ranToTheEnd)
	})
}

// ranToTheEnd is how a sequence ends after which nothing is left to plan. The others end where a plan or, as it has said, an
// apply is an error.
const ranToTheEnd = "carried out"

// check fails if few of the sequences were carried out: what is compared would be little.
func (e *ends) check(t *testing.T, count int) {
	t.Helper()
	t.Logf("%d sequences: %v", count, e.of)
	if 10*e.of[ranToTheEnd] < 6*count {
		t.Errorf("only %d of %d sequences were carried out: %v", e.of[ranToTheEnd], count, e.of)
	}
}

func (s *sequence) log(t *testing.T) {
	t.Helper()
	for _, r := range s.resources {
		t.Logf("%s, linked %t: %v, then %v", r.Type, r.linked, r.before, r.after)
	}
}

// carriedOut plans and applies without a fault, and reports whether that was not refused.
func (s *sequence) carriedOut(t *testing.T, api *fakeapi.Server, after bool, said *told) bool {
	t.Helper()
	before := runningIn(fakeapi.Objects[*corev1.Pod](api), workloadOf)
	end := s.run(t, through(api.Client()), through(api.Client()), never, after, said)
	time.Sleep(calm)
	s.checkEvicted(t, api, said)
	end.seen.check(t)
	end.seen.checkGone(t, before, runningIn(fakeapi.Objects[*corev1.Pod](api), workloadOf))
	return s.asPlanned(t, end, said)
}

func never() bool { return false }

// asPlanned reports whether a run has come to its end, and checks that the apply has failed only if the
// plan has said so.
func (s *sequence) asPlanned(t *testing.T, end outcome, said *told) bool {
	t.Helper()
	if end.refused {
		return false
	}
	refuses, other := strings.Contains(said.plan, refusal), ""
	switch {
	case refuses == (end.failed != ""):
	case strings.Contains(said.plan, refusal+" unless"):
		other = "the order of two resources decides, which the plan cannot see"
	case strings.Contains(said.plan, " restarts ") && strings.Contains(end.failed, "but not the new one"):
		other = "the apply alone knows the nodes of pods that restart in the same run"
	case strings.Contains(said.plan, " restarts ") && regexp.MustCompile(` to node "`+s.beside+`" .*`+refusal).MatchString(said.plan):
		other = "a pod that the plan finds on the node beside the pool may restart on the pool"
	case strings.Contains(end.failed, "did not finish in time") && strings.Contains(end.failed, "not scheduled yet"):
		other = "no node takes the new pods before the taints have changed"
	default:
		t.Errorf("the plan says that the apply refuses: %t\n%s\n%s", refuses, said.plan, end.failed)
	}
	if other != "" {
		s.ends.note(other)
	}
	return end.failed == ""
}

func (s *sequence) checkPlansAreEmpty(t *testing.T, tf *acctest.Terraform) {
	t.Helper()
	walk := tf.Walk(t)
	for _, r := range s.order(true) {
		if d := walk.Refresh(&r.Instance); d.Errors() != "" {
			t.Fatal(d.Errors())
		}
		config := s.configured(r, true)
		if r.Exists() != (config != nil) {
			t.Errorf("%s is in the state: %t", r.Type, r.Exists())
			continue
		}
		if config == nil {
			continue
		}
		if p := walk.Plan(&r.Instance, config); !p.Empty || p.Diagnostics.Errors() != "" {
			t.Errorf("%s: the plan is not empty in the end: %s%s", r.Type, p.Diagnostics.Errors(), p.Diagnostics.Warnings())
		}
	}
}

// evicts matches the rows of a preview that name a workload of which pods are evicted, or may be since the run restarts them.
func evicts(workload string) *regexp.Regexp {
	return regexp.MustCompile(`(?m)^  (LOST|PENDING\??|PDB|DAEMON|REJECTED|MAYBE|ok) +\S+  ` + workload + `\b|^  ` + workload + `: up to \d+ pods?$`)
}

// checkEvicted checks that a plan or an apply has named the workload of each evicted pod.
func (s *sequence) checkEvicted(t *testing.T, api *fakeapi.Server, said *told) {
	t.Helper()
	for _, pod := range api.Evictions() {
		if workload := workloadOf(strings.TrimPrefix(pod, "shop/")); !evicts(workload).MatchString(said.all) {
			t.Errorf("%s is evicted, and no plan has said so of %s:\n%s", pod, workload, said.all)
		}
	}
}
