// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package session

import (
	"sync"

	"github.com/hashicorp/terraform-plugin-framework/diag"
)

// importedTwice finds resources of one run that have imported what another one of it manages. An
// import takes the marks of this provider's owner, since a state that is lost leaves such marks: it
// cannot know that another resource of the state has written them. Terraform plans resources in any
// order, so that each is noted, and the one that comes second refuses.
type importedTwice struct {
	mu sync.Mutex
	// kept are the generations of resources that are not destroyed, and imported those of entries
	// that another generation has imported.
	kept, imported map[string]bool
}

// note notes what a resource that exists has imported, and its own generation where it is not destroyed. It
// reports whether one resource has imported entries of another one.
func (t *importedTwice) note(own string, destroyed bool, imported []string) (both bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.kept == nil {
		t.kept, t.imported = map[string]bool{}, map[string]bool{}
	}
	if own != "" && !destroyed {
		t.kept[own] = true
		both = t.imported[own]
	}
	for _, generation := range imported {
		if generation != "" && generation != own {
			t.imported[generation] = true
			both = both || t.kept[generation]
		}
	}
	return both
}

// RefuseImportedTwice returns an error where one resource has imported entries of another one, which
// it would change, or remove. The generation is its own, and those of imported entries are the others.
func (d *Data) RefuseImportedTwice(id, generation string, destroyed bool, imported []string, diags *diag.Diagnostics) {
	if d.importedTwice.note(generation, destroyed, imported) {
		diags.AddError("Unable to manage the entries of \""+id+"\" twice: one resource has imported them from another one",
			"Two resources of this configuration manage the same entries. One has written them, and the other has imported them: it would change or remove them. "+
				"Remove the imported resource from the state (terraform state rm ADDRESS) and its import block from the configuration. Terraform then creates it beside the other one, with entries of its own.")
	}
}
