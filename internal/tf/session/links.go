// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package session

import (
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/tf/message"
)

// CheckLinks refuses to rely on tolerations that running pods do not have and will
// not by themselves.
func (d *Data) CheckLinks(linked []string, snapshot *snapshot.Snapshot, diags *diag.Diagnostics) bool {
	for _, id := range linked {
		planned, _ := d.Planned.Of(id)
		for _, p := range planned {
			if pods := p.Behind(snapshot); len(pods) > 0 {
				diags.Append(message.Unreliable(id, p, pods))
				return false
			}
		}
	}
	return true
}

// warnLinksBlocked warns that apply waits for running pods of linked workloads which do not get
// the tolerations by themselves. Where a linked resource changes a template and waits for its
// pods, its own plan warns.
func (d *Data) warnLinksBlocked(linked []string, snapshot *snapshot.Snapshot, diags *diag.Diagnostics) {
	for _, id := range linked {
		planned, _ := d.Planned.Of(id)
		for _, p := range planned {
			if p.Lags(snapshot) {
				message.WarnStopped(p.Workload, snapshot, false, path.Root("tolerated_by"), diags)
			}
		}
	}
}

// Foreseen is the cluster as linked resources will have left it when the taints come, as
// far as pods are given something when they are made.
func (d *Data) Foreseen(snapshot *snapshot.Snapshot, linked []string) *snapshot.Snapshot {
	if rules := d.Policies.Over(snapshot.Admission, linked); rules != snapshot.Admission {
		return snapshot.Admitting(rules)
	}
	return snapshot
}
