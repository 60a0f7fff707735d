// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package eviction

import (
	"strings"
	"testing"
)

// FuzzParseApproval: an entry that is read names what its three parts say and no more, and is
// written as it is read.
func FuzzParseApproval(f *testing.F) {
	for _, seed := range []string{"shop/Deployment/web", "shop/*", "*/*/*", "shop/web", "a//b", "*/Pod/x", "\x00/é/\"", "shop/Deployment/web/x"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, entry string) {
		a, err := ParseApproval(entry)
		if err != nil {
			return
		}
		parts := []string{a.Namespace, a.Kind, a.Name}
		whole := strings.Join(parts, "/")
		if entry != whole && entry+"/*" != whole {
			t.Fatalf("%q is read as %q", entry, whole)
		}
		for _, part := range parts {
			if part == "" || part != "*" && strings.ContainsAny(part, "*/\"\\\n") {
				t.Fatalf("%q has the part %q", entry, part)
			}
		}
		if again, err := ParseApproval(whole); err != nil || again != a {
			t.Fatalf("%q is read as %v, and then as %v (%v)", entry, a, again, err)
		}
	})
}
