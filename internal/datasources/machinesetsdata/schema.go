// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package machinesetsdata

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/datasource/schema"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/tf/message"
	tfschema "github.com/kubetaint/terraform-provider-kubetaint/internal/tf/schema"
)

// Schema describes the data source.
func (*machineSets) Schema(_ context.Context, _ datasource.SchemaRequest, resp *datasource.SchemaResponse) {
	resp.Schema = schema.Schema{
		MarkdownDescription: "OpenShift MachineSets: the taints of their templates with owners, their machines, and how machines and nodes differ from the template. A template does not change existing machines: this shows which ones lack its taints. On a cluster without OpenShift's Machine API it is an error.",
		Attributes: map[string]schema.Attribute{
			"namespace": schema.StringAttribute{
				Optional:            true,
				MarkdownDescription: "Namespace of the MachineSets. Default: `" + message.MachineAPINamespace + "`.",
				Validators:          []validator.String{stringvalidator.LengthBetween(1, 63)},
			},
			"selector": schema.StringAttribute{
				Optional:            true,
				MarkdownDescription: "Label selector of the MachineSets. Default: all of the namespace.",
				Validators:          []validator.String{tfschema.Selector()},
			},
			"machine_sets": schema.ListNestedAttribute{
				Computed:            true,
				MarkdownDescription: "MachineSets, sorted by name.",
				NestedObject:        schema.NestedAttributeObject{Attributes: setAttributes()},
			},
		},
	}
}

func setAttributes() map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"namespace": tfschema.ComputedString("Namespace of the MachineSet."),
		"name":      tfschema.ComputedString("Name of the MachineSet."),
		"labels":    schema.MapAttribute{Computed: true, ElementType: types.StringType, MarkdownDescription: "Labels of the MachineSet."},
		"role":      tfschema.ComputedString("Role of the machines, such as `worker` or `infra`; null if the template names none."),
		"replicas":  tfschema.ComputedInt64("Number of machines that the MachineSet asks for (`spec.replicas`)."),
		"autoscaler": schema.SingleNestedAttribute{
			Computed:            true,
			MarkdownDescription: "Bounds of the autoscaler, null without one.",
			Attributes: map[string]schema.Attribute{
				"name": tfschema.ComputedString("MachineAutoscaler as `namespace/name`; null if none is named."),
				"min":  tfschema.ComputedInt64("Minimum number of machines."),
				"max":  tfschema.ComputedInt64("Maximum number of machines."),
			},
		},
		"taints":   list("Taints of the template, sorted by key and effect.", taintAttributes()),
		"machines": list("Machines of the MachineSet, sorted by name. Includes Machines that are being deleted.", machineAttributes()),
		"rollout": schema.SingleNestedAttribute{
			Computed:            true,
			MarkdownDescription: "Rollout that has not ended, or null. The owner's next apply continues an interrupted one.",
			Attributes: map[string]schema.Attribute{
				"owner":      tfschema.ComputedString("`id` of the kubetaint resource, or name of the action, that rolls out."),
				"strategy":   tfschema.ComputedString("Strategy of the rollout."),
				"replicas":   tfschema.ComputedInt64("How many machines the MachineSet asks for once the rollout has ended."),
				"started_at": tfschema.ComputedString("Start of the rollout, in RFC 3339."),
			},
		},
	}
}

func taintAttributes() map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"key":    tfschema.ComputedString("Key of the taint."),
		"value":  tfschema.ComputedString("Value of the taint; null if empty."),
		"effect": tfschema.ComputedString("Effect of the taint."),
		"owner":  tfschema.ComputedString("`id` of the kubetaint resource that owns the taint; null if none does."),
	}
}

func machineAttributes() map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"name":     tfschema.ComputedString("Name of the Machine."),
		"phase":    tfschema.ComputedString("Phase, such as `Provisioning`, `Running`, `Deleting` or `Failed`; null if it has none yet."),
		"deleting": schema.BoolAttribute{Computed: true, MarkdownDescription: "Whether the Machine is being deleted. The MachineSet's counts exclude it; its node may drain."},
		"error":    tfschema.ComputedString("Cause of the Machine's failure, null without one."),
		"node":     tfschema.ComputedString("Name of the Machine's node, null until it has one."),
		"zone":     tfschema.ComputedString("Zone of the Machine's node, by the label `topology.kubernetes.io/zone`."),
		"differences": list("Taints that differ from the template, sorted by key and effect. Empty while being deleted.",
			map[string]schema.Attribute{
				"on":         tfschema.ComputedString("`" + onMachine + "` or `" + onNode + "`. OpenShift ignores taints that only the node has."),
				"difference": tfschema.ComputedString("`missing`, `different` (another value) or `extra`. Taints owned on the node are not extra."),
				"key":        tfschema.ComputedString("Key of the taint."),
				"value":      tfschema.ComputedString("Value in the template, or of an extra taint; null if empty."),
				"effect":     tfschema.ComputedString("Effect of the taint."),
			}),
	}
}

func list(description string, attributes map[string]schema.Attribute) schema.Attribute {
	return schema.ListNestedAttribute{Computed: true, MarkdownDescription: description, NestedObject: schema.NestedAttributeObject{Attributes: attributes}}
}
