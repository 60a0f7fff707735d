// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package managed

import (
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/diag"
)

func TestGenerations(t *testing.T) {
	t.Parallel()
	type mark struct{ object, owner, generation string }
	for name, tt := range map[string]struct {
		marks   []mark
		objects string
		want    string
		err     []string
	}{
		"one generation":                         {[]mark{{"node a", "me", "g1"}, {"node b", "me", "g1"}}, "No node", "g1", nil},
		"marks of other ids and unowned ones":    {[]mark{{"node a", "me", "g1"}, {"node b", "other", "g2"}, {"node c", "me", ""}}, "No node", "g1", nil},
		"several generations":                    {[]mark{{"node b", "me", "g2"}, {"node a", "me", "g1"}, {"node c", "me", "g2"}}, "No node", "", []string{`ownership records of "me"`, `generation "g1": node a`, `generation "g2": node b, node c`, "kubetaint.io/owned-", "terraform state rm"}},
		"no mark":                                {nil, "No node", "", []string{"Unable to determine whether this state is from this cluster", "No node"}},
		"no mark, where others may cover it all": {nil, "", "", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			found := GenerationsOf("me")
			for _, m := range tt.marks {
				found.Note(m.object, m.owner, m.generation)
			}
			var diags diag.Diagnostics
			if got := found.One(tt.objects, &diags); got != tt.want || diags.HasError() != (tt.err != nil) {
				t.Errorf("got %q with %v, want %q", got, diags, tt.want)
			}
			for _, part := range tt.err {
				if said := diags[0].Summary() + diags[0].Detail(); !strings.Contains(said, part) {
					t.Errorf("%q lacks %q", said, part)
				}
			}
		})
	}
}
