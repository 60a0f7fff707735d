// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"
)

// restartPause keeps a component that cannot start from eating a processor.
const restartPause = 200 * time.Millisecond

// spawner starts children on one operating system thread that never ends. The
// kernel's parent death signal fires when the thread that started a child ends,
// and the runtime ends threads as it likes.
var spawner = sync.OnceValue(func() chan<- func() {
	jobs := make(chan func())
	go func() {
		runtime.LockOSThread()
		for job := range jobs {
			job()
		}
	}()
	return jobs
})

// spawn starts a command so that it dies with this process.
func spawn(cmd *exec.Cmd) error {
	started := make(chan error, 1)
	spawner() <- func() { started <- cmd.Start() }
	return <-started
}

// process is one component of a cluster, started again whenever it dies.
type process struct {
	name    string
	binary  string
	args    []string
	pidFile string
	logFile string

	mu       sync.Mutex
	cmd      *exec.Cmd
	exits    int
	stopping bool

	stopped chan struct{}
	done    chan struct{}
}

// newProcess describes a component whose files are in a cluster's folder.
func newProcess(dir, name, binary string, args []string) *process {
	return &process{
		name:    name,
		binary:  binary,
		args:    args,
		pidFile: filepath.Join(dir, "pids", name+".pid"),
		logFile: filepath.Join(dir, "logs", name+".log"),
		stopped: make(chan struct{}),
		done:    make(chan struct{}),
	}
}

// errStopping ends supervision.
var errStopping = errors.New("stopping")

// run starts the component and watches over it in the background.
func (p *process) run() error {
	cmd, err := p.start()
	if err != nil {
		close(p.done)
		return fmt.Errorf("starting %s: %w", p.name, err)
	}
	go p.supervise(cmd)
	return nil
}

// start starts the component once and rewrites its pid file.
func (p *process) start() (*exec.Cmd, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stopping {
		return nil, errStopping
	}
	log, err := os.OpenFile(p.logFile, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	cmd := exec.Command(p.binary, p.args...)
	cmd.Dir = filepath.Dir(filepath.Dir(p.logFile))
	cmd.Stdout, cmd.Stderr = log, log
	cmd.Env = processEnv()
	// In a group of its own, since an interrupt typed at the terminal is for the
	// test, which may want to clean up in a living cluster.
	cmd.SysProcAttr = childAttributes(true)
	if err := spawn(cmd); err != nil {
		return nil, err
	}
	p.cmd = cmd
	// Renamed into place, so that a test never reads half a number.
	temp := p.pidFile + ".tmp"
	err = errors.Join(
		os.WriteFile(temp, []byte(strconv.Itoa(cmd.Process.Pid)+"\n"), 0o644),
		os.Rename(temp, p.pidFile),
	)
	if err != nil {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		return nil, err
	}
	return cmd, nil
}

// supervise starts the component again until stop is called.
func (p *process) supervise(cmd *exec.Cmd) {
	defer close(p.done)
	for {
		started := time.Now()
		var reason any = errors.New("not started")
		if cmd != nil {
			_ = cmd.Wait()
			reason = cmd.ProcessState
		}
		p.mu.Lock()
		p.exits++
		stopping := p.stopping
		p.mu.Unlock()
		if stopping {
			return
		}
		p.note(fmt.Sprintf("%s ended (%v), starting it again", p.name, reason))
		if time.Since(started) < time.Second {
			select {
			case <-p.stopped:
				return
			case <-time.After(restartPause):
			}
		}
		var err error
		if cmd, err = p.start(); errors.Is(err, errStopping) {
			return
		} else if err != nil {
			p.note(fmt.Sprintf("starting %s: %v", p.name, err))
		}
	}
}

// note adds a line of testbed's own to the component's log.
func (p *process) note(text string) {
	log, err := os.OpenFile(p.logFile, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return
	}
	defer log.Close()
	fmt.Fprintf(log, "testbed: %s\n", text)
}

// failures reports how often the component has died.
func (p *process) failures() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.exits
}

// stop kills the component and waits until it is gone. Its data are thrown away,
// so a graceful end would only cost time.
func (p *process) stop() {
	p.mu.Lock()
	if !p.stopping {
		p.stopping = true
		close(p.stopped)
	}
	if p.cmd != nil {
		_ = p.cmd.Process.Kill()
	}
	p.mu.Unlock()
	<-p.done
}

// logTail returns the end of the component's log.
func (p *process) logTail() string {
	content, err := os.ReadFile(p.logFile)
	if err != nil {
		return err.Error()
	}
	return lastLines(string(content), 20)
}

func lastLines(text string, count int) string {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	return strings.Join(lines[max(0, len(lines)-count):], "\n")
}

// processEnv has the garbage collectors of what is started run less often than Go's
// default, unless the caller reports how often: the API server of a test makes a lot of
// garbage beside little that lasts, a compiler takes a quarter less time of processors,
// and memory is what a machine for tests has more of than processors.
func processEnv() []string {
	env := os.Environ()
	if _, set := os.LookupEnv("GOGC"); !set {
		env = append(env, "GOGC=400")
	}
	return env
}
