// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

// Command mutants measures whether the unit tests notice mistakes. It draws small
// changes of the packages that decide something, runs the tests of the changed package
// on each, and fails where fewer than 95 % of the changes make a test fail.
//
// A seed draws the same changes again, as long as the code is the same. The code on disk
// is never changed: go test reads the changed file from an overlay.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"strings"
)

// packages are those whose decisions their own unit tests must hold.
var packages = []string{
	"internal/taint", "internal/toleration", "internal/label", "internal/admission",
	"internal/snapshot", "internal/placement", "internal/eviction", "internal/planner", "internal/machineset", "internal/rollout",
}

// required is the part of the mutants that must be caught.
const required = 0.95

func main() {
	seed := flag.Uint64("seed", 1, "draws the mutants")
	count := flag.Int("count", 60, "how many mutants to test")
	workers := flag.Int("workers", runtime.NumCPU(), "how many mutants to test at once")
	only := flag.String("packages", strings.Join(packages, ","), "folders of the packages to change")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, strings.Split(*only, ","), *seed, *count, *workers); err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, packages []string, seed uint64, count, workers int) error {
	all, err := find(".", packages)
	if err != nil {
		return err
	}
	fmt.Printf("%d mutants are possible; seed %d draws %d of them.\n", len(all), seed, min(count, len(all)))
	tester, err := newTester(ctx, packages)
	if err != nil {
		return err
	}
	defer tester.close()
	s, err := draw(ctx, all, seed, count, workers, tester.test)
	if err != nil {
		return err
	}
	for _, m := range s.survivors {
		fmt.Printf("\n%s\n", m)
	}
	fmt.Printf("\n%s\n", s)
	return s.verdict()
}
