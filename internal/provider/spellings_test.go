// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package provider

import (
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// TestSpellings_ofABlockThatSetsNothing: Terraform drops names that it does not know, so that a block whose only
// name is misspelt arrives empty. The warning lists the names that the block has there, and no other ones.
func TestSpellings_ofABlockThatSetsNothing(t *testing.T) {
	t.Parallel()
	tried := 0
	everySchema(t, func(name string, s *tfprotov6.Schema, ask validate) {
		for _, a := range s.Block.Attributes {
			if a.Name != "evictions" && a.Name != "timeouts" || a.NestedType == nil {
				continue
			}
			tried++
			var names []string
			for _, one := range a.NestedType.Attributes {
				names = append(names, one.Name)
			}
			slices.Sort(names)
			diagnostics, err := ask(encode(t, empty(s.ValueType(), a.Name)))
			must(t, err)
			at := slices.IndexFunc(diagnostics, func(d *tfprotov6.Diagnostic) bool {
				return strings.HasPrefix(d.Summary, a.Name) && strings.Contains(d.Summary, " sets no ")
			})
			if at < 0 {
				t.Errorf("%s: nothing is said of %s without anything: %v", name, a.Name, summaries(diagnostics))
				continue
			}
			if want := "Check the spelling (" + strings.Join(names, ", ") + "), or leave out " + a.Name + "."; !strings.Contains(diagnostics[at].Detail, want) {
				t.Errorf("%s: of %s it says %q, want %q", name, a.Name, diagnostics[at].Detail, want)
			}
		}
	})
	if tried < 9 {
		t.Errorf("%d blocks were tried", tried)
	}
}

// empty is a value in which one block alone is there, without anything.
func empty(typ tftypes.Type, block string) tftypes.Value {
	object, is := typ.(tftypes.Object)
	if !is {
		return tftypes.NewValue(typ, nil)
	}
	attributes := map[string]tftypes.Value{}
	for name, kind := range object.AttributeTypes {
		attributes[name] = tftypes.NewValue(kind, nil)
		if name == block {
			attributes[name] = empty(kind, "")
		}
	}
	return tftypes.NewValue(object, attributes)
}
