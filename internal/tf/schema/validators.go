// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package tfschema

import (
	"context"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/admission"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/label"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/workload"
)

// Selector checks that a string is a label selector in kubectl's syntax and not
// empty: an empty one would match everything.
func Selector() validator.String { return check{description: aSelector, find: wrongSelector} }

// objectSelector validates a label selector that becomes part of an object.
func objectSelector() validator.String {
	return check{description: aSelector, find: func(s string) string {
		wrong := wrongSelector(s)
		if _, err := admission.ObjectSelector(s); wrong == "" && err != nil {
			wrong = "Policies do not accept it: " + err.Error() + ". Use =, !=, in or notin."
		}
		return wrong
	}}
}

const aSelector = "must be a label selector in kubectl's syntax, such as pool=gpu,zone in (a,b)"

// wrongSelector returns why a string is no label selector, "" where it is one.
func wrongSelector(s string) string {
	selector, err := labels.Parse(s)
	if err != nil {
		return "It does not parse: " + err.Error() + "."
	}
	if selector.Empty() {
		return "An empty selector would match everything: name at least one label."
	}
	return ""
}

// NoSelector words that a label selector, which stands at a path, cannot be read. The
// validator refuses it where it is known in time.
func NoSelector(at path.Path, written string, err error) diag.Diagnostic {
	return diag.NewAttributeErrorDiagnostic(at, fmt.Sprintf("Unable to read the selector %q", written),
		"It is not a label selector in kubectl's syntax, such as pool=gpu,zone in (a,b). Correct it.\n\nOriginal error: "+err.Error())
}

// check validates a known string by a function that returns what is wrong.
type check struct {
	description string
	find        func(string) string
	// complete is set where what is wrong says all that the description says.
	complete bool
}

// Description reports what is allowed.
func (c check) Description(context.Context) string { return c.description }

// MarkdownDescription reports what is allowed.
func (c check) MarkdownDescription(context.Context) string { return c.description }

// ValidateString adds an error at the attribute where the value is wrong.
func (c check) ValidateString(_ context.Context, req validator.StringRequest, resp *validator.StringResponse) {
	if req.ConfigValue.IsNull() || req.ConfigValue.IsUnknown() {
		return
	}
	if wrong := c.find(req.ConfigValue.ValueString()); wrong != "" {
		if !c.complete {
			wrong += " It " + c.description + "."
		}
		resp.Diagnostics.AddAttributeError(req.Path, fmt.Sprintf("Unable to use %s %q", attribute(req.Path), req.ConfigValue.ValueString()), wrong)
	}
}

// attribute names the attribute that a path ends with: the command line shows
// the line of the configuration, and a whole path through a set repeats it.
func attribute(p path.Path) string {
	switch step := lastStep(p).(type) {
	case path.PathStepAttributeName:
		return string(step)
	case path.PathStepElementKeyValue:
		return attribute(p.ParentPath())
	}
	return p.String()
}

func lastStep(p path.Path) path.PathStep {
	steps := p.Steps()
	if len(steps) == 0 {
		return nil
	}
	return steps[len(steps)-1]
}

// TolerationPath checks that a string is a path to a list of tolerations.
func TolerationPath() validator.String {
	return check{
		description: "must be the names of fields joined by dots, such as spec.nodePlacement.tolerations", complete: true,
		find: func(s string) string {
			if _, err := workload.SplitPath(s); err != nil {
				return err.Error() + "."
			}
			return ""
		},
	}
}

// LabelKey checks that a string is the key of a label.
func LabelKey() validator.String {
	return check{description: "must be a qualified name, such as example.com/pool", find: func(s string) string { return first("The key ", label.ValidateKey(s)) }}
}

// LabelValue checks that a string is the value of a label.
func LabelValue() validator.String {
	return check{description: "must be at most 63 letters, digits, -, _ and .", find: func(s string) string { return first("The value ", label.ValidateValue(s)) }}
}

func first(subject string, wrong []string) string {
	if len(wrong) == 0 {
		return ""
	}
	return subject + wrong[0] + "."
}
