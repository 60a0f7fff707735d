// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package machinesettaints_test

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/golden"
)

// TestAccMachineSetTaints_warnings holds what plans say against files.
func TestAccMachineSetTaints_warnings(t *testing.T) {
	t.Parallel()
	acctest.NeedKwok(t, "what a machine has stands in the text")
	s := newStage(t)
	p := s.pool(3, nil)
	apps := s.c.Namespace(t)
	s.c.Deployment(t, apps, "web", 1, func(spec *corev1.PodSpec) {
		spec.NodeSelector = map[string]string{"pool": p.Name}
		spec.Tolerations = acctestTolerations(t, foreign)
	})
	s.c.Deployment(t, apps, "db", 1, func(spec *corev1.PodSpec) {
		spec.NodeSelector = map[string]string{"pool": p.Name}
		spec.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}}
	})
	cli := acctest.NewCLI(t)
	for strategy, rollout := range map[string]string{
		"in_place": `strategy = "in_place"`, "surge": `strategy = "surge"`, "rolling": `strategy = "rolling"`, "scale_to_zero": `strategy = "scale_to_zero"`, "template_only": `strategy = "template_only"`,
	} {
		cli.Write(s.c.Provider(t), strings.Replace(s.hcl(p.Name, "a", rollout), "NoSchedule", "NoExecute", 1))
		var b strings.Builder
		for _, w := range cli.PlanWarnings() {
			fmt.Fprintf(&b, "%s: %s\n\n%s\n", w.Address, w.Summary, w.Detail)
		}
		golden.Check(t, "plan_"+strategy+".golden", strings.NewReplacer(p.Name, "gpu-a", s.namespace, "openshift-machine-api", apps, "shop").Replace(constant(p, b.String())))
	}
}

// TestAccMachineSetTaints_destroyIsPreviewed: the same rollout takes the taints away, and
// the plan says whom it drains.
func TestAccMachineSetTaints_destroyIsPreviewed(t *testing.T) {
	t.Parallel()
	acctest.NeedKwok(t, "what a machine has stands in the text")
	s := newStage(t)
	p := s.pool(2, nil)
	apps := s.c.Namespace(t)
	s.c.Deployment(t, apps, "web", 1, func(spec *corev1.PodSpec) {
		spec.NodeSelector = map[string]string{"pool": p.Name}
		spec.Tolerations = acctestTolerations(t, foreign)
	})
	cli := acctest.NewCLI(t)
	for _, rollout := range []string{"in_place", "rolling"} {
		cli.Write(s.c.Provider(t), s.hcl(p.Name, "a", `strategy = "`+rollout+`"`))
		cli.MustRun("apply", "-auto-approve", "-input=false")
		cli.Write(s.c.Provider(t), "")
		// Tolerations that retire on the workloads of other tests at this moment are told as well.
		warnings := slices.DeleteFunc(cli.PlanWarnings(), func(w acctest.PlanWarning) bool {
			return strings.Contains(w.Summary, " restarts ") && !strings.Contains(w.Summary, apps+"/")
		})
		if rollout == "in_place" {
			// NoSchedule evicts nobody, whether it comes or goes.
			if len(warnings) > 0 {
				t.Fatalf("a destroy in place warns of %v", warnings)
			}
			continue
		}
		var b strings.Builder
		for _, w := range warnings {
			fmt.Fprintf(&b, "%s\n\n%s\n", w.Summary, w.Detail)
		}
		golden.Check(t, "destroy_"+rollout+".golden", strings.NewReplacer(p.Name, "gpu-a", s.namespace, "openshift-machine-api", apps, "shop").Replace(constant(p, b.String())))
		cli.MustRun("apply", "-auto-approve", "-input=false")
	}
	p.Want(2, foreign)
}

func acctestTolerations(t *testing.T, notation string) []corev1.Toleration {
	t.Helper()
	var out []corev1.Toleration
	for _, one := range acctest.Parse(t, notation) {
		out = append(out, corev1.Toleration{Key: one.Key, Operator: corev1.TolerationOpEqual, Value: one.Value, Effect: one.Effect})
	}
	return out
}

// constant takes out of a text what differs from run to run: names that are made up,
// moments, and how many nodes other tests have.
func constant(p *acctest.Pool, text string) string {
	for pattern, with := range map[string]string{
		regexp.QuoteMeta(p.Name) + `-[a-z0-9]{5}`: "gpu-a-x",
		`(web|db)-[a-z0-9]+-[a-z0-9]{5}`:          "$1-x",
		`node-[0-9a-f]{16}`:                       "node-x",
		`\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC`:      "2026-11-21 02:14:07 UTC",
		`no other node would take it: [^\n;]*`:    "no other node would take it: 9 do not match its node selector",
	} {
		text = regexp.MustCompile(pattern).ReplaceAllString(text, with)
	}
	return text
}

// TestAccMachineSetTaints_interruptedAsThePlanTellsIt kills a surge after its first
// write.
func TestAccMachineSetTaints_interruptedAsThePlanTellsIt(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	p := s.pool(3, func(m *acctest.MachineSet) { m.Spare = 1 })
	cli, proxy := acctest.NewCLI(t), s.c.Proxy(t)
	cli.Write(proxy.Provider(t, s.c), s.hcl(p.Name, "a", `strategy = "surge"`))
	cli.MustRun("plan", "-input=false", "-out=plan")
	if !cli.ApplyAndKill(proxy, acctest.Request.Write, 1) {
		t.Fatal("the apply ended before it was killed")
	}
	acctest.Until(t, "the machine that was added serves", func(context.Context) (bool, error) { return len(p.Names()) == 4, nil })
	p.Serve(4)
	var b strings.Builder
	for _, w := range cli.PlanWarnings() {
		fmt.Fprintf(&b, "%s\n\n%s\n\n", w.Summary, w.Detail)
	}
	golden.Check(t, "interrupted.golden", strings.NewReplacer(p.Name, "gpu-a", s.namespace, "openshift-machine-api").Replace(constant(p, b.String())))
	cli.MustRun("apply", "-auto-approve", "-input=false")
	p.Want(3, foreign+" team=a:NoSchedule")
}
