// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package session

import (
	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/kube"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/tf/message"
)

// ClusterFor returns the cluster for a data source to read from. Where the
// connection is not known yet it adds an error and returns nil. The name is the
// data source's type.
func (d *Data) ClusterFor(name string, diags *diag.Diagnostics) *kube.Cluster {
	if d != nil && d.Cluster != nil {
		return d.Cluster
	}
	diags.AddError("Unable to read data."+name+": the connection is not known yet", message.NotConnected+" "+message.LaterAdvice)
	return nil
}
