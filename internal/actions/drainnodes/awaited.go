// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package drainnodes

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/rollout"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/tf/message"
)

// damagedRecord is a node whose record of an earlier drain cannot be read as a whole.
type damagedRecord struct {
	node string
	err  error
}

// damagedRecords returns those of the nodes of a drain that waits for replacements.
func damagedRecords(nodes []*snapshot.Node, d rollout.Drain) []damagedRecord {
	var out []damagedRecord
	for _, n := range nodes {
		if !d.AwaitReplacements || !slices.Contains(d.Nodes, n.Name) {
			continue
		}
		if err := rollout.DamagedAwaited(n); err != nil {
			out = append(out, damagedRecord{n.Name, err})
		}
	}
	return out
}

// warnDamaged names the nodes, and what is not waited for.
func warnDamaged(damaged []damagedRecord, diags *diag.Diagnostics) {
	if len(damaged) == 0 {
		return
	}
	whose := fmt.Sprintf("node %q", damaged[0].node)
	if len(damaged) > 1 {
		whose = message.Count(len(damaged), "node")
	}
	var rows []string
	for _, one := range damaged {
		rows = append(rows, one.node+": "+one.err.Error())
	}
	diags.AddWarning("Pods that an earlier drain evicted from "+whose+" may not run elsewhere: the annotation "+snapshot.AwaitedAnnotation+" is damaged",
		"The annotation lists the workloads whose replacements an earlier drain waits for. It has been edited. "+
			"The drain does not wait for entries that cannot be read. It writes its own record over the annotation, and removes that when it has ended without an error:\n\n  "+
			strings.Join(shown(rows, lines), "\n  ")+
			"\n\nBefore you delete nodes, look for missing pods (kubectl get deployments,statefulsets -A).")
}
