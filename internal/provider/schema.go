// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package provider

import (
	"context"
	"maps"
	"regexp"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework-validators/int64validator"
	"github.com/hashicorp/terraform-plugin-framework-validators/listvalidator"
	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/provider"
	"github.com/hashicorp/terraform-plugin-framework/provider/schema"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	tfschema "github.com/kubetaint/terraform-provider-kubetaint/internal/tf/schema"
)

const (
	unreachableWarn = "warn"
	unreachableFail = "fail"

	defaultOwner    = "terraform"
	defaultRollouts = 1
)

// ownerPattern keeps owners readable in an annotation and clear of the slashes
// that separate the parts of an id.
var ownerPattern = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?$`)

// Schema describes the provider block.
func (p *kubetaint) Schema(_ context.Context, _ provider.SchemaRequest, resp *provider.SchemaResponse) {
	attributes := connectionAttributes()
	attributes["exec"] = execAttribute()
	attributes["snapshot"] = snapshotAttribute(attributes)
	attributes["owner"] = schema.StringAttribute{
		Optional:            true,
		MarkdownDescription: "Name of this configuration in ids and records. Must be known at plan. Default: `" + defaultOwner + "`.",
		Validators: []validator.String{
			stringvalidator.LengthBetween(1, 63),
			stringvalidator.RegexMatches(ownerPattern, "must consist of letters, digits, -, _ and ., and begin and end with a letter or digit"),
		},
	}
	attributes["evictions"] = evictionsAttribute()
	attributes["comparison_operators"] = schema.BoolAttribute{
		Optional:            true,
		MarkdownDescription: "Whether the feature gate `TaintTolerationComparisonOperators` is on. Unset: affected pods have the verdict `unknown`.",
	}
	attributes["max_concurrent_rollouts"] = schema.Int64Attribute{
		CustomType:          tfschema.WholeNumberType{},
		Optional:            true,
		MarkdownDescription: "How many rollouts of machines this provider runs at the same time. Default: `1`.",
		Validators:          []validator.Int64{int64validator.AtLeast(1)},
	}
	attributes["unreachable"] = schema.StringAttribute{
		Optional:            true,
		MarkdownDescription: "Plans without a reachable cluster: `warn` (default) makes no preview, `fail` is an error.",
		Validators:          []validator.String{stringvalidator.OneOf(unreachableWarn, unreachableFail)},
	}
	resp.Schema = schema.Schema{
		MarkdownDescription: "The kubetaint provider manages taints of Kubernetes nodes without touching foreign taints. Its plans report which pods a change evicts. It connects like the hashicorp/kubernetes provider, by the same attributes and environment variables. `KUBECONFIG` and `~/.kube/config` are never read by themselves.",
		Attributes:          attributes,
	}
}

// connectionAttributes are those of the hashicorp/kubernetes provider.
func connectionAttributes() map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"config_path": schema.StringAttribute{
			Optional:            true,
			MarkdownDescription: described("config_path", "Path of a kubeconfig file; `~/` is the home directory."),
			Validators:          []validator.String{stringvalidator.ConflictsWith(path.MatchRoot("config_paths"))},
		},
		"config_paths": schema.ListAttribute{
			Optional: true, ElementType: types.StringType,
			MarkdownDescription: described("config_paths", "Kubeconfig files to merge; the first wins.") + " Separated as in `PATH`.",
			Validators:          []validator.List{listvalidator.SizeAtLeast(1), listvalidator.NoNullValues(), listvalidator.ConflictsWith(path.MatchRoot("config_path"))},
		},
		"config_context":           optional("config_context", "Context of the kubeconfig to use, instead of its current one."),
		"config_context_cluster":   optional("config_context_cluster", "Cluster of the kubeconfig to use, instead of the context's."),
		"config_context_auth_info": optional("config_context_auth_info", "User of the kubeconfig to use, instead of the context's."),
		"host":                     optional("host", "Address of the API server, such as `https://api.example.com:6443`. Overrides the kubeconfig's."),
		"token":                    secret("token", "Bearer token."),
		"username":                 optional("username", "User name for basic authentication."),
		"password":                 secret("password", "Password for basic authentication."),
		"client_certificate":       optional("client_certificate", "Client certificate, PEM-encoded."),
		"client_key":               secret("client_key", "Key of the client certificate, PEM-encoded."),
		"cluster_ca_certificate":   optional("cluster_ca_certificate", "Certificates of the authorities that sign the API server's certificate, PEM-encoded."),
		"tls_server_name":          optional("tls_server_name", "Name in the API server's certificate, if it differs from `host`."),
		"insecure": schema.BoolAttribute{
			Optional:            true,
			MarkdownDescription: described("insecure", "Whether to accept any server certificate. Not for production.") + " Otherwise `false`.",
		},
		"proxy_url": optional("proxy_url", "Proxy for all requests to the cluster: `http`, `https` or `socks5`."),
	}
}

// snapshotAttribute is a recorded cluster, in place of every attribute of a connection.
func snapshotAttribute(connection map[string]schema.Attribute) schema.Attribute {
	var others []path.Expression
	for _, name := range slices.Sorted(maps.Keys(connection)) {
		others = append(others, path.MatchRoot(name))
	}
	return schema.StringAttribute{
		Optional:            true,
		MarkdownDescription: "Recorded cluster to plan from: a file, must-gather, or folder of lists. Apply fails.",
		Validators:          []validator.String{stringvalidator.LengthAtLeast(1), stringvalidator.ConflictsWith(others...)},
	}
}

// execAttribute is a command that prints credentials.
func execAttribute() schema.Attribute {
	return schema.SingleNestedAttribute{
		Optional:            true,
		MarkdownDescription: "Command that prints credentials, such as a cloud's login helper. Runs without a terminal.",
		Attributes: map[string]schema.Attribute{
			"api_version": schema.StringAttribute{
				Required:            true,
				MarkdownDescription: "Version of the API that the command prints: `client.authentication.k8s.io/v1` or `client.authentication.k8s.io/v1beta1`.",
				Validators:          []validator.String{stringvalidator.OneOf("client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1")},
			},
			"command": schema.StringAttribute{Required: true, MarkdownDescription: "Command to run.", Validators: []validator.String{stringvalidator.LengthAtLeast(1)}},
			"args":    schema.ListAttribute{Optional: true, ElementType: types.StringType, MarkdownDescription: "Arguments of the command.", Validators: []validator.List{listvalidator.NoNullValues()}},
			"env":     schema.MapAttribute{Optional: true, Sensitive: true, ElementType: types.StringType, MarkdownDescription: "Environment variables for the command, in addition to the provider's own."},
		},
	}
}

func evictionsAttribute() schema.Attribute {
	return schema.SingleNestedAttribute{
		Optional:            true,
		MarkdownDescription: "Default limits on evicted pods, for each resource and action separately.",
		Validators:          tfschema.ProviderLimitsValidators,
		Attributes: map[string]schema.Attribute{
			"max_pods":             schema.Int64Attribute{CustomType: tfschema.WholeNumberType{}, Optional: true, MarkdownDescription: tfschema.MaxPodsDescription, Validators: tfschema.MaxPodsValidators},
			"max_pending":          schema.Int64Attribute{CustomType: tfschema.WholeNumberType{}, Optional: true, MarkdownDescription: tfschema.MaxPendingDescription, Validators: tfschema.MaxPodsValidators},
			"max_lost":             schema.Int64Attribute{CustomType: tfschema.WholeNumberType{}, Optional: true, MarkdownDescription: tfschema.MaxLostDescription, Validators: tfschema.MaxPodsValidators},
			"protected_namespaces": schema.SetAttribute{Optional: true, ElementType: types.StringType, MarkdownDescription: tfschema.ProtectedNamespacesDescription, Validators: tfschema.ProtectedNamespacesValidators},
			"protected_selector":   schema.StringAttribute{Optional: true, MarkdownDescription: tfschema.ProtectedSelectorDescription, Validators: tfschema.ProtectedSelectorValidators},
			"only":                 schema.SetAttribute{Optional: true, ElementType: types.StringType, MarkdownDescription: tfschema.OnlyDescription, Validators: tfschema.OnlyValidators},
			"stranded":             schema.StringAttribute{Optional: true, MarkdownDescription: tfschema.StrandedDescription, Validators: tfschema.StrandedValidators},
		},
	}
}

func optional(name, description string) schema.Attribute {
	return schema.StringAttribute{Optional: true, MarkdownDescription: described(name, description)}
}

func secret(name, description string) schema.Attribute {
	return schema.StringAttribute{Optional: true, Sensitive: true, MarkdownDescription: described(name, description)}
}

// described adds the environment variable to an attribute's description.
func described(name, description string) string {
	return description + " Default: environment variable `" + variables[name] + "`."
}
