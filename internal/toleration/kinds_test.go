// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package toleration

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
)

// TestMark_proofsAreOfWhatClustersHoldAlready: they are in annotations that an upgrade must
// go on believing.
func TestMark_proofsAreOfWhatClustersHoldAlready(t *testing.T) {
	t.Parallel()
	mark := Mark{Path: "spec.tolerations", Key: "a", Operator: corev1.TolerationOpEqual, Value: "1", Effect: corev1.TaintEffectNoExecute}
	want := []string{"toleration", "spec.tolerations", "a", "Equal", "1", "NoExecute"}
	if diff := cmp.Diff(want, mark.Sealed().Parts); diff != "" {
		t.Errorf("an entry: %s", diff)
	}
	mark.Retiring = true
	if diff := cmp.Diff(append(want, "retiring"), mark.Sealed().Parts); diff != "" {
		t.Errorf("one that retires: %s", diff)
	}
}
