// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package managed

import (
	"slices"
	"strings"
	"testing"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
)

// FuzzParseImportID: whatever is given as an import id, it is read without a panic, and as what it says:
// the target and the taints, written as ids are, are read as the same.
func FuzzParseImportID(f *testing.F) {
	f.Add("node/a/x:NoExecute")
	f.Add("nodes/b,a/x:NoExecute,example.com/y:NoSchedule")
	f.Add("selector/pool in (a,b),!c/x:NoExecute")
	f.Add("selector/example.com/pool=a/example.com/x:NoExecute")
	f.Add("machine_sets/ns/a/x:NoExecute")
	f.Add("machine_sets/ns/example.com/pool=a/x:NoExecute")
	f.Add("/:")
	f.Fuzz(func(t *testing.T, id string) {
		target, ids, err := parseImportID(id)
		if err != nil {
			return
		}
		if len(ids) == 0 {
			t.Fatalf("%q names no taint", id)
		}
		names := make([]string, len(ids))
		for i, one := range ids {
			names[i] = one.String()
			if parsed, err := taint.ParseID(names[i]); err != nil || parsed != one {
				t.Fatalf("%q: the taint %q is read as %v, %v", id, names[i], parsed, err)
			}
		}
		again, same, err := parseImportID(target.String() + "/" + strings.Join(names, ","))
		if err != nil && strings.Contains(err.Error(), "can be read in") {
			return
		}
		if err != nil || again.String() != target.String() || !slices.Equal(ids, same) {
			t.Fatalf("%q is read as %s with %s, and that as %s with %s, %v", id, target, ids, again, same, err)
		}
	})
}

// FuzzParseTarget: the same of the target in an import by identity.
func FuzzParseTarget(f *testing.F) {
	f.Add("node/a")
	f.Add("nodes/b,a")
	f.Add("selector/a notin (b),c>1")
	f.Add("machine_sets/ns/a.b")
	f.Add("machine_sets/ns/a=b")
	f.Add("machine_sets//")
	f.Fuzz(func(t *testing.T, s string) {
		target, err := parseTarget(s)
		if err != nil {
			return
		}
		again, err := parseTarget(target.String())
		if err != nil || again.String() != target.String() {
			t.Fatalf("%q is read as %s, and that as %s, %v", s, target, again, err)
		}
		if target.Selector == nil && target.MachineSets == nil && (len(target.Named()) == 0 || slices.Contains(target.Named(), "")) {
			t.Fatalf("%q names the nodes %q", s, target.Named())
		}
		if target.MachineSets == nil {
			return
		}
		sets, err := parseSets(strings.TrimPrefix(s, "machine_sets/"))
		if err != nil || sets.Namespace == "" || (sets.Name == "") == (sets.Selector == nil) {
			t.Fatalf("%q means the MachineSets %+v, %v", s, sets, err)
		}
	})
}
