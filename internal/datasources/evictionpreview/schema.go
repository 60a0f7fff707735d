// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package evictionpreview

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework-validators/listvalidator"
	"github.com/hashicorp/terraform-plugin-framework-validators/setvalidator"
	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/datasource/schema"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"

	tfschema "github.com/kubetaint/terraform-provider-kubetaint/internal/tf/schema"
)

// Schema describes the data source.
func (*dataSource) Schema(_ context.Context, _ datasource.SchemaRequest, resp *datasource.SchemaResponse) {
	attributes := inputs()
	attributes["pods"] = schema.ListNestedAttribute{
		Computed:            true,
		MarkdownDescription: "Affected pods, sorted by node, namespace and name.",
		NestedObject:        schema.NestedAttributeObject{Attributes: podAttributes()},
	}
	attributes["workloads"] = schema.ListNestedAttribute{
		Computed:            true,
		MarkdownDescription: "The same pods counted by workload, most affected first.",
		NestedObject:        schema.NestedAttributeObject{Attributes: workloadAttributes()},
	}
	attributes["summary"] = schema.SingleNestedAttribute{
		Computed:            true,
		MarkdownDescription: "Counts over all pods on the nodes that change.",
		Attributes:          summaryAttributes(),
	}
	attributes["markdown"] = schema.StringAttribute{
		Computed:            true,
		MarkdownDescription: "The preview as Markdown for pull requests: verdict, workloads, timeline and folded pods. Bounded length.",
	}
	resp.Schema = schema.Schema{
		MarkdownDescription: "Which pods a change of taints would evict, when and why. Nothing is changed. " +
			"Taints of Kubernetes' own controllers are accepted: \"what if this node becomes unreachable?\" " +
			"The results can be used in `check` and `precondition` blocks and in outputs. An unreachable cluster, or credentials that may not list pods, is an error.",
		Attributes: attributes,
	}
}

func inputs() map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"node_name": schema.StringAttribute{
			Optional:            true,
			MarkdownDescription: "Name of the node that changes. Either this, `node_selector` or `machine_sets` is required.",
			Validators:          []validator.String{stringvalidator.LengthBetween(1, 253)},
		},
		"node_selector": schema.StringAttribute{
			Optional:            true,
			MarkdownDescription: "Label selector of the nodes that change. Without a match, the results are empty.",
			Validators:          []validator.String{tfschema.Selector()},
		},
		"machine_sets": machineSetsAttribute(),
		"taints": schema.SetNestedAttribute{
			Optional:            true,
			MarkdownDescription: "Taints to add to nodes or templates. The same key and effect is replaced.",
			Validators:          []validator.Set{setvalidator.SizeAtLeast(1), setvalidator.NoNullValues(), tfschema.UniqueTaints()},
			NestedObject: schema.NestedAttributeObject{Attributes: map[string]schema.Attribute{
				"key":    schema.StringAttribute{Required: true, MarkdownDescription: tfschema.KeyDescription, Validators: tfschema.KeyValidators()},
				"value":  schema.StringAttribute{Optional: true, MarkdownDescription: tfschema.ValueDescription, Validators: tfschema.ValueValidators()},
				"effect": schema.StringAttribute{Required: true, MarkdownDescription: tfschema.EffectDescription, Validators: tfschema.EffectValidators()},
			}},
		},
		"absent_taints": schema.SetNestedAttribute{
			Optional:            true,
			MarkdownDescription: "Taints to remove from nodes or templates, with any owner.",
			Validators:          []validator.Set{setvalidator.SizeAtLeast(1), setvalidator.NoNullValues(), tfschema.UniqueAbsent()},
			NestedObject: schema.NestedAttributeObject{Attributes: map[string]schema.Attribute{
				"key":    schema.StringAttribute{Required: true, MarkdownDescription: tfschema.KeyDescription, Validators: tfschema.KeyValidators()},
				"effect": schema.StringAttribute{Required: true, MarkdownDescription: tfschema.EffectDescription, Validators: tfschema.EffectValidators()},
			}},
		},
		"added_tolerations": schema.ListNestedAttribute{
			Optional:            true,
			MarkdownDescription: "Tolerations to assume on workloads, in addition to those of their pods.",
			Validators:          []validator.List{listvalidator.NoNullValues()},
			NestedObject: schema.NestedAttributeObject{Attributes: map[string]schema.Attribute{
				"kind":      schema.StringAttribute{Required: true, MarkdownDescription: "Kind of the workload, such as `Deployment`."},
				"namespace": schema.StringAttribute{Optional: true, MarkdownDescription: "Namespace of the workload, if it has one."},
				"name":      schema.StringAttribute{Required: true, MarkdownDescription: "Name of the workload."},
				"tolerations": schema.SetNestedAttribute{
					Required:            true,
					MarkdownDescription: "Tolerations that are added.",
					Validators:          []validator.Set{setvalidator.SizeAtLeast(1), setvalidator.NoNullValues(), tfschema.UniqueTolerations()},
					NestedObject:        schema.NestedAttributeObject{Attributes: tolerationAttributes(), Validators: []validator.Object{tfschema.ValidToleration()}},
				},
			}},
		},
		"include_unaffected": schema.BoolAttribute{
			Optional:            true,
			MarkdownDescription: "Whether `pods` and `workloads` include unaffected pods. Default: `false`.",
		},
	}
}

func tolerationAttributes() map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"key":                schema.StringAttribute{Optional: true, MarkdownDescription: tfschema.TolerationKeyDescription},
		"operator":           schema.StringAttribute{Optional: true, MarkdownDescription: tfschema.TolerationOperatorDescription},
		"value":              schema.StringAttribute{Optional: true, MarkdownDescription: tfschema.TolerationValueDescription},
		"effect":             schema.StringAttribute{Optional: true, MarkdownDescription: tfschema.TolerationEffectDescription},
		"toleration_seconds": schema.Int64Attribute{CustomType: tfschema.WholeNumberType{}, Optional: true, MarkdownDescription: tfschema.TolerationSecondsDescription},
	}
}

func podAttributes() map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"namespace":     tfschema.ComputedString("Namespace of the pod."),
		"name":          tfschema.ComputedString("Name of the pod."),
		"node":          tfschema.ComputedString("Node that the pod runs on."),
		"owner":         tfschema.ComputedString("Top owner of the pod as `Kind/name`; null if no controller owns it."),
		"verdict":       tfschema.ComputedString("What becomes of the pod: `stays`, `evicted_now`, `evicted_after`, `drained` or `unknown`."),
		"after_seconds": schema.Int64Attribute{Computed: true, MarkdownDescription: "Seconds until the pod is evicted, null unless the verdict is `evicted_after`."},
		"taint":         tfschema.ComputedString("Taint that decided, in kubectl's notation; null if none did."),
		"toleration":    tfschema.ComputedString("Toleration of the pod that decided; null if none did."),
		"reason":        tfschema.ComputedString("Reason, as the end of a sentence that begins with the pod."),
		"lost":          tfschema.ComputedBool("Whether the pod is evicted and no controller recreates it."),
		"placement":     tfschema.ComputedString("`fits`, `pending` or `not_created` (admission refuses it); null without one or where the order decides."),
		"reschedulable": tfschema.ComputedBool("Deprecated, use `placement`: `false` where no node fits."),
		"budget":        tfschema.ComputedString("PodDisruptionBudget of an evicted pod, null without one. Drains respect it, taint eviction bypasses it."),
		"local_data":    tfschema.ComputedBool("Whether the pod has `emptyDir` data, which is deleted with it."),
	}
}

func workloadAttributes() map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"namespace":     tfschema.ComputedString("Namespace of the workload."),
		"kind":          tfschema.ComputedString("Kind of the workload, `Pod` for a pod that no controller owns."),
		"name":          tfschema.ComputedString("Name of the workload."),
		"evicted_now":   tfschema.ComputedInt64("Pods that are evicted immediately."),
		"evicted_after": tfschema.ComputedInt64("Pods that are evicted when their toleration ends."),
		"drained":       tfschema.ComputedInt64("Pods that are drained with their node."),
		"stays":         tfschema.ComputedInt64("Pods that stay."),
		"unknown":       tfschema.ComputedInt64("Pods whose outcome the API does not show."),
		"fits":          tfschema.ComputedInt64("Replacements that fit on nodes in every order."),
		"pending":       tfschema.ComputedInt64("Replacements that stay Pending in every order."),
		"pending_max":   tfschema.ComputedInt64("Replacements that stay Pending in the worst order."),
		"preempted":     tfschema.ComputedInt64("Pods on other nodes that preemption evicts, in the worst order."),
		"evicted_again": tfschema.ComputedInt64("Replacements that their node evicts again, in the worst order."),
	}
}

func summaryAttributes() map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"stays":             tfschema.ComputedInt64("Pods that stay."),
		"evicted_now":       tfschema.ComputedInt64("Pods that are evicted immediately."),
		"evicted_after":     tfschema.ComputedInt64("Pods that are evicted when their toleration ends."),
		"drained":           tfschema.ComputedInt64("Pods that are drained with their node."),
		"unknown":           tfschema.ComputedInt64("Pods whose outcome the API does not show."),
		"completed":         tfschema.ComputedInt64("Completed pods that are deleted, or may be. They count nowhere else."),
		"lost":              tfschema.ComputedInt64("Pods that are evicted, preempted or deleted by failed Jobs, and not recreated."),
		"lost_max":          tfschema.ComputedInt64("The same with pods that may not be recreated, in the worst order."),
		"pending":           tfschema.ComputedInt64("Replacements that stay Pending in every order."),
		"pending_max":       tfschema.ComputedInt64("Replacements that stay Pending in the worst order."),
		"preempted":         tfschema.ComputedInt64("Pods on other nodes that preemption evicts, in the worst order."),
		"evicted_again":     tfschema.ComputedInt64("Replacements that their node evicts again, in the worst order."),
		"not_reschedulable": tfschema.ComputedInt64("Deprecated, use `pending_max`: evicted pods for which no node fits."),
	}
}
