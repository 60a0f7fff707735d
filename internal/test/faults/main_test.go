// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package faults_test

import (
	"os"
	"runtime/debug"
	"testing"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
)

// TestMain keeps client-go from writing about every watch that breaks. Thousands of short
// processes leave much garbage, and there is memory for it.
func TestMain(m *testing.M) {
	debug.SetGCPercent(800)
	klog.SetLogger(logr.Discard())
	os.Exit(m.Run())
}
