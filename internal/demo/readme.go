// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"
)

const readmeFile = "README.md"

var (
	colors = regexp.MustCompile(`\x1b\[[0-9;]*m`)
	// shownPlan is the block of the README that begins with the sum of a plan.
	shownPlan = regexp.MustCompile("(?s)(```text\n)(Plan: .*?)(```\n)")
)

// readme puts the end of the plan on the sample cluster into the README, or only reports
// whether the README has it.
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
	plan, err := endOf(colors.ReplaceAllString(string(out), ""))
	if err != nil {
		return err
	}
	page, err := os.ReadFile(readmeFile)
	if err != nil {
		return err
	}
	shown := shownPlan.FindSubmatch(page)
	switch {
	case shown == nil:
		return errors.New(readmeFile + " has no block that begins with the sum of a plan")
	case !check:
		page = shownPlan.ReplaceAllFunc(page, func([]byte) []byte { return []byte("```text\n" + plan + "```\n") })
		return os.WriteFile(readmeFile, page, 0o644)
	case string(shown[2]) != plan:
		return fmt.Errorf("%s shows another plan than comes out, which is:\n%s\nrun \"make readme\"", readmeFile, plan)
	}
	return nil
}

// endOf returns the sum of a plan and its first warning.
func endOf(output string) (string, error) {
	_, rest, found := strings.Cut(output, "\nPlan: ")
	sum, _, _ := strings.Cut(rest, "\n")
	_, warning, boxed := strings.Cut(rest, "╷\n")
	warning, _, closed := strings.Cut(warning, "╵\n")
	if !found || !boxed || !closed {
		return "", fmt.Errorf("this is no plan with a warning:\n%s", output)
	}
	var trimmed strings.Builder
	for line := range strings.Lines(warning) {
		trimmed.WriteString(strings.TrimRight(line, " \n") + "\n")
	}
	return "Plan: " + sum + "\n╷\n" + trimmed.String() + "╵\n", nil
}
