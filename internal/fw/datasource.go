// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package fw

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/kube"
)

// laterAdvice is the way out for a data source that is read too early. A data
// source cannot return values that are not known yet.
const laterAdvice = "If this apply creates the cluster, add depends_on to the data source, so that it is read afterwards. To continue without a result, put the data source into a check block: its errors are then warnings."

// ClusterFor returns the cluster for a data source to read from. Where the
// connection is not known yet it adds an error and returns nil. The name is the
// data source's type.
func (d *Data) ClusterFor(name string, diags *diag.Diagnostics) *kube.Cluster {
	if d != nil && d.Cluster != nil {
		return d.Cluster
	}
	diags.AddError("Unable to read data."+name+": the connection is not known yet", notConnected+" "+laterAdvice)
	return nil
}

// UnableToRead adds the error of a data source whose request failed. The name
// is the data source's type.
func UnableToRead(name string, err error, diags *diag.Diagnostics) {
	detail := cmp.Or(Advise(err), "The request failed. Run again; if it keeps failing, see the original error.")
	if errors.Is(err, kube.ErrUnreachable) {
		detail += " " + laterAdvice
	}
	diags.AddError("Unable to read data."+name, fmt.Sprintf("%s\n\nOriginal error: %s", detail, err))
}
