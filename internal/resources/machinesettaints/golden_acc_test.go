// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package machinesettaints_test

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/golden"
)

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
		regexp.QuoteMeta(p.Name) + `-\d{3}\b`:     "gpu-a-x",
		`(web|db)-[a-z0-9]+-[a-z0-9]{5}`:          "$1-x",
		`node-[0-9a-f]{16}`:                       "node-x",
		`\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC`:      "2026-11-21 02:14:07 UTC",
		`no node: [^\n;]*`:                        "no node: 9 selector",
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
