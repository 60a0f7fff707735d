// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

//go:build unix && !linux

package main

import "syscall"

// childAttributes puts a child into a process group of its own when asked. Only
// Linux can tie a child's life to its parent's.
func childAttributes(ownGroup bool) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: ownGroup}
}
