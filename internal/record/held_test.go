// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package record_test

import (
	"fmt"
	"testing"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/record"
)

// TestSeal_epochs has marks of three applies: one that came to its end, one before that, and
// one that was interrupted.
func TestSeal_epochs(t *testing.T) {
	t.Parallel()
	made := func(object string, epoch int, nonce string) string {
		return record.Seal{Nonce: nonce, Object: object, Epoch: epoch}.Proof("taint", "a")
	}
	begin := record.Seal{Nonce: "secret", Object: "Node/a"}
	held := record.Held{}
	held.Hold(begin, made("Node/a", 1, "secret"))
	held.Hold(record.Seal{Nonce: "secret", Object: "Node/b"}, made("Node/b", 0, "secret"))
	held.Hold(begin, "short")
	if again := record.ParseHeld(held.String()).String(); again != held.String() || len(held) != 2 {
		t.Fatalf("%q is read as %q", held.String(), again)
	}
	for name, tt := range map[string]struct {
		object, proof string
		held          record.Held
		want          bool
	}{
		"held":                                   {"Node/a", made("Node/a", 1, "secret"), held, true},
		"held, of a build without epochs":        {"Node/b", made("Node/b", 0, "secret"), held, true},
		"given up":                               {"Node/a", made("Node/a", 2, "secret"), held, false},
		"given up, of a build without epochs":    {"Node/a", made("Node/a", 0, "secret"), held, false},
		"of an interrupted apply":                {"Node/a", made("Node/a", 3, "secret"), held, true},
		"nothing is remembered":                  {"Node/a", made("Node/a", 0, "secret"), nil, true},
		"nothing is held":                        {"Node/a", made("Node/a", 1, "secret"), record.Held{}, false},
		"another epoch is written before it":     {"Node/a", "3" + made("Node/a", 2, "secret")[1:], held, false},
		"the epoch is written in another way":    {"Node/a", "0" + made("Node/a", 3, "secret"), held, false},
		"of another resource, in its own epoch":  {"Node/a", made("Node/a", 3, "other"), held, false},
		"of another object, held there":          {"Node/a", made("Node/b", 0, "secret"), held, false},
		"of another object, that is interrupted": {"Node/a", made("Node/b", 3, "secret"), held, false},
	} {
		seal := record.Seal{Nonce: "secret", Object: tt.object, Epoch: 3, Held: tt.held}
		if got := seal.Proves(tt.proof, "taint", "a"); got != tt.want {
			t.Errorf("%s: %t, want %t", name, got, tt.want)
		}
		want := tt.proof
		if !tt.want {
			want = seal.Proof("taint", "a")
		}
		if got := seal.Renew(tt.proof, "taint", "a"); got != want {
			t.Errorf("%s: it is renewed as %q, want %q", name, got, want)
		}
	}
	kept := record.Held{}
	kept.Keep(begin, held)
	if kept.String() == "" || len(kept) != 1 || !held[kept.String()] {
		t.Errorf("of %q, Node/a keeps %q", held.String(), kept.String())
	}
	retained, now := record.Held{}, record.Seal{Nonce: "secret", Object: "Node/a", Epoch: 3, Held: held}
	for _, epoch := range []int{1, 2} {
		retained.Retain(now, made("Node/a", epoch, "secret"))
	}
	retained.Retain(now, "short")
	if retained.String() != kept.String() {
		t.Errorf("of %q, what is still there on Node/a is %q", held.String(), retained.String())
	}
}

// TestSeal_imports has an import see one mark of two on an object, whose proofs are of another
// resource.
func TestSeal_imports(t *testing.T) {
	t.Parallel()
	made := record.Seal{Nonce: "lost", Object: "Node/a"}.Proof("taint", "a")
	begin := record.Seal{Nonce: "secret", Object: "Node/a"}
	held := record.Held{}
	held.Note(begin, "imported", "g1", "a")
	for name, tt := range map[string]struct {
		object, generation  string
		epoch               int
		held                record.Held
		saw, lenient, proof bool
	}{
		"seen":                         {"Node/a", "g1", 1, held, true, true, false},
		"seen, some applies ago":       {"Node/a", "g1", 7, held, true, true, false},
		"not seen":                     {"Node/a", "g2", 1, held, false, false, false},
		"seen on another object":       {"Node/b", "g1", 1, held, false, false, false},
		"nothing is held":              {"Node/a", "g1", 1, record.Held{}, false, false, false},
		"in a state of earlier builds": {"Node/b", "g2", 0, nil, true, true, false},
	} {
		seal := record.Seal{Nonce: "secret", Object: tt.object, Epoch: tt.epoch, Held: tt.held}
		sight := []string{"imported", tt.generation, "a"}
		if got := seal.Saw(sight...); got != tt.saw {
			t.Errorf("%s: saw it: %t", name, got)
		}
		if got := seal.ProvesSeen(sight, made, "taint", "a"); got != tt.proof {
			t.Errorf("%s: proves it: %t", name, got)
		}
		own := seal.Proof("taint", "a")
		if seal.Lenient = true; seal.Saw(sight...) != tt.saw || seal.ProvesSeen(sight, made, "taint", "a") != tt.lenient || !seal.ProvesSeen(sight, own, "taint", "a") {
			t.Errorf("%s: where proofs are lost: %t, want %t, or its own mark is not believed", name, !tt.lenient, tt.lenient)
		}
	}
}

// What is remembered of a mark on each of 5,000 nodes is as much as a page of text.
func TestHeld_isSmall(t *testing.T) {
	t.Parallel()
	held := record.Held{}
	for n := range 5000 {
		seal := record.Seal{Nonce: "secret", Object: fmt.Sprintf("Node/worker-%d", n)}
		held.Hold(seal, seal.Proof("taint", "a"))
	}
	if size := len(held.String()); size > 50_000 || len(held) < 4990 {
		t.Errorf("%d marks of 5,000 take %d characters", len(held), size)
	}
}
