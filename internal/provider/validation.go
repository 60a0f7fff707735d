// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package provider

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/tf/session"
)

// Before a plan, Terraform validates a configuration in a process that is not configured. It does so again in
// the process that plans, right before each plan or read (core's node_resource_abstract_instance.go), and shows
// the warnings of both. Only the second knows its provider block, and can keep its summaries apart from
// those of other blocks. So the first reports errors alone.

// ValidateProviderConfig reports errors. Warnings come when the block is configured.
func (s *server) ValidateProviderConfig(ctx context.Context, req *tfprotov6.ValidateProviderConfigRequest) (*tfprotov6.ValidateProviderConfigResponse, error) {
	resp, err := s.framework.ValidateProviderConfig(ctx, req)
	if err == nil {
		resp.Diagnostics = slices.DeleteFunc(resp.Diagnostics, isWarning)
	}
	return resp, err
}

// ConfigureProvider configures the block, with the warnings of its validation.
func (s *server) ConfigureProvider(ctx context.Context, req *tfprotov6.ConfigureProviderRequest) (*tfprotov6.ConfigureProviderResponse, error) {
	valid, err := s.framework.ValidateProviderConfig(ctx, &tfprotov6.ValidateProviderConfigRequest{Config: req.Config})
	if err != nil {
		return nil, err
	}
	resp, err := s.framework.ConfigureProvider(ctx, req)
	if err == nil {
		s.configured.Store(true)
		warnings := slices.DeleteFunc(valid.Diagnostics, isError)
		resp.Diagnostics = append(s.numbered("", req.Config, warnings), resp.Diagnostics...)
	}
	return resp, err
}

// ValidateResourceConfig reports errors, and warnings before a plan.
func (s *server) ValidateResourceConfig(ctx context.Context, req *tfprotov6.ValidateResourceConfigRequest) (*tfprotov6.ValidateResourceConfigResponse, error) {
	resp, err := s.framework.ValidateResourceConfig(ctx, req)
	if err == nil {
		resp.Diagnostics = s.numbered(req.TypeName, req.Config, resp.Diagnostics)
	}
	return resp, err
}

// ValidateDataResourceConfig reports errors, and warnings before a read.
func (s *server) ValidateDataResourceConfig(ctx context.Context, req *tfprotov6.ValidateDataResourceConfigRequest) (*tfprotov6.ValidateDataResourceConfigResponse, error) {
	resp, err := s.framework.ValidateDataResourceConfig(ctx, req)
	if err == nil {
		resp.Diagnostics = s.numbered(req.TypeName, req.Config, resp.Diagnostics)
	}
	return resp, err
}

// ValidateActionConfig reports errors. Warnings come with the plan, which validates once more.
func (s *server) ValidateActionConfig(ctx context.Context, req *tfprotov6.ValidateActionConfigRequest) (*tfprotov6.ValidateActionConfigResponse, error) {
	resp, err := s.framework.ValidateActionConfig(ctx, req)
	if err == nil {
		resp.Diagnostics = slices.DeleteFunc(resp.Diagnostics, isWarning)
	}
	return resp, err
}

// numbered adds the label of the block to warnings, and a number where another attribute or configuration of
// the run has used a summary. It leaves warnings out where the process has no block.
func (s *server) numbered(typeName string, config *tfprotov6.DynamicValue, diags []*tfprotov6.Diagnostic) []*tfprotov6.Diagnostic {
	if !s.configured.Load() {
		return slices.DeleteFunc(diags, isWarning)
	}
	for _, d := range diags {
		if isWarning(d) {
			place := fmt.Sprintf("%s %s %x", typeName, d.Attribute, config.MsgPack)
			if n := s.warned.number(d.Summary, place); n > 1 {
				d.Summary = fmt.Sprintf("%s (%d)", d.Summary, n)
			}
			d.Summary = session.OfBlock(s.block.label, d.Summary)
		}
	}
	return diags
}

// places are what has used the summary of a warning, such as an attribute of a resource's configuration.
type places struct {
	mu sync.Mutex
	of map[string][]string
}

// number returns how many places have used a summary up to this one, which counts once.
func (p *places) number(summary, place string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.of == nil {
		p.of = map[string][]string{}
	}
	if !slices.Contains(p.of[summary], place) {
		p.of[summary] = append(p.of[summary], place)
	}
	return slices.Index(p.of[summary], place) + 1
}

func isWarning(d *tfprotov6.Diagnostic) bool {
	return d.Severity == tfprotov6.DiagnosticSeverityWarning
}

func isError(d *tfprotov6.Diagnostic) bool { return d.Severity == tfprotov6.DiagnosticSeverityError }
