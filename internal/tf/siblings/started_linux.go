// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package siblings

import (
	"bytes"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// tick is the unit of times in /proc (proc_pid_stat(5); it is the same on all platforms that Go supports).
const tick = 10 * time.Millisecond

// started returns when the kernel started the process: a busy machine can take long to load its program.
func started() time.Time {
	stat, err := os.ReadFile("/proc/self/stat")
	// The name of the program, in parentheses, can have spaces. The time is the 22nd field, the 20th after the name.
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	var now unix.Timespec
	if err != nil || len(fields) < 20 || unix.ClockGettime(unix.CLOCK_BOOTTIME, &now) != nil {
		return loaded
	}
	ticks, err := strconv.ParseInt(string(fields[19]), 10, 64)
	if err != nil {
		return loaded
	}
	return time.Now().Add(time.Duration(ticks)*tick - time.Duration(now.Nano()))
}
