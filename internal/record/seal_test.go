// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package record_test

import (
	"testing"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/record"
)

func TestSeal(t *testing.T) {
	t.Parallel()
	ours, theirs := record.Seal{Nonce: "n1"}, record.Seal{Nonce: "n2"}
	proof := ours.Proof("taint", "team", "NoExecute")
	for name, tt := range map[string]struct {
		seal  record.Seal
		proof string
		parts []string
		want  bool
	}{
		"its own proof":                   {ours, proof, []string{"taint", "team", "NoExecute"}, true},
		"a proof of another entry":        {ours, proof, []string{"taint", "other", "NoExecute"}, false},
		"parts that are joined otherwise": {ours, proof, []string{"taint", "teamNoExecute"}, false},
		"a proof on another object":       {record.Seal{Nonce: "n1", Object: "Node/b"}, proof, []string{"taint", "team", "NoExecute"}, false},
		"a proof of another resource":     {theirs, proof, []string{"taint", "team", "NoExecute"}, false},
		"no proof":                        {ours, "", []string{"taint", "team", "NoExecute"}, false},
		"no nonce":                        {record.Seal{}, "", []string{"taint", "team", "NoExecute"}, true},
	} {
		if got := tt.seal.Proves(record.Sealed{Proof: tt.proof, Parts: tt.parts}); got != tt.want {
			t.Errorf("%s is believed: %t, want %t", name, got, tt.want)
		}
	}
	if got := (record.Seal{}).Proof("taint"); got != "" {
		t.Errorf("without a nonce the proof is %q", got)
	}
}
