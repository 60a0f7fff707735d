// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package siblings

import (
	"os"
	"path/filepath"
	"runtime"
	"sync/atomic"
	"syscall"
	"time"
)

// loaded is when this package was initialized: soon after the process was started.
var loaded = time.Now()

// own is the ledger of this process, nil where no command line has started it for a provider block: tests, and
// a debugger's.
var own atomic.Pointer[Ledger]

// Serve lets Distinct tell the summaries of this process from those of others that the same command line has
// started. Where the user has no cache folder, or none that can be written to, they are left as they are.
func Serve() {
	dir, err := os.UserCacheDir()
	if err != nil {
		return
	}
	if l, err := open(filepath.Join(dir, "terraform-provider-kubetaint"), os.Getppid(), os.Getpid(), started()); err == nil {
		own.Store(l)
	}
}

// Distinct returns the summary of a warning, with a number where another provider block of the run has used it.
func Distinct(summary string) string { return own.Load().Distinct(summary) }

// runs reports whether the system has a process of this number. Windows opens none that has ended, and knows no
// signal 0.
func runs(process int) bool {
	found, err := os.FindProcess(process)
	return err == nil && (runtime.GOOS == "windows" || found.Signal(syscall.Signal(0)) == nil)
}
