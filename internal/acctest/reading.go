// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package acctest

import (
	"os"
	"testing"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/kube"
)

// readingEnv chooses how providers in the process of a test read pods for a change of nodes: "nodes"
// reads those of the changed nodes first in every cluster, "all" never. Otherwise they read what is
// cheaper, which is all in the small clusters of tests. Tests that count requests expect that.
const readingEnv = "KUBETAINT_TEST_READING"

// chosenReading returns what the environment chooses.
func chosenReading() kube.Reading {
	return map[string]kube.Reading{"nodes": kube.ReadNodesFirst, "all": kube.ReadAllPods}[os.Getenv(readingEnv)]
}

// CountsRequests skips a test of how many requests are made where the environment chooses how pods
// are read.
func CountsRequests(t testing.TB) {
	t.Helper()
	if chosenReading() != kube.ReadCheaper {
		t.Skip("counts requests, and " + readingEnv + " is set")
	}
}
