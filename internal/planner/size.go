// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package planner

import (
	"github.com/kubetaint/terraform-provider-kubetaint/internal/annotations"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/label"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/toleration"
)

// tooLarge reports why the records of a node would not fit beside its other annotations, "" where they would.
func tooLarge(n *snapshot.Node, taints taint.Record, labels label.Record) string {
	why := annotations.TooLarge(n.OtherAnnotations, map[string]string{taint.OwnedAnnotation: taints.String(), label.OwnedAnnotation: labels.String()})
	if why == "" {
		return ""
	}
	return why + ": give the node fewer taints and labels, or remove annotations"
}

// TooLarge refuses the nodes whose records fit alone and not together: one change writes both, one after
// the other.
func TooLarge(nodes NodePlan, changed LabelPlan) []Refusal {
	var out []Refusal
	records := make(map[string]taint.Record, len(nodes.Switches))
	for _, s := range nodes.Switches {
		records[s.Node.Name] = s.Merged.Record
	}
	for _, s := range changed.Switches {
		taints, switched := records[s.Node.Name]
		if !switched || tooLarge(s.Node, taints, s.Node.LabelRecord) != "" || tooLarge(s.Node, s.Node.Record, s.Merged.Record) != "" {
			continue
		}
		if why := tooLarge(s.Node, taints, s.Merged.Record); why != "" {
			out = append(out, Refusal{Node: s.Node.Name, Why: why})
		}
	}
	return out
}

// TooLarge reports why the records that a step writes to a workload would not fit beside its other
// annotations, "" where they would.
func (s Step) TooLarge() string {
	labels := s.Workload.LabelRecord
	if s.Pins.Changed {
		labels = s.Pins.Record
	}
	return annotations.TooLarge(s.Workload.OtherAnnotations, map[string]string{
		s.Workload.Annotation(toleration.OwnedAnnotation): s.Merged.Record.String(), s.Workload.Annotation(label.OwnedAnnotation): labels.String(),
	})
}
