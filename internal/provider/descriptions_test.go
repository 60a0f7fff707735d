// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package provider

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
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

// descriptions are those of all attributes that users read about.
func descriptions(t *testing.T) map[string]string {
	t.Helper()
	schemas, err := providerserver.NewProtocol6(New("test")())().GetProviderSchema(t.Context(), &tfprotov6.GetProviderSchemaRequest{})
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
	return out
}

// longDescriptions reads the descriptions that may be longer, and by how much: a line for
// each, "WORDS ATTRIBUTE" or "WORDS *.ATTRIBUTE", below a comment with the reason.
func longDescriptions(t *testing.T) map[string]int {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "long-descriptions.txt"))
	must(t, err)
	out := map[string]int{}
	reason := ""
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		switch {
		case line == "":
			reason = ""
		case strings.HasPrefix(line, "#"):
			reason = line
		default:
			var words int
			var path string
			if _, err := fmt.Sscanf(line, "%d %s", &words, &path); err != nil || reason == "" {
				t.Fatalf("testdata/long-descriptions.txt: %q needs a number, an attribute and a reason above it", line)
			}
			out[path] = words
		}
	}
	return out
}

// TestDescriptions_haveFifteenWordsOrFewer: what is longer is on the list with its reason,
// and gets no longer. What has become short enough is taken off it.
func TestDescriptions_haveFifteenWordsOrFewer(t *testing.T) {
	t.Parallel()
	long, used := longDescriptions(t), map[string]int{}
	all := descriptions(t)
	for _, path := range slices.Sorted(maps.Keys(all)) {
		words := len(strings.Fields(all[path]))
		if words == 0 {
			t.Errorf("%s has no description", path)
		}
		if words <= mostWords {
			continue
		}
		entry := path
		if _, ok := long[entry]; !ok {
			entry = "*" + path[strings.LastIndex(path, "."):]
		}
		if words > long[entry] {
			t.Errorf("%s has %d words, and may have %d: %s", path, words, max(long[entry], mostWords), all[path])
		}
		used[entry] = max(used[entry], words)
	}
	for entry, words := range long {
		if used[entry] < words {
			t.Errorf("testdata/long-descriptions.txt allows %s %d words, which has %d: lower the number, or take the line out", entry, words, used[entry])
		}
	}
	if len(all) < 200 {
		t.Fatalf("only %d attributes were found", len(all))
	}
}
