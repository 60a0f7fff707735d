// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package provider

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/kube"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/recorded"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/tf/session"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/tf/siblings"
)

// fromSnapshot has everything read from a recorded cluster. The environment is not asked for a connection. A
// path that is not known yet is a connection that is not known yet.
func (p *kubetaint) fromSnapshot(given types.String, data *session.Data, diags *diag.Diagnostics) {
	name := given.ValueString()
	data.Recorded = name
	if given.IsUnknown() || diags.HasError() {
		return
	}
	at := path.Root("snapshot")
	file, err := kube.ExpandPath(name)
	var snapshot *recorded.Cluster
	if err == nil {
		snapshot, err = recorded.Open(file)
	}
	if unreadable, is := errors.AsType[*fs.PathError](err); is {
		// The whole of it quotes the path again.
		err = unreadable.Err
	}
	if err == nil {
		data.Cluster, err = kube.New(kube.Config{Host: recorded.Host, Transport: snapshot.Transport(), UserAgent: "terraform-provider-kubetaint/" + p.version, Reading: p.reading})
	}
	if err != nil {
		diags.AddAttributeError(at, "Unable to read the snapshot "+kube.Shown(name),
			fmt.Sprintf("The snapshot cannot be used: %s.\n\n`kubectl kubetaint snapshot -o FILE` records a cluster. A must-gather and a folder with the output of \"kubectl get -o yaml\" can be read as well.", err))
		return
	}
	diags.AddAttributeWarning(at, siblings.Distinct(fmt.Sprintf("The plan is made from the snapshot %s, %s", kube.Shown(name), snapshot.Age(time.Now()))), describe(snapshot))
}

// describe returns a sentence on what is in a snapshot, and one on what is missing.
func describe(snapshot *recorded.Cluster) string {
	cluster := "a cluster"
	if name := snapshot.Name(); name != "" {
		cluster = "the cluster " + name
	}
	out := fmt.Sprintf("It has %s of %s as of %s. The plan does not see later changes, and apply refuses it.", snapshot.Content(), cluster, snapshot.Taken().Format(time.RFC3339))
	if snapshot.Hashed() {
		out += " Names are hashed: node_name, namespaces and most values of labels are not those of the cluster."
	}
	if missing := snapshot.Missing(); len(missing) > 0 {
		out += "\n\nNot in the snapshot: " + strings.Join(missing, ", ") + ". The plan treats these as kinds that there is no permission to list."
	}
	return out
}
