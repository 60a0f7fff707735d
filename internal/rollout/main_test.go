// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package rollout

import (
	"testing"
	"time"

	"go.uber.org/goleak"
)

// patient waits for the watches, which outlive the last user of a cluster by
// a few seconds.
type patient struct{ *testing.M }

func (m patient) Run() int {
	code := m.M.Run()
	for began := time.Now(); code == 0 && goleak.Find() != nil && time.Since(began) < 20*time.Second; {
		continue // Find takes its time.
	}
	return code
}

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(patient{m})
}
