// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package workloadsdata

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework-validators/setvalidator"
	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/datasource/schema"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	tfschema "github.com/kubetaint/terraform-provider-kubetaint/internal/tf/schema"
)

// Schema describes the data source.
func (*workloads) Schema(_ context.Context, _ datasource.SchemaRequest, resp *datasource.SchemaResponse) {
	attributes := inputs()
	attributes["workloads"] = schema.ListNestedAttribute{
		Computed:            true,
		MarkdownDescription: "Workloads with running pods, tolerating or not, sorted by namespace, kind and name.",
		NestedObject:        schema.NestedAttributeObject{Attributes: workloadAttributes()},
	}
	resp.Schema = schema.Schema{
		MarkdownDescription: "Workloads and whether they tolerate taints, for how long, and which toleration decides. Nothing is changed. Taints of Kubernetes' own controllers are accepted: \"which pods are evicted when a node becomes unreachable?\"\n\nRunning and Pending pods are judged, with the tolerations that admission and controllers have added to them. These are what the scheduler and the taint-eviction controller act on. Workloads without pods, such as a Deployment that is scaled to zero or a CronJob between two runs, are omitted. A template that is not rolled out yet does not count. If several tolerations match a taint, the first in the pod's list decides.",
		Attributes:          attributes,
	}
}

func inputs() map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"taints": schema.SetNestedAttribute{
			Required:            true,
			MarkdownDescription: "Taints to test, at least one. Combined results assume a node with all of them.",
			Validators:          []validator.Set{setvalidator.SizeAtLeast(1), setvalidator.NoNullValues(), tfschema.UniqueTaints()},
			NestedObject: schema.NestedAttributeObject{Attributes: map[string]schema.Attribute{
				"key":    schema.StringAttribute{Required: true, MarkdownDescription: tfschema.KeyDescription, Validators: tfschema.KeyValidators()},
				"value":  schema.StringAttribute{Optional: true, MarkdownDescription: tfschema.ValueDescription, Validators: tfschema.ValueValidators()},
				"effect": schema.StringAttribute{Required: true, MarkdownDescription: tfschema.EffectDescription + " `PreferNoSchedule` is judged like the others.", Validators: tfschema.EffectValidators()},
			}},
		},
		"namespaces": schema.SetAttribute{
			Optional:            true,
			ElementType:         types.StringType,
			MarkdownDescription: "Namespaces of the workloads. Default: all.",
			Validators:          []validator.Set{setvalidator.SizeAtLeast(1), setvalidator.NoNullValues(), setvalidator.ValueStringsAre(stringvalidator.LengthBetween(1, 63))},
		},
		"selector": schema.StringAttribute{
			Optional:            true,
			MarkdownDescription: "Label selector of the pods, matched against their own labels. Default: all pods.",
			Validators:          []validator.String{tfschema.Selector()},
		},
	}
}

func workloadAttributes() map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"namespace":   tfschema.ComputedString("Namespace of the workload."),
		"kind":        tfschema.ComputedString("Kind of the top owner, such as `Deployment`; `Pod` without one, `Node` for static pods."),
		"name":        tfschema.ComputedString("Name of the workload."),
		"pods":        tfschema.ComputedInt64("Number of running pods that were judged."),
		"pods_differ": tfschema.ComputedBool("Whether pods of the workload differ, as during a rollout. The least tolerant is shown."),
		"tolerates":   tfschema.ComputedBool("Whether all taints are tolerated, forever or for a time."),
		"for_seconds": tfschema.ComputedInt64("Seconds for which all `taints` are tolerated; null: forever, `0`: not at all."),
		"uncertain":   tfschema.ComputedBool("Whether the result depends on the feature gate `TaintTolerationComparisonOperators`. Set `comparison_operators` to decide it."),
		"taints": schema.ListNestedAttribute{
			Computed:            true,
			MarkdownDescription: "Result for each taint, sorted by key and effect.",
			NestedObject: schema.NestedAttributeObject{Attributes: map[string]schema.Attribute{
				"taint":       tfschema.ComputedString("The taint in kubectl's notation."),
				"tolerates":   tfschema.ComputedBool("Whether the taint is tolerated, forever or for a time."),
				"for_seconds": tfschema.ComputedInt64("Seconds for which the taint is tolerated; null: forever, `0`: not at all."),
				"uncertain":   tfschema.ComputedBool("Whether the result for this taint depends on the feature gate, as above."),
				"toleration":  tfschema.ComputedString("Toleration that decides: the first in the pod's list that matches. Null if none does."),
				"shadowed": schema.ListAttribute{
					Computed:            true,
					ElementType:         types.StringType,
					MarkdownDescription: "Later matching tolerations that would last longer, but have no effect after the first match.",
				},
			}},
		},
	}
}
