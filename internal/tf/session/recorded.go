// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package session

import (
	"context"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/diag"
)

// ConnectedToWrite returns the cluster's id as Connected does, for a change. A recorded cluster
// is an error, before anything is read or written.
func (d *Data) ConnectedToWrite(ctx context.Context, expected string, diags *diag.Diagnostics) (id string, ok bool) {
	if d != nil && d.Recorded != "" {
		diags.AddError("Unable to apply from a snapshot",
			fmt.Sprintf("The provider block sets snapshot = %q. A snapshot can be planned from, and there is no cluster to change: nothing has been written.\n\n"+
				"Replace snapshot by the connection to the cluster, and plan again: the cluster may have changed since the snapshot.", d.Recorded))
		return "", false
	}
	return d.Connected(ctx, expected, diags)
}
