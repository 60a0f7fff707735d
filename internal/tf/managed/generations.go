// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package managed

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/tf/message"
)

// Generations are those of the marks with one id, by the objects that carry them. A private
// state that is lost took the generation with it: it is found out again where there is one
// alone.
type Generations struct {
	id      string
	objects map[string][]string
}

// GenerationsOf begins to look for the marks of an id.
func GenerationsOf(id string) *Generations {
	return &Generations{id: id, objects: map[string][]string{}}
}

// Note notes a mark of an object, such as: node "a". It leaves out marks of another id and
// marks without a generation.
func (g *Generations) Note(object, owner, generation string) {
	if owner == g.id && generation != "" && !slices.Contains(g.objects[generation], object) {
		g.objects[generation] = append(g.objects[generation], object)
	}
}

// One returns the generation of all marks. None is the error NotThisCluster, where objects names
// what was looked at, such as: No node. Several are an error that names their objects: to take
// one would leave the entries of the others behind, or take what another instance has written.
func (g *Generations) One(objects string, diags *diag.Diagnostics) string {
	generations := slices.Sorted(maps.Keys(g.objects))
	switch {
	case len(generations) == 1:
		return generations[0]
	case len(generations) == 0 && objects == "":
		return ""
	case len(generations) == 0:
		diags.Append(NotThisCluster(objects, g.id))
		return ""
	}
	var lines []string
	for _, generation := range generations {
		slices.Sort(g.objects[generation])
		lines = append(lines, fmt.Sprintf("  generation %q: ", generation)+message.Some(g.objects[generation]))
	}
	diags.AddError("Unable to determine which ownership records of \""+g.id+"\" this state has written",
		"An earlier update was killed before it saved the generation of its ownership records. Objects of this cluster have records of this id with several generations:\n\n"+strings.Join(lines, "\n")+"\n\n"+
			"Another instance of this resource wrote some of them, or the annotations were edited. That instance is an interrupted replacement, or a second state with the same configuration. "+
			"Nothing is written until then. Remove the other records from the annotations of their objects (those that begin with kubetaint.io/owned-), and run again. "+
			"If all of them are this resource's, remove the resource from the state with \"terraform state rm\" and import it: an import takes the entries of every generation.")
	return ""
}
