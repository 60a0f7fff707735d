// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
)

const usage = `usage:
  testbed build [COMPONENT...]       build, by default what a cluster needs
  testbed path COMPONENT             build when needed, print the binary's path
  testbed path --installed terraform print the path of a terraform or tofu on PATH
                                     that is new enough, or else of a built one
  testbed run [--dir DIR] -- CMD...  run CMD beside a cluster of its own
  testbed up [--name NAME]           start a cluster in the background
  testbed down [--name NAME]         stop it and remove its folder

build, path, run and up take
  --kubernetes VERSION               1.37, 1.36, 1.35 or 1.34; KUBETAINT_KUBERNETES
                                     or else 1.37 by default

run and up take
  --machine-api                      play OpenShift's Machine API on the cluster
  --machine-api-flags 'FLAGS'        with these flags of "testbed path machineapi"
  --api-server-flags 'FLAGS'         with more flags of the API server
  --controller-manager-flags 'FLAGS' with more flags of the controller manager
`

// usageError is a wrong command line.
type usageError struct{ error }

// Unwrap lets a question for help be told from a mistake.
func (e usageError) Unwrap() error { return e.error }

func main() {
	code, err := dispatch(os.Args[1:])
	var wrong usageError
	switch {
	case errors.As(err, &wrong):
		if !errors.Is(err, flag.ErrHelp) {
			fmt.Fprintln(os.Stderr, "testbed:", err)
		}
		fmt.Fprint(os.Stderr, usage)
		code = 2
	case err != nil:
		fmt.Fprintln(os.Stderr, "testbed:", err)
		code = 1
	}
	os.Exit(code)
}

// dispatch runs one command and returns the exit code. Deferred teardown has run
// when it returns, which is why nothing below main calls os.Exit.
func dispatch(args []string) (int, error) {
	ctx, stop := signal.NotifyContext(context.Background(), endSignals...)
	defer stop()
	if len(args) == 0 {
		return 0, usageError{errors.New("no command given")}
	}
	command, args := args[0], args[1:]
	switch command {
	case "build":
		return 0, buildCommand(ctx, args)
	case "path":
		return 0, pathCommand(ctx, args)
	case "run":
		return runCommand(ctx, args)
	case "up":
		return 0, upCommand(ctx, args, os.Stdout)
	case "down":
		return 0, downCommand(ctx, args)
	case "supervise":
		return 0, superviseCommand(ctx, args)
	case "help", "-h", "-help", "--help":
		fmt.Print(usage)
		return 0, nil
	default:
		return 0, usageError{fmt.Errorf("unknown command %q", command)}
	}
}

// buildCommand builds components one after the other: each build uses all
// processors by itself.
func buildCommand(ctx context.Context, args []string) error {
	flags := newFlags("build")
	kubernetes := addKubernetesFlag(flags)
	if err := flags.Parse(args); err != nil {
		return usageError{err}
	}
	b, err := newBuilder()
	if err != nil {
		return err
	}
	names := flags.Args()
	if len(names) == 0 {
		names = []string{clusterComponent}
	}
	for _, name := range names {
		if _, err := b.chosen(ctx, name, *kubernetes); err != nil {
			return err
		}
	}
	return nil
}

// pathCommand prints where a component's binary is.
func pathCommand(ctx context.Context, args []string) error {
	flags := newFlags("path")
	kubernetes := addKubernetesFlag(flags)
	installed := flags.Bool("installed", false, "take a command line from PATH if it is new enough")
	if err := flags.Parse(args); err != nil {
		return usageError{err}
	}
	if flags.NArg() != 1 {
		return usageError{errors.New("path: want one component")}
	}
	name := flags.Arg(0)
	if *installed {
		if name != terraformComponent {
			return usageError{fmt.Errorf("path: --installed is for %s, not for %q", terraformComponent, name)}
		}
		if path, ok := installedCommandLine(ctx, os.Stderr); ok {
			fmt.Println(path)
			return nil
		}
	}
	b, err := newBuilder()
	if err != nil {
		return err
	}
	path, err := b.chosen(ctx, name, *kubernetes)
	if err != nil {
		return err
	}
	fmt.Println(path)
	return nil
}
