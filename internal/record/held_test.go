// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package record_test

import (
	"fmt"
	"maps"
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
	sealed := func(proof string) record.Sealed { return record.Sealed{Proof: proof, Parts: []string{"taint", "a"}} }
	held.Hold(begin, sealed(made("Node/a", 1, "secret")))
	held.Hold(record.Seal{Nonce: "secret", Object: "Node/b"}, sealed(made("Node/b", 0, "secret")))
	held.Hold(begin, sealed("short"))
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
		if got := seal.Proves(sealed(tt.proof)); got != tt.want {
			t.Errorf("%s: %t, want %t", name, got, tt.want)
		}
		want := tt.proof
		if !tt.want {
			want = seal.Proof("taint", "a")
		}
		if got := seal.Renew(sealed(tt.proof)); got != want {
			t.Errorf("%s: it is renewed as %q, want %q", name, got, want)
		}
	}
	now := record.Seal{Nonce: "secret", Object: "Node/a", Epoch: 3, Held: held}
	kept := record.Held{}
	kept.Keep(now)
	if len(kept) != 1 || !held[kept.String()] {
		t.Errorf("of %q, Node/a keeps %q", held.String(), kept.String())
	}
	for name, tt := range map[string]struct {
		proofs []string
		want   int
	}{
		"it is still there":      {[]string{made("Node/a", 1, "secret"), "short"}, 2},
		"another is there":       {[]string{made("Node/a", 2, "secret")}, 1},
		"there is nothing of it": {nil, 1},
	} {
		left, still := maps.Clone(held), []record.Sealed(nil)
		for _, proof := range tt.proofs {
			still = append(still, sealed(proof))
		}
		if left.Forget(record.Look{Seal: now, Still: still}); len(left) != tt.want {
			t.Errorf("%s: of %q there is %q", name, held.String(), left.String())
		}
	}
}

// TestSeal_imports has an import see one mark of two on an object, whose proofs are of another
// resource.
func TestSeal_imports(t *testing.T) {
	t.Parallel()
	mark := func(proof string, parts ...string) record.Sealed { return record.Sealed{Proof: proof, Parts: parts} }
	made := record.Seal{Nonce: "lost", Object: "Node/a"}.Proof("taint", "a")
	begin := record.Seal{Nonce: "secret", Object: "Node/a"}
	held := record.Held{}
	held.Note(begin, mark(made, "taint", "a"))
	for name, tt := range map[string]struct {
		object      string
		mark        record.Sealed
		epoch       int
		held        record.Held
		saw, proves bool
	}{
		"seen":                         {"Node/a", mark(made, "taint", "a"), 1, held, true, true},
		"seen, some applies ago":       {"Node/a", mark(made, "taint", "a"), 7, held, true, true},
		"about something else by now":  {"Node/a", mark(made, "taint", "a", "previous", "evil"), 1, held, false, false},
		"with another proof by now":    {"Node/a", mark("another", "taint", "a"), 1, held, false, false},
		"seen on another object":       {"Node/b", mark(made, "taint", "a"), 1, held, false, false},
		"nothing is held":              {"Node/a", mark(made, "taint", "a"), 1, record.Held{}, false, false},
		"in a state of earlier builds": {"Node/b", mark(made, "taint", "a"), 0, nil, true, false},
	} {
		seal := record.Seal{Nonce: "secret", Object: tt.object, Epoch: tt.epoch, Held: tt.held}
		if saw, proves := seal.Saw(tt.mark), seal.Proves(tt.mark); saw != tt.saw || proves != tt.proves {
			t.Errorf("%s: saw it: %t, proves it: %t", name, saw, proves)
		}
		if again := seal.Renew(tt.mark); again != seal.Proof(tt.mark.Parts...) {
			t.Errorf("%s: its proof stays %q", name, again)
		}
		after := record.Held{}
		if after.Hold(seal, tt.mark); (len(after) > 0) != tt.proves {
			t.Errorf("%s: %d marks are held after an apply", name, len(after))
		}
	}
}

// TestSeal_anObjectWhoseMarksAreNotKnown: a state of earlier builds, in which nothing is held yet,
// meets one object whose record cannot be read. Everything else is held from then on.
func TestSeal_anObjectWhoseMarksAreNotKnown(t *testing.T) {
	t.Parallel()
	held := record.Held{}
	held.Keep(record.Seal{Nonce: "secret", Object: "Node/a"})
	for _, round := range []string{"the apply after that", "one more, while it is damaged"} {
		for object, want := range map[string]bool{"Node/a": true, "Node/b": false} {
			seal := record.Seal{Nonce: "secret", Object: object, Epoch: 7, Held: held}
			genuine := record.Sealed{Proof: record.Seal{Nonce: "secret", Object: object, Epoch: 2}.Proof("a"), Parts: []string{"a"}}
			if got := seal.Proves(genuine); got != want {
				t.Errorf("%s: a mark that the resource has made on %s is believed: %t", round, object, got)
			}
			if got := seal.Saw(genuine); got != want {
				t.Errorf("%s: any mark on %s may have been seen: %t", round, object, got)
			}
			if forged := (record.Sealed{Proof: "made up", Parts: []string{"a"}}); seal.Proves(forged) {
				t.Errorf("%s: a mark that another writer has made up on %s is believed", round, object)
			}
		}
		next := record.Held{}
		next.Keep(record.Seal{Nonce: "secret", Object: "Node/a", Epoch: 7, Held: held})
		held = next
	}
	seal := record.Seal{Nonce: "secret", Object: "Node/a", Epoch: 7}
	if held.Forget(record.Look{Seal: seal, Still: []record.Sealed{{Proof: seal.Proof("b"), Parts: []string{"b"}}}}); len(held) != 1 {
		t.Error("what is not known of an object is forgotten while there are marks on it")
	}
	if held.Forget(record.Look{Seal: seal}); len(held) > 0 {
		t.Error("an object without marks is still remembered")
	}
}

// TestSeal_aNodeThatIsMadeAnew: its kubelet knows the marks of the node before it.
func TestSeal_aNodeThatIsMadeAnew(t *testing.T) {
	t.Parallel()
	begin := record.Seal{Nonce: "secret", Epoch: 1, Held: record.Held{}}
	mark := record.Sealed{Proof: begin.OnNode("a", "first").Proof("a"), Parts: []string{"a"}}
	now, earlier := record.Held{}, record.Held{}
	now.Hold(begin.OnNode("a", "first"), mark)
	earlier.Hold(begin.On("Node/a"), mark)
	for name, tt := range map[string]struct {
		held record.Held
		uid  string
		want bool
	}{
		"the same node":                    {now, "first", true},
		"another one of its name":          {now, "second", false},
		"the same, held by earlier builds": {earlier, "first", true},
	} {
		seal := record.Seal{Nonce: "secret", Epoch: 2, Held: tt.held}
		if got := seal.OnNode("a", tt.uid).Proves(mark); got != tt.want {
			t.Errorf("%s: its mark is believed: %t", name, got)
		}
		if left := maps.Clone(tt.held); tt.want {
			if left.Forget(record.Look{Seal: seal.OnNode("a", tt.uid)}); len(left) > 0 {
				t.Errorf("%s: %s is still held", name, left)
			}
		}
	}
}

// TestHeld_isSmall: for a record on each of 5,000 nodes, a page of text is remembered.
func TestHeld_isSmall(t *testing.T) {
	t.Parallel()
	held := record.Held{}
	for n := range 5000 {
		seal := record.Seal{Nonce: "secret", Object: fmt.Sprintf("Node/worker-%d", n)}
		held.Hold(seal, record.Sealed{Proof: seal.Proof("taint", "a"), Parts: []string{"taint", "a"}})
	}
	if size := len(held.String()); size > 50_000 || len(held) < 4990 {
		t.Errorf("%d marks of 5,000 take %d characters", len(held), size)
	}
}
