// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

//go:build unix

package main

import (
	"os"
	"os/signal"
	"syscall"
	"unsafe"
)

// endSignals are the signals that ask testbed to end.
var endSignals = []os.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP}

// relay passes the signals that testbed gets on to a process until the returned
// function is called.
func relay(signals <-chan os.Signal, target *os.Process) (stop func()) {
	done := make(chan struct{})
	go func() {
		for {
			select {
			case <-done:
				return
			case sig := <-signals:
				// An interrupt typed at the terminal has already reached the whole
				// group. Terraform takes a second one as an order to quit immediately.
				if sig == os.Interrupt && inForeground() {
					continue
				}
				_ = target.Signal(sig)
			}
		}
	}()
	return func() { close(done) }
}

// notify returns a channel of the signals that ask testbed to end.
func notify() (signals chan os.Signal, stop func()) {
	signals = make(chan os.Signal, 8)
	signal.Notify(signals, endSignals...)
	return signals, func() { signal.Stop(signals) }
}

// inForeground reports whether the terminal sends its interrupts to this group.
func inForeground() bool {
	terminal, err := os.Open("/dev/tty")
	if err != nil {
		return false
	}
	defer terminal.Close()
	var group int32
	_, _, errno := syscall.Syscall(syscall.SYS_IOCTL, terminal.Fd(),
		syscall.TIOCGPGRP, uintptr(unsafe.Pointer(&group)))
	return errno == 0 && int(group) == syscall.Getpgrp()
}

// exitCode is a shell's view of how a process ended.
func exitCode(state *os.ProcessState) int {
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return 128 + int(status.Signal())
	}
	return state.ExitCode()
}

// detached makes a process survive the terminal and its interrupts.
func detached() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setsid: true}
}
