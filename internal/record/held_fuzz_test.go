// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package record_test

import (
	"maps"
	"testing"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/record"
)

// FuzzParseHeld: whatever a state holds, it is read without a panic, and written and read again it is
// the same. A mark that the resource has not made is not held by it.
func FuzzParseHeld(f *testing.F) {
	seal := record.Seal{Nonce: "secret", Object: "Node/a"}
	genuine := record.Held{}
	genuine.Hold(seal, record.Sealed{Proof: seal.Proof("taint", "a"), Parts: []string{"taint", "a"}})
	f.Add("")
	f.Add(genuine.String())
	f.Add(genuine.String() + "cut off")
	f.Add("\xff\x00 ******" + genuine.String())
	f.Fuzz(func(t *testing.T, s string) {
		held := record.ParseHeld(s)
		if again := record.ParseHeld(held.String()); !maps.Equal(held, again) {
			t.Fatalf("%q is read as %v, and read again as %v", s, held, again)
		}
		seal := record.Seal{Nonce: "another secret", Object: "Node/b", Epoch: 2, Held: held}
		if forged := (record.Sealed{Proof: "made up", Parts: []string{"taint", "b"}}); seal.Proves(forged) {
			t.Fatalf("%q proves a mark that another writer has made up", s)
		}
	})
}
