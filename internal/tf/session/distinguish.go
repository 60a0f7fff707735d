// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package session

import (
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/tf/siblings"
)

// usedBy is who has used a summary first: the noun of a data source or an action with the detail, or a resource,
// whose noun is empty, with its id.
type usedBy struct{ noun, text string }

// Distinguish adds the id of a resource to each of its warnings and errors whose summary another resource
// of this run has used already. Command lines show warnings with equal summaries as one, of the
// first resource alone (Terraform's internal/tfdiags/consolidate_warnings.go). The id is that of
// the first of all that has one.
func (d *Data) Distinguish(diags *diag.Diagnostics, all ...tftypes.Value) {
	if len(*diags) == 0 {
		return
	}
	defer d.label(diags)
	id := IDOf(all...)
	if id == "" {
		return
	}
	for i, one := range *diags {
		if first, used := d.warned.LoadOrStore(one.Summary(), usedBy{text: id}); !used || first == (usedBy{text: id}) {
			continue
		}
		(*diags)[i] = withSummary(one, one.Summary()+" (for "+id+")")
	}
}

// label adds the provider block to each warning. Blocks with an alias are processes of their own, and the same
// change of two clusters has the same summary. Blocks of the same cluster and owner are numbered.
func (d *Data) label(diags *diag.Diagnostics) {
	for i, one := range *diags {
		if one.Severity() != diag.SeverityWarning {
			continue
		}
		label := ""
		if d != nil {
			label = d.Label
		}
		(*diags)[i] = withSummary(one, OfBlock(label, one.Summary()))
	}
}

// OfBlock returns the summary of a warning with the label of its provider block, and with a number where
// another block of the run has used it.
func OfBlock(label, summary string) string {
	if label != "" {
		summary += " (" + label + ")"
	}
	return siblings.Distinct(summary)
}

// withSummary is a warning or an error with another summary.
func withSummary(one diag.Diagnostic, summary string) diag.Diagnostic {
	placed, isPlaced := one.(diag.DiagnosticWithPath)
	isError := one.Severity() == diag.SeverityError
	switch {
	case isPlaced && isError:
		return diag.NewAttributeErrorDiagnostic(placed.Path(), summary, one.Detail())
	case isPlaced:
		return diag.NewAttributeWarningDiagnostic(placed.Path(), summary, one.Detail())
	case isError:
		return diag.NewErrorDiagnostic(summary, one.Detail())
	}
	return diag.NewWarningDiagnostic(summary, one.Detail())
}

// IDOf returns the id of the first of all that has one. It is asked for several times in each plan and refresh of each
// resource, so that it looks at the value alone.
func IDOf(all ...tftypes.Value) string {
	for _, one := range all {
		var attributes map[string]tftypes.Value
		var id string
		if one.As(&attributes) == nil && attributes["id"].IsFullyKnown() && attributes["id"].As(&id) == nil && id != "" {
			return id
		}
	}
	return ""
}

// DistinguishReads does so for data sources, which have no id. A warning that another one has given
// in the same words is about the same thing and is left out; one with other details gets a number.
func (d *Data) DistinguishReads(diags *diag.Diagnostics) { d.number("data source", diags) }

// DistinguishActions does the same for actions.
func (d *Data) DistinguishActions(diags *diag.Diagnostics) { d.number("action", diags) }

func (d *Data) number(noun string, diags *diag.Diagnostics) {
	if d == nil {
		return
	}
	out := make(diag.Diagnostics, 0, len(*diags))
	for _, one := range *diags {
		if one.Severity() != diag.SeverityWarning {
			out = append(out, one)
		} else if summary, said := d.free(noun, one); !said {
			out = append(out, withSummary(one, summary))
		}
	}
	*diags = out
	d.label(diags)
}

// free returns the first summary for a warning that none has used, and whether one of the same noun has given
// it in the same words. Numbers count those of the noun.
func (d *Data) free(noun string, one diag.Diagnostic) (summary string, said bool) {
	mine := usedBy{noun, one.Detail()}
	first, used := d.warned.LoadOrStore(one.Summary(), mine)
	if !used || first == mine {
		return one.Summary(), used
	}
	if other, is := first.(usedBy); is && other.noun != noun {
		summary = fmt.Sprintf("%s (%s)", one.Summary(), noun)
		if first, used = d.warned.LoadOrStore(summary, mine); !used || first == mine {
			return summary, used
		}
	}
	for n := 2; ; n++ {
		summary = fmt.Sprintf("%s (%s %d)", one.Summary(), noun, n)
		if first, used = d.warned.LoadOrStore(summary, mine); !used || first == mine {
			return summary, used
		}
	}
}
