// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package fw

import (
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/eviction"
)

// Exceeded is the error of a change that would make more pods leave than the
// budget allows.
type Exceeded struct {
	Violations []Violation
	Subject    Subject
	Report     *eviction.Report
	// Ours is set where the budget stands in the resource, not in the provider.
	Ours bool
}

// Error names the first violation.
func (e *Exceeded) Error() string {
	return e.Violations[0].Message
}

// Diagnostic words the violations, at the attribute of the first.
func (e *Exceeded) Diagnostic() diag.Diagnostic {
	messages := make([]string, len(e.Violations))
	for i, v := range e.Violations {
		messages[i] = v.Message
	}
	_, list := Preview(e.Subject, e.Report)
	verb := "would"
	if e.Report.Summary().Evicted() == 0 {
		verb = "may"
	}
	summary := "Unable to " + e.Subject.String() + ": more pods " + verb + " leave than the budget allows"
	detail := strings.Join(messages, "\n") + "\n\n" + e.Subject.written() + " " + e.Subject.wayOut() + "\n\n" + list
	if !e.Ours {
		return diag.NewErrorDiagnostic(summary, detail)
	}
	return diag.NewAttributeErrorDiagnostic(path.Root("evictions").AtName(e.Violations[0].Attribute), summary, detail)
}

// Stranded is the error of a change that takes away what pods tolerate and
// brings what they do not.
type Stranded struct {
	Pods    []eviction.PodVerdict
	Subject Subject
	Report  *eviction.Report
	// At is the attribute that could save the pods.
	At path.Path
}

// Error counts the pods.
func (e *Stranded) Error() string {
	return Count(len(e.Pods), "pod") + " would be stranded"
}

// Diagnostic says what to do about the pods.
func (e *Stranded) Diagnostic() diag.Diagnostic {
	_, list := Preview(e.Subject, e.Report)
	return diag.NewAttributeErrorDiagnostic(e.At, "Unable to "+e.Subject.String()+": "+CountVerb(len(e.Pods), "pod tolerates", "pods tolerate")+" what goes and not what comes",
		e.Subject.written()+" "+e.Subject.advice()+"\n\n"+list)
}

// Allow checks a report right before a write: against stranded pods, whose way
// out is the attribute at, and against the budget, which stands in the resource
// where ours is set. Errors: *Stranded, *Exceeded.
func (b Budget) Allow(report *eviction.Report, about Subject, at path.Path, ours bool) error {
	if pods := report.Stranded(); len(pods) > 0 && !b.EvictStranded {
		return &Stranded{Pods: pods, Subject: about, Report: report, At: at}
	}
	if violations := b.Check(report); b.Set() && len(violations) > 0 {
		return &Exceeded{Violations: violations, Subject: about, Report: report, Ours: ours}
	}
	return nil
}
