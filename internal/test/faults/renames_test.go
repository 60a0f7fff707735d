// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package faults_test

import (
	"strings"
	"testing"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/fakeapi"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/messages"
)

// TestPlan_refusesARenameWithoutMoved plans the destroy of a resource and the create of
// another one with the same configuration, as Terraform does for a resource that was renamed
// without a moved block: whichever it plans second, the plan refuses. A replacement is not refused:
// Terraform plans no destroy for it, or, with create_before_destroy, when the new one is there.
// Neither is a create with another id.
func TestPlan_refusesARenameWithoutMoved(t *testing.T) {
	t.Parallel()
	messages.Expect(t, "would be destroyed and created again")
	// Their ids hold nothing that the second configuration changes.
	sameID := map[string]bool{"dedicated_nodes": true, "toleration_policy": true}
	tried := map[string]bool{}
	for _, s := range subjects() {
		if s.action || tried[s.typeName] {
			continue
		}
		tried[s.typeName] = true
		t.Run(s.typeName, func(t *testing.T) {
			t.Parallel()
			st := prepare(t, s, operation{"destroy", s.first, nil})
			for name, tt := range map[string]struct {
				destroyFirst bool
				// config is what is created; with replaced, the resource itself is.
				config   map[string]any
				replaced bool
				// created is set where the create is applied before the destroy is planned.
				created bool
				// deposed is set where an earlier replacement has left an object deposed.
				deposed bool
				refused bool
			}{
				"the destroy is planned first": {destroyFirst: true, config: s.first, refused: true},
				"the create is planned first":  {config: s.first, refused: true},
				"another configuration":        {destroyFirst: true, config: s.second, refused: sameID[s.typeName]},
				"a replacement":                {config: s.first, replaced: true},
				"create_before_destroy":        {config: s.first, created: true},
				"a replacement again, beside what the first has left deposed": {config: s.first, deposed: true},
			} {
				t.Run(name, func(t *testing.T) {
					t.Parallel()
					bubble(t, st.start, func(t *testing.T, api *fakeapi.Server) {
						older, newer := st.instance, acctest.Instance{Type: st.instance.Type}
						walk := through(api.Client()).Walk(t)
						var first, second acctest.Diagnostics
						switch {
						case tt.replaced:
							first, second = walk.Plan(&older, tt.config).Diagnostics, walk.Plan(&newer, tt.config).Diagnostics
						case tt.deposed:
							current := older
							first = append(walk.Plan(&older, nil).Diagnostics, walk.Plan(&current, tt.config).Diagnostics...)
							second = walk.Plan(&newer, tt.config).Diagnostics
						case tt.created:
							create := through(api.Client()).Walk(t).Plan(&newer, tt.config)
							first = append(create.Diagnostics, walk.ApplyChange(&newer, create, tt.config)...)
							second = walk.Plan(&older, nil).Diagnostics
						case tt.destroyFirst:
							first, second = walk.Plan(&older, nil).Diagnostics, walk.Plan(&newer, tt.config).Diagnostics
						default:
							first, second = walk.Plan(&newer, tt.config).Diagnostics, walk.Plan(&older, nil).Diagnostics
						}
						if said := first.Errors(); tt.created && said != "" {
							t.Fatal(said)
						}
						const refusal = "would be destroyed and created again"
						if said := first.Errors(); strings.Contains(said, refusal) {
							t.Errorf("what is planned first is refused: %s", said)
						}
						if !tt.refused {
							if said := second.Errors(); strings.Contains(said, refusal) {
								t.Errorf("refused: %s", said)
							}
							return
						}
						acctest.WantAll(t, second.Errors(), refusal, "from = "+st.instance.Type+".OLD", "to   = "+st.instance.Type+".NEW")
					})
				})
			}
		})
	}
}
