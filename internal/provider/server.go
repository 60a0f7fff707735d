// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package provider

import (
	"context"
	"maps"
	"slices"
	"sync/atomic"

	"github.com/hashicorp/terraform-plugin-framework/provider"
	"github.com/hashicorp/terraform-plugin-framework/providerserver"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// Server returns what serves a provider to Terraform: the framework's server, which validates actions once
// more when they are planned and when they are invoked, and gives the warnings of validation once.
func Server(p provider.Provider) tfprotov6.ProviderServer {
	served := providerserver.NewProtocol6(p)()
	all, is := served.(framework)
	ours, made := p.(*kubetaint)
	if is && made {
		return &server{framework: all, block: ours}
	}
	return served
}

// framework is what the framework's server serves of what the provider has.
type framework interface {
	tfprotov6.ProviderServer
	tfprotov6.ListResourceServer
	tfprotov6.ActionServer
}

// server validates actions with values that Terraform has validated while they were unknown: values of
// variables. Resources and data sources need none of that: Terraform validates them again when it plans.
type server struct {
	framework
	block *kubetaint
	// configured is set once the process is that of a provider block.
	configured atomic.Bool
	warned     places
}

// PlanAction plans an action that is valid.
func (s *server) PlanAction(ctx context.Context, req *tfprotov6.PlanActionRequest) (*tfprotov6.PlanActionResponse, error) {
	valid, err := s.framework.ValidateActionConfig(ctx, &tfprotov6.ValidateActionConfigRequest{ActionType: req.ActionType, Config: req.Config})
	if err != nil {
		return nil, err
	}
	if slices.ContainsFunc(valid.Diagnostics, isError) {
		return &tfprotov6.PlanActionResponse{Diagnostics: valid.Diagnostics}, nil
	}
	planned, err := s.framework.PlanAction(ctx, req)
	if err == nil {
		planned.Diagnostics = append(s.numbered(req.ActionType, req.Config, valid.Diagnostics), planned.Diagnostics...)
	}
	return planned, err
}

// InvokeAction invokes an action that is valid, and whose values are known.
func (s *server) InvokeAction(ctx context.Context, req *tfprotov6.InvokeActionRequest) (*tfprotov6.InvokeActionServerStream, error) {
	wrong, err := s.wrong(ctx, req.ActionType, req.Config)
	if err == nil && wrong == nil {
		wrong, err = s.unknown(ctx, req.ActionType, req.Config)
	}
	switch {
	case err != nil:
		return nil, err
	case wrong == nil:
		return s.framework.InvokeAction(ctx, req)
	}
	return &tfprotov6.InvokeActionServerStream{Events: slices.Values([]tfprotov6.InvokeActionEvent{
		{Type: tfprotov6.CompletedInvokeActionEventType{Diagnostics: wrong}},
	})}, nil
}

// wrong returns what is invalid, nil where nothing is.
func (s *server) wrong(ctx context.Context, typeName string, config *tfprotov6.DynamicValue) ([]*tfprotov6.Diagnostic, error) {
	resp, err := s.framework.ValidateActionConfig(ctx, &tfprotov6.ValidateActionConfigRequest{ActionType: typeName, Config: config})
	if err != nil {
		return nil, err
	}
	if !slices.ContainsFunc(resp.Diagnostics, isError) {
		return nil, nil
	}
	return resp.Diagnostics, nil
}

// unknown names the values that are not known: an action that leaves them out would do something else.
func (s *server) unknown(ctx context.Context, typeName string, config *tfprotov6.DynamicValue) ([]*tfprotov6.Diagnostic, error) {
	schemas, err := s.GetProviderSchema(ctx, &tfprotov6.GetProviderSchemaRequest{})
	if err != nil || schemas.ActionSchemas[typeName] == nil || config == nil {
		return nil, err
	}
	value, err := config.Unmarshal(schemas.ActionSchemas[typeName].Schema.ValueType())
	if err != nil || value.IsFullyKnown() {
		return nil, err
	}
	attributes := map[string]tftypes.Value{}
	if err := value.As(&attributes); err != nil {
		return nil, err
	}
	var out []*tfprotov6.Diagnostic
	for _, name := range slices.Sorted(maps.Keys(attributes)) {
		if !attributes[name].IsFullyKnown() {
			out = append(out, &tfprotov6.Diagnostic{
				Severity: tfprotov6.DiagnosticSeverityError, Attribute: tftypes.NewAttributePath().WithAttributeName(name),
				Summary: "Unable to invoke " + typeName + " with an unknown value of " + name,
				Detail:  "Nothing has been written. Apply what the value comes from first, then invoke the action.",
			})
		}
	}
	return out, nil
}
