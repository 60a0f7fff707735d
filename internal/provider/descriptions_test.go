// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package provider

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/providerserver"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
)

// mostWords is how long the description of an attribute may be: what the provider's users
// read in an editor's pop-up and in a table of the registry.
const mostWords = 15

// descriptionsOf adds the descriptions of attributes and of those nested in them, by path.
func descriptionsOf(out map[string]string, at string, attributes []*tfprotov6.SchemaAttribute) {
	for _, a := range attributes {
		path := at + "." + a.Name
		out[path] = a.Description
		if a.NestedType != nil {
			descriptionsOf(out, path, a.NestedType.Attributes)
		}
	}
}

// descriptions are those of all attributes and arguments that users read about.
func descriptions(t *testing.T) map[string]string {
	t.Helper()
	server := providerserver.NewProtocol6(New("test")())()
	schemas, err := server.GetProviderSchema(t.Context(), &tfprotov6.GetProviderSchemaRequest{})
	must(t, err)
	identities, err := server.GetResourceIdentitySchemas(t.Context(), &tfprotov6.GetResourceIdentitySchemasRequest{})
	must(t, err)
	out := map[string]string{}
	add := func(name string, s *tfprotov6.Schema) {
		descriptionsOf(out, name, s.Block.Attributes)
		for _, b := range s.Block.BlockTypes {
			descriptionsOf(out, name+"."+b.TypeName, b.Block.Attributes)
		}
	}
	add("provider", schemas.Provider)
	for name, s := range schemas.ResourceSchemas {
		add("resource."+name, s)
	}
	for name, s := range schemas.DataSourceSchemas {
		add("data."+name, s)
	}
	for name, s := range schemas.ListResourceSchemas {
		add("list."+name, s)
	}
	for name, s := range schemas.ActionSchemas {
		add("action."+name, s.Schema)
	}
	for name, s := range identities.IdentitySchemas {
		for _, a := range s.IdentityAttributes {
			out["identity."+name+"."+a.Name] = a.Description
		}
	}
	for name, f := range schemas.Functions {
		for _, p := range f.Parameters {
			out["function."+name+"."+p.Name] = p.Description
		}
	}
	return out
}

// TestDescriptions_haveFifteenWordsOrFewer: what needs more words is on the page or in a guide.
func TestDescriptions_haveFifteenWordsOrFewer(t *testing.T) {
	t.Parallel()
	all := descriptions(t)
	var lengths []int
	for _, path := range slices.Sorted(maps.Keys(all)) {
		words := len(strings.Fields(all[path]))
		lengths = append(lengths, words)
		if words == 0 || words > mostWords {
			t.Errorf("%s has %d words, and may have 1 to %d: %s", path, words, mostWords, all[path])
		}
	}
	slices.Sort(lengths)
	t.Logf("%d descriptions, words: %d at the median, %d at most", len(lengths), lengths[len(lengths)/2], lengths[len(lengths)-1])
	for _, path := range []string{"identity.kubetaint_workload_tolerations.kind", "function.untolerated.taints"} {
		if _, found := all[path]; !found {
			t.Errorf("%s is missing", path)
		}
	}
	if len(all) < 200 {
		t.Fatalf("only %d attributes were found", len(all))
	}
}
