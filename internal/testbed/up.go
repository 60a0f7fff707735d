// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// background is a cluster that outlives the command which started it.
type background struct {
	name string
	base string
}

// validName keeps a name from reaching out of the cache folder.
var validName = regexp.MustCompile(`^[a-z0-9][a-z0-9-]*$`)

// newFlags returns the flags of a command.
func newFlags(command string) *flag.FlagSet {
	flags := flag.NewFlagSet(command, flag.ContinueOnError)
	flags.SetOutput(io.Discard) // The error is printed once, by main.
	return flags
}

// parseBackground reads the flags of a command, to which it adds the one that
// names the cluster.
func parseBackground(command string, flags *flag.FlagSet, args []string) (*background, error) {
	name := flags.String("name", "default", "`name` of the cluster")
	if err := flags.Parse(args); err != nil {
		return nil, usageError{err}
	}
	if flags.NArg() > 0 {
		return nil, usageError{fmt.Errorf("%s: unexpected argument %q", command, flags.Arg(0))}
	}
	if !validName.MatchString(*name) {
		return nil, usageError{fmt.Errorf("%s: a name has lower case letters, digits and hyphens only, not %q", command, *name)}
	}
	cache, err := cacheDir()
	if err != nil {
		return nil, err
	}
	base := filepath.Join(cache, "clusters")
	if err := os.MkdirAll(base, 0o755); err != nil {
		return nil, fmt.Errorf("making the folder of clusters: %w", err)
	}
	return &background{name: *name, base: base}, nil
}

func (b *background) dir() string     { return filepath.Join(b.base, b.name) }
func (b *background) pidFile() string { return b.dir() + ".pid" }
func (b *background) logFile() string { return b.dir() + ".log" }

// lifeFile is locked by the supervisor as long as it lives.
func (b *background) lifeFile() string { return b.dir() + ".lock" }

// change waits for its turn to start or stop the cluster.
func (b *background) change(ctx context.Context) (*fileLock, error) {
	return waitLock(ctx, b.dir()+".change.lock")
}

// running reports whether a supervisor lives.
func (b *background) running() (bool, error) {
	lock, err := tryLock(b.lifeFile())
	if errors.Is(err, errLocked) {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	lock.release()
	return false, nil
}

// upCommand starts a cluster in the background unless it runs already. What it
// prints on standard output can be evaluated by a shell.
func upCommand(ctx context.Context, args []string, stdout io.Writer) error {
	flags := newFlags("up")
	machines := addClusterFlags(flags)
	b, err := parseBackground("up", flags, args)
	if err != nil {
		return err
	}
	// Built before the cluster detaches, so that progress is seen.
	builder, err := newBuilder()
	if err != nil {
		return err
	}
	programs, err := machines.programs(ctx, builder)
	if err != nil {
		return err
	}
	turn, err := b.change(ctx)
	if err != nil {
		return err
	}
	defer turn.release()
	running, err := b.running()
	if err != nil {
		return err
	}
	if !running {
		err = b.start(ctx, programs)
	} else if machines.wanted && !fileExists(filepath.Join(b.dir(), "pids", machineAPIName+".pid")) {
		err = fmt.Errorf("the cluster %q runs without the Machine API: end it with \"down\" first", b.name)
	}
	if err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "cluster %q is up, its kubeconfig is %s\n", b.name, filepath.Join(b.dir(), "kubeconfig"))
	for _, variable := range clusterEnvironment(b.dir()) {
		name, value, _ := strings.Cut(variable, "=")
		fmt.Fprintf(stdout, "export %s='%s'\n", name, strings.ReplaceAll(value, "'", `'\''`))
	}
	return nil
}

// start starts a supervisor and waits for its cluster.
func (b *background) start(ctx context.Context, programs programs) error {
	if err := os.RemoveAll(b.dir()); err != nil {
		return fmt.Errorf("removing an old cluster: %w", err)
	}
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("finding testbed itself: %w", err)
	}
	log, err := os.Create(b.logFile())
	if err != nil {
		return fmt.Errorf("making the supervisor's log: %w", err)
	}
	defer log.Close()
	cmd := exec.Command(self, append([]string{"supervise", "--name", b.name}, programs.arguments()...)...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = detached()
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("starting the supervisor: %w", err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for !fileExists(b.pidFile()) || !fileExists(b.readyFile()) {
		select {
		case <-ctx.Done():
			_ = cmd.Process.Signal(syscall.SIGTERM)
			return errors.Join(context.Cause(ctx), <-ended)
		case err := <-ended:
			content, _ := os.ReadFile(b.logFile())
			return fmt.Errorf("the supervisor ended (%w):\n%s", err, content)
		case <-time.After(pollEvery):
		}
	}
	return nil
}

// readyFile appears when the cluster can be used.
func (b *background) readyFile() string { return filepath.Join(b.dir(), "ready") }

// superviseCommand is the process behind up.
func superviseCommand(ctx context.Context, args []string) error {
	flags := newFlags("supervise")
	programs := addPrograms(flags)
	b, err := parseBackground("supervise", flags, args)
	if err != nil {
		return err
	}
	life, err := tryLock(b.lifeFile())
	if err != nil {
		return err
	}
	defer life.release()
	if err := os.MkdirAll(b.dir(), 0o755); err != nil {
		return fmt.Errorf("making the cluster's folder: %w", err)
	}
	if err := os.WriteFile(b.pidFile(), []byte(strconv.Itoa(os.Getpid())+"\n"), 0o644); err != nil {
		return fmt.Errorf("writing the pid file: %w", err)
	}
	c, err := startCluster(ctx, programs(), filepath.Dir(b.base), b.dir())
	if err != nil {
		return err
	}
	defer c.stop()
	if err := os.WriteFile(b.readyFile(), nil, 0o644); err != nil {
		return fmt.Errorf("saying that the cluster is ready: %w", err)
	}
	<-ctx.Done()
	return nil
}

// downCommand stops a background cluster and removes its files.
func downCommand(ctx context.Context, args []string) error {
	b, err := parseBackground("down", newFlags("down"), args)
	if err != nil {
		return err
	}
	turn, err := b.change(ctx)
	if err != nil {
		return err
	}
	defer turn.release()
	running, err := b.running()
	if err != nil {
		return err
	}
	if running {
		if err := b.end(ctx); err != nil {
			return err
		}
	}
	err = errors.Join(os.RemoveAll(b.dir()), os.RemoveAll(b.pidFile()), os.RemoveAll(b.logFile()))
	if err != nil {
		return fmt.Errorf("removing the cluster's files: %w", err)
	}
	fmt.Fprintf(os.Stderr, "cluster %q is down\n", b.name)
	return nil
}

// end asks the supervisor to end and waits until it has.
func (b *background) end(ctx context.Context) error {
	content, err := os.ReadFile(b.pidFile())
	if err != nil {
		return fmt.Errorf("reading the supervisor's pid: %w", err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(content)))
	if err != nil {
		return fmt.Errorf("reading the supervisor's pid: %w", err)
	}
	if err := syscall.Kill(pid, syscall.SIGTERM); err != nil && !errors.Is(err, syscall.ESRCH) {
		return fmt.Errorf("ending the supervisor: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	life, err := waitLock(ctx, b.lifeFile())
	if err != nil {
		return err
	}
	life.release()
	return nil
}
