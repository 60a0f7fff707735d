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

	"github.com/kubetaint/terraform-provider-kubetaint/internal/fw"
)

// Schema describes the data source.
func (*workloads) Schema(_ context.Context, _ datasource.SchemaRequest, resp *datasource.SchemaResponse) {
	attributes := inputs()
	attributes["workloads"] = schema.ListNestedAttribute{
		Computed:            true,
		MarkdownDescription: "Workloads that have live pods, those that tolerate the taints and those that do not, sorted by namespace, kind and name.",
		NestedObject:        schema.NestedAttributeObject{Attributes: workloadAttributes()},
	}
	resp.Schema = schema.Schema{
		MarkdownDescription: "Which workloads tolerate taints, for how long, which do not, and which toleration decides. Nothing is changed. " +
			"Taints that belong to Kubernetes' own controllers are welcome here: \"who leaves when a node becomes unreachable?\"\n\n" +
			"Live pods are asked, running or waiting for a node, with the tolerations that admission and controllers have added to them: " +
			"these are what the scheduler and the taint-eviction controller act on. So workloads without a live pod, such as a Deployment that is scaled to zero or a CronJob between two runs, are left out, " +
			"and a template that is not rolled out yet does not count. Of several tolerations that match a taint, the first in the pod's list decides.",
		Attributes: attributes,
	}
}

func inputs() map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"taints": schema.SetNestedAttribute{
			Required:            true,
			MarkdownDescription: "Taints to ask about, at least one. No node needs to carry them. Whoever tolerates them as a whole tolerates a node that carries all of them.",
			Validators:          []validator.Set{setvalidator.SizeAtLeast(1), setvalidator.NoNullValues(), fw.UniqueTaints()},
			NestedObject: schema.NestedAttributeObject{Attributes: map[string]schema.Attribute{
				"key":    schema.StringAttribute{Required: true, MarkdownDescription: fw.KeyDescription, Validators: fw.KeyValidators()},
				"value":  schema.StringAttribute{Optional: true, MarkdownDescription: fw.ValueDescription, Validators: fw.ValueValidators()},
				"effect": schema.StringAttribute{Required: true, MarkdownDescription: fw.EffectDescription + " One with `PreferNoSchedule` is judged like the others, although it keeps nobody away.", Validators: fw.EffectValidators()},
			}},
		},
		"namespaces": schema.SetAttribute{
			Optional:            true,
			ElementType:         types.StringType,
			MarkdownDescription: "Namespaces whose workloads are looked at. Left out, all are.",
			Validators:          []validator.Set{setvalidator.SizeAtLeast(1), setvalidator.NoNullValues(), setvalidator.ValueStringsAre(stringvalidator.LengthBetween(1, 63))},
		},
		"selector": schema.StringAttribute{
			Optional: true,
			MarkdownDescription: "Label selector, in kubectl's syntax, of the pods that are asked, as `kubectl get pods -l` takes it. It is matched against the labels of pods, not of their workloads. " +
				"Pods that it does not match are neither judged nor counted. Left out, all pods are asked.",
			Validators: []validator.String{fw.Selector()},
		},
	}
}

func workloadAttributes() map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"namespace":   text("Namespace of the workload."),
		"kind":        text("Kind of the workload, as far up as it is known: `Deployment` rather than `ReplicaSet`, `CronJob` rather than `Job`. `Pod` for a pod that no controller owns, `Node` for the static pods of a node."),
		"name":        text("Name of the workload."),
		"pods":        number("How many live pods were asked."),
		"pods_differ": truth("Whether these pods give different answers, as in the middle of a rollout. Of each taint the least tolerant pod is shown."),
		"tolerates":   truth("Whether every one of the taints is tolerated, for ever or for a time."),
		"for_seconds": number("For how many seconds all of the taints are tolerated: the minimum over `taints`. Null means for ever and nothing else; `0` means that one is not tolerated, or only for zero seconds."),
		"uncertain":   truth("Whether `tolerates` or `for_seconds` depends on the cluster's feature gate `TaintTolerationComparisonOperators`, as with tolerations that use `Lt` or `Gt`. The API does not show the gate, so the less tolerant answer is given. It is certain once `comparison_operators` is set in the provider block."),
		"taints": schema.ListNestedAttribute{
			Computed:            true,
			MarkdownDescription: "The answer for each taint, sorted by key and effect.",
			NestedObject: schema.NestedAttributeObject{Attributes: map[string]schema.Attribute{
				"taint":       text("The taint in kubectl's notation."),
				"tolerates":   truth("Whether the taint is tolerated, for ever or for a time."),
				"for_seconds": number("For how many seconds the taint is tolerated. Null means for ever and nothing else; `0` means not at all, or only for zero seconds. Only a taint with `NoExecute` can be tolerated for a time."),
				"uncertain":   truth("Whether the answer for this taint depends on the feature gate, as above."),
				"toleration":  text("Toleration that decides: the first in the pod's list that matches. Null where none does."),
				"shadowed": schema.ListAttribute{
					Computed:            true,
					ElementType:         types.StringType,
					MarkdownDescription: "Later tolerations that match as well and would last longer. They have no effect on this taint, because an earlier one decides: to count, they would have to stand before it.",
				},
			}},
		},
	}
}

func text(description string) schema.Attribute {
	return schema.StringAttribute{Computed: true, MarkdownDescription: description}
}

func truth(description string) schema.Attribute {
	return schema.BoolAttribute{Computed: true, MarkdownDescription: description}
}

func number(description string) schema.Attribute {
	return schema.Int64Attribute{Computed: true, MarkdownDescription: description}
}
