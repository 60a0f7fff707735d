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
	// Ours is set where the resource has an evictions block of its own.
	Ours bool
}

// Error names the first violation.
func (e *Exceeded) Error() string {
	return e.Violations[0].Message
}

// Diagnostic words the violations, at the first attribute of the resource that is
// exceeded.
func (e *Exceeded) Diagnostic() diag.Diagnostic {
	_, list := Preview(e.Subject, e.Report)
	summary := "Unable to " + e.Subject.String() + ": " + e.Violations[0].Message
	detail := e.Subject.written() + " " + e.Subject.instead() + ", or " + e.change() + ".\n\n" + list
	if all := e.named(); all != "" {
		detail = all + "\n\n" + detail
	}
	for _, v := range e.Violations {
		if e.Ours && !v.Inherited {
			return diag.NewAttributeErrorDiagnostic(path.Root("evictions").AtName(v.Attribute), summary, detail)
		}
	}
	return diag.NewErrorDiagnostic(summary, detail)
}

// named says what the summary does not: the names of pods, and the other violations.
func (e *Exceeded) named() string {
	var lines []string
	for _, v := range e.Violations {
		switch {
		case len(v.Pods) > 0:
			lines = append(lines, v.Message+": "+Some(v.Pods)+".")
		case len(e.Violations) > 1:
			lines = append(lines, v.Message+".")
		}
	}
	return strings.Join(lines, "\n")
}

// change says which attributes are to be changed to let the pods leave, and where they
// stand.
func (e *Exceeded) change() string {
	var own, inherited []string
	for _, v := range e.Violations {
		if e.Ours && !v.Inherited {
			own = append(own, v.Attribute)
		} else {
			inherited = append(inherited, v.Attribute)
		}
	}
	var out []string
	if len(own) > 0 {
		out = append(out, strings.Join(own, " and ")+" in evictions")
	}
	if len(inherited) > 0 {
		out = append(out, strings.Join(inherited, " and ")+" in evictions of the provider block")
	}
	return "change " + strings.Join(out, " and ")
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
	return diag.NewAttributeErrorDiagnostic(e.At, "Unable to "+e.Subject.String()+": "+CountVerb(len(e.Pods), "pod tolerates", "pods tolerate")+" the replaced taint, but not the new one",
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
