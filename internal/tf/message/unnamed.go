// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package message

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
)

// WarnUnnamed names what a plan removes from nodes, MachineSets or workloads beyond what the attributes
// of the resource show, as planner.Unnamed and its siblings return it. The noun is one of these.
func WarnUnnamed(unnamed map[string][]string, noun string, diags *diag.Diagnostics) {
	if len(unnamed) == 0 {
		return
	}
	lines, affected := perEntry(unnamed, noun)
	diags.AddWarning(fmt.Sprintf("Removing %s beyond the changed attributes, from %s", strings.Join(slices.Sorted(maps.Keys(unnamed)), ", "), Count(affected, noun)),
		"The "+noun+"s do not match any more, or an interrupted update left the entries there. Their ownership records prove that this resource wrote them. To keep an entry, add it to the configuration:\n\n"+strings.Join(lines, "\n"))
}
