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

const (
	readmeFile  = "README.md"
	pictureFile = ".github/plan.svg"
)

var (
	// shownPlan is the block of the README that begins with the sum of a plan.
	shownPlan = regexp.MustCompile("(?s)(```text\n)(Plan: .*?)(```\n)")
	// shownPicture is the picture of it. Its text is the summary of the warning.
	shownPicture = regexp.MustCompile(`!\[[^\]]*\]\(` + regexp.QuoteMeta(pictureFile) + `\)`)
)

// readme puts the end of the plan on the sample cluster into the README, as a picture and as
// text, or only reports whether the README has it.
func readme(ctx context.Context, check bool) error {
	return withSample(ctx, func(_ *sample, tf *terraform) error { return tf.readme(ctx, check) })
}

func (tf *terraform) readme(ctx context.Context, check bool) error {
	if err := tf.use(predicting, previewed); err != nil {
		return err
	}
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
	drawn, wanted := plan.picture(), plan.page(string(page))
	switch {
	case !shownPlan.Match(page):
		return errors.New(readmeFile + " has no block that begins with the sum of a plan")
	case !shownPicture.Match(page):
		return errors.New(readmeFile + " does not show " + pictureFile)
	case !check:
		return errors.Join(os.WriteFile(readmeFile, []byte(wanted), 0o644), os.WriteFile(pictureFile, []byte(drawn), 0o644))
	}
	if old, err := os.ReadFile(pictureFile); err != nil || string(old) != drawn || wanted != string(page) {
		return fmt.Errorf("%s or %s shows another plan than comes out, which is:\n%s\nrun \"make readme\"", readmeFile, pictureFile, plan)
	}
	return nil
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
func (p planEnd) page(readme string) string {
	readme = shownPlan.ReplaceAllLiteralString(readme, "```text\n"+p.String()+"```\n")
	return shownPicture.ReplaceAllLiteralString(readme, "!["+p.summary()+"]("+pictureFile+")")
}
