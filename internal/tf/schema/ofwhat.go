// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package tfschema

import (
	"context"
	"fmt"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-framework/types"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
)

// targets are the attributes that name the objects of a resource, in the order of an id.
var targets = []path.Path{
	path.Root("node_name"), path.Root("node_selector"), path.Root("namespace"), path.Root("name"), path.Root("selector"),
	path.Root("workload").AtName("kind"), path.Root("workload").AtName("namespace"), path.Root("workload").AtName("name"), path.Root("workload").AtName("selector"),
	path.Root("path"), path.Root("machine_sets").AtName("namespace"), path.Root("machine_sets").AtName("name"), path.Root("machine_sets").AtName("selector"),
}

// entrySets are the attributes with what a resource writes to its objects.
var entrySets = []path.Path{path.Root("taints"), path.Root("absent_taints"), path.Root("tolerations")}

// ofWhat returns " of " and the objects that a configuration names, "" if it names none or if they are
// not known yet. A validator has no id of its resource, and two resources with the same fault must not
// warn with the same summary: see Distinguish.
func ofWhat(ctx context.Context, config tfsdk.Config) string {
	return ofParts(targeted(ctx, config))
}

// ofWhich returns the same with the taints or tolerations of the configuration. Two resources of the
// same objects differ in them, or they are refused.
func ofWhich(ctx context.Context, config tfsdk.Config) string {
	parts := targeted(ctx, config)
	for _, at := range entrySets {
		var set types.Set
		if config.Schema == nil || config.GetAttribute(ctx, at, &set).HasError() {
			continue
		}
		for _, entry := range set.Elements() {
			parts = append(parts, notationOf(entry))
		}
	}
	return ofParts(parts)
}

// notationOf returns the notation of a taint, or of a toleration as one.
func notationOf(entry attr.Value) string {
	object, _ := entry.(types.Object)
	key, _ := object.Attributes()["key"].(types.String)
	value, _ := object.Attributes()["value"].(types.String)
	effect, _ := object.Attributes()["effect"].(types.String)
	return taint.Format(corev1.Taint{Key: key.ValueString(), Value: value.ValueString(), Effect: corev1.TaintEffect(effect.ValueString())})
}

func targeted(ctx context.Context, config tfsdk.Config) []string {
	var parts []string
	if config.Schema == nil {
		return nil
	}
	var names types.Set
	if diags := config.GetAttribute(ctx, path.Root("node_names"), &names); !diags.HasError() {
		for _, name := range names.Elements() {
			if text, is := name.(types.String); is {
				parts = append(parts, text.ValueString())
			}
		}
	}
	for _, at := range targets {
		var value types.String
		if diags := config.GetAttribute(ctx, at, &value); !diags.HasError() && value.ValueString() != "" {
			parts = append(parts, value.ValueString())
		}
	}
	return parts
}

func ofParts(parts []string) string {
	if len(parts) == 0 {
		return ""
	}
	return fmt.Sprintf(" of %q", strings.Join(parts, "/"))
}
