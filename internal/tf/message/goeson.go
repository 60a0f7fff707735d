// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package message

import (
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/admission"
)

// resumed is why a create finds entries with its own id, sameID what to do where that is not so.
const (
	resumed = "An earlier create was interrupted, or this object replaces another one."
	sameID  = "If another configuration uses the same id, give one of them another owner in the provider block"
)

// WarnAdopted warns that a create adopts entries with its id; things are, for example, "taints", and whose is the id with
// the place. It adds nothing where there are none.
func WarnAdopted(things, whose string, entries []string, diags *diag.Diagnostics) {
	if len(entries) > 0 {
		diags.AddWarning("Creating adopts "+things+" of "+whose,
			"Entries with this resource's id exist already: "+Some(entries)+". "+resumed+" They are adopted as they are. "+sameID+". Otherwise each overwrites the other's "+things+".")
	}
}

// WarnAdoptedPolicy warns that a create adopts a policy with its id.
func WarnAdoptedPolicy(claim admission.Claim, diags *diag.Diagnostics) {
	diags.AddWarning("Creating adopts toleration policy \""+claim.Name+"\"",
		"A policy with the id \""+claim.Owner+"\" exists already. "+resumed+" It is adopted and changed in place. "+sameID+", or the policies different names. Otherwise each overwrites the other's policy.")
}

// WarnLeftThere warns that entries of an import which the configuration does not have leave the state and stay where they
// are; thing is "taint" or "toleration". It adds nothing where there are none.
func WarnLeftThere(thing, owner, place string, entries []string, diags *diag.Diagnostics) {
	left := slices.Compact(slices.Sorted(slices.Values(entries)))
	if len(left) > 0 {
		diags.AddWarning(Count(len(left), "imported "+thing)+" of \""+owner+"\" "+Agree(len(left), "leaves", "leave")+" the state but "+Agree(len(left), "stays", "stay")+" on "+place,
			"Imported "+thing+"s that are not owned and are not in the configuration are treated as not managed here: "+strings.Join(left, ", ")+". They are not removed. Remove unwanted "+thing+"s by hand, or add them to the configuration.")
	}
}

// Owned ends the sentence about what an apply that has failed has written.
const Owned = "what was written stays, and this resource owns each entry."

// GoesOn reports what the next apply does after one that has failed: written is about what that has written, giveUp the way
// back from a create. Verbs other than create, update and delete are those of a plan or an import, which write nothing.
func GoesOn(verb, written, giveUp string) string {
	const again = "Apply again to continue where it stopped."
	switch verb {
	case "create":
		return written + " Nothing is saved in the state. " + again + " To give up instead, " + giveUp
	case "update", "delete":
		return written + " " + again
	}
	return "Nothing has been written."
}
