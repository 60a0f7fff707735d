// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
)

const readmeFile = "README.md"

// shownPlan is the block of the README that begins with the sum of a plan.
var shownPlan = regexp.MustCompile("(?s)(```text\n)(Plan: .*?)(```\n)")

// exhibit is the end of a plan as the README shows it.
type exhibit struct {
	// picture is a file. Its description is the summary of the plan's warning.
	picture string
	// text is set where the README has it as text, too.
	text bool
}

var (
	plannedTaint   = exhibit{picture: ".github/plan.svg", text: true}
	plannedRollout = exhibit{picture: ".github/rollout.svg"}
)

// shown matches the picture in the README.
func (e exhibit) shown() *regexp.Regexp {
	return regexp.MustCompile(`!\[[^\]]*\]\(` + regexp.QuoteMeta(e.picture) + `\)`)
}

// readme puts the end of the plan on the sample cluster into the README, as a picture and as
// text, or only reports whether the README has it.
func readme(ctx context.Context, check bool) error {
	return withSample(ctx, func(_ *sample, tf *terraform) error {
		if err := tf.use(predicting, previewed); err != nil {
			return err
		}
		return tf.readme(ctx, plannedTaint, check)
	})
}

// readmeRollout does the same with the plan that replaces machines.
func readmeRollout(ctx context.Context, check bool) error {
	return withMachines(ctx, func(_ *sample, _ *machines, tf *terraform, config string) error {
		if err := tf.use("", edits.Replace(config)); err != nil {
			return err
		}
		return tf.readme(ctx, plannedRollout, check)
	})
}

func (tf *terraform) readme(ctx context.Context, e exhibit, check bool) error {
	cmd := tf.command(ctx, "plan", "-input=false")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return err
	}
	plan, err := endOf(terminal(string(out)))
	if err != nil {
		return err
	}
	page, err := os.ReadFile(readmeFile)
	if err != nil {
		return err
	}
	drawn, wanted := plan.picture(), plan.page(e, string(page))
	switch {
	case e.text && !shownPlan.Match(page):
		return errors.New(readmeFile + " has no block that begins with the sum of a plan")
	case !e.shown().Match(page):
		return errors.New(readmeFile + " does not show " + e.picture)
	case !check:
		return errors.Join(os.WriteFile(readmeFile, []byte(wanted), 0o644), os.WriteFile(e.picture, []byte(drawn), 0o644))
	}
	if old, err := os.ReadFile(e.picture); err != nil || !alike(string(old), drawn) || wanted != string(page) {
		return fmt.Errorf("%s or %s shows another plan than comes out, which is:\n%s\nrun \"make readme\"", readmeFile, e.picture, plan)
	}
	return nil
}

// moved matches how many pods a rollout evicts again. The machines of the demo have random names, and by names chance decides
// which of two equal ones takes a pod.
var moved = regexp.MustCompile(`\d+(-\d+)? evicted again`)

// alike reports whether two pictures differ in such numbers alone.
func alike(a, b string) bool {
	return moved.ReplaceAllLiteralString(a, "") == moved.ReplaceAllLiteralString(b, "")
}

// planEnd is the sum of a plan and its first warning.
type planEnd []line

// endOf finds them in what a command line prints.
func endOf(printed []line) (planEnd, error) {
	begins := func(prefix string) func(line) bool {
		return func(l line) bool { return strings.HasPrefix(l.String(), prefix) }
	}
	sum := slices.IndexFunc(printed, begins("Plan: "))
	if sum >= 0 {
		top := slices.IndexFunc(printed[sum:], begins("╷"))
		bottom := slices.IndexFunc(printed[sum:], begins("╵"))
		if top >= 0 && bottom > top {
			return append(planEnd{printed[sum]}, printed[sum+top:sum+bottom+1]...), nil
		}
	}
	var all strings.Builder
	for _, l := range printed {
		all.WriteString(l.String() + "\n")
	}
	return nil, fmt.Errorf("this is no plan with a warning:\n%s", all.String())
}

// String returns the text without colors.
func (p planEnd) String() string {
	var b strings.Builder
	for _, l := range p {
		b.WriteString(l.String() + "\n")
	}
	return b.String()
}

// summary is the warning's first line.
func (p planEnd) summary() string { return strings.TrimPrefix(p[2].String(), bar) }

// picture draws the text under the command that prints it.
func (p planEnd) picture() string {
	command := line{{text: "$ ", color: 90}, {text: "terraform plan", bold: true}}
	return picture(p.summary(), append([]line{command, nil}, p...))
}

// page puts text and picture into the README.
func (p planEnd) page(e exhibit, readme string) string {
	if e.text {
		readme = shownPlan.ReplaceAllLiteralString(readme, "```text\n"+p.String()+"```\n")
	}
	return e.shown().ReplaceAllLiteralString(readme, "!["+p.summary()+"]("+e.picture+")")
}
