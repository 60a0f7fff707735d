// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

//go:build linux

package main

import "syscall"

// childAttributes puts a child into a process group of its own when asked, and
// makes the kernel kill it when this process dies in any way.
func childAttributes(ownGroup bool) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: ownGroup, Pdeathsig: syscall.SIGKILL}
}
