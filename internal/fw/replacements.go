// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package fw

import (
	"context"
	"encoding/json"

	"github.com/hashicorp/terraform-plugin-framework/diag"
)

// replacedKey is where the plan of a change says which object it is about.
const replacedKey = "replaced"

// replaced is an object that may be about to be replaced. Its place is what ids of objects
// begin with that are created where it is now.
type replaced struct {
	ID    string `json:"id"`
	Place string `json:"place"`
}

// NoteReplaced remembers the object that is planned. Where Terraform replaces it, it asks
// for a plan again, without the state and with this private state.
func NoteReplaced(ctx context.Context, id, place string, plan PrivateWriter, diags *diag.Diagnostics) {
	value, err := json.Marshal(replaced{id, place})
	if err != nil {
		diags.AddError("Unable to write the private state", err.Error())
		return
	}
	diags.Append(plan.SetKey(ctx, replacedKey, value)...)
}

// RefuseReplacement refuses a plan that replaces an object by one of another id in the
// same place, and says whether it does. An object keeps the id that it was created with,
// and a new one gets that of its configuration. With create_before_destroy it would meet
// the marks of the old one, and fail when that is deposed already: no apply goes on from
// there.
func RefuseReplacement(ctx context.Context, planned PrivateReader, id, place string, diags *diag.Diagnostics) bool {
	value, found := planned.GetKey(ctx, replacedKey)
	diags.Append(found...)
	var old replaced
	if len(value) == 0 || json.Unmarshal(value, &old) != nil || old.ID == id || old.Place != place {
		return false
	}
	diags.AddError("Unable to replace \""+old.ID+"\"",
		"Nothing has been written. The resource is not as it was created, and keeps the id of then: its replacement would be \""+id+"\", and could not take over what the old object has marked. "+
			"Apply without -replace and replace_triggered_by: whatever differs from the configuration is put right by that. To begin anew all the same, take the resource out of the configuration, apply, put it back, and apply again; what it protects is not protected in between.")
	return true
}
