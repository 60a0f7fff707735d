// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package bigcluster_test

import (
	"testing"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/bigcluster"
)

// TestPod_isAsLargeAsThoseOfRealClusters: what a plan costs depends on it.
func TestPod_isAsLargeAsThoseOfRealClusters(t *testing.T) {
	t.Parallel()
	if size := bigcluster.Pod(123_456, 5000).Size(); size < 6500 || size > 8000 {
		t.Errorf("a pod has %d bytes in its protobuf form, want about 7 KB", size)
	}
}
