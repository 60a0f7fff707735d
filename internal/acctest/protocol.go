// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package acctest

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"sync"
	"testing"

	frameworkprovider "github.com/hashicorp/terraform-plugin-framework/provider"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/kube"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/provider"
)

// Terraform drives the provider through its protocol in the order that
// Terraform's core does: each walk (refresh and plan, then apply) has a
// provider server of its own, and an apply plans again before it applies.
type Terraform struct {
	// Provider is the provider block.
	Provider map[string]any
	// Transport takes the place of the network for each walk, where it is set.
	Transport func() http.RoundTripper
	// Reading is how pods are read; the environment chooses where it is not set.
	Reading kube.Reading
	// Labels keeps the cluster of the provider block in the summaries of warnings.
	Labels bool
	// Context is that of all requests, where it is set; otherwise it is the test's.
	Context context.Context //nolint:containedctx // It ends the processes, not a call.
}

func (tf *Terraform) provider() func() frameworkprovider.Provider {
	transport := transportTo(tf.Provider["host"])
	if tf.Transport != nil {
		transport = tf.Transport()
	}
	made := provider.New("test")
	if transport != nil {
		made = provider.NewWithTransport("test", transport)
	}
	return provider.Reading(made, cmp.Or(tf.Reading, chosenReading()))
}

// Instance is one resource instance: what Terraform would keep in its state.
type Instance struct {
	Type     string
	State    *tfprotov6.DynamicValue
	Private  []byte
	Identity *tfprotov6.ResourceIdentityData
}

// Exists reports whether the state holds the instance.
func (i *Instance) Exists() bool { return i.State != nil }

// Diagnostics are what one or more calls returned.
type Diagnostics []*tfprotov6.Diagnostic

// Errors returns the errors as text.
func (d Diagnostics) Errors() string { return d.text(tfprotov6.DiagnosticSeverityError) }

// Warnings returns the warnings as text.
func (d Diagnostics) Warnings() string { return d.text(tfprotov6.DiagnosticSeverityWarning) }

func (d Diagnostics) text(severity tfprotov6.DiagnosticSeverity) string {
	var b strings.Builder
	for _, one := range d {
		if one.Severity == severity {
			fmt.Fprintf(&b, "[%s] %s\n%s\n", one.Attribute, one.Summary, one.Detail)
		}
	}
	return b.String()
}

// Planned is a planned change of one instance.
type Planned struct {
	State    *tfprotov6.DynamicValue
	Private  []byte
	Identity *tfprotov6.ResourceIdentityData
	// Empty is set where the plan changes nothing, Replace where it replaces.
	Empty, Replace bool
	Diagnostics    Diagnostics
}

// Walk is one provider process as Terraform would start it.
type Walk struct {
	t      testing.TB
	ctx    context.Context //nolint:containedctx // It ends the process, not a call.
	server tfprotov6.ProviderServer
	schema *tfprotov6.GetProviderSchemaResponse

	// Between is called, where it is set, after an apply has planned again and
	// before it applies.
	Between func()
	// Progress is what actions have told while they ran.
	Progress []string
	// Unvalidated has values of an action come from variables: Terraform validates them while they are unknown.
	// Unplanned has them known when the action is invoked, and no earlier.
	Unvalidated, Unplanned bool

	labels bool
	warned warned
}

// schemas are the same in every process.
var schemas = sync.OnceValues(func() (*tfprotov6.GetProviderSchemaResponse, error) {
	return provider.Server(provider.New("test")()).GetProviderSchema(context.Background(), &tfprotov6.GetProviderSchemaRequest{})
})

// Start configures a provider. The diagnostics of Configure are returned.
func (tf *Terraform) Start(t testing.TB) (*Walk, Diagnostics) {
	t.Helper()
	w := &Walk{t: t, ctx: tf.Context, labels: tf.Labels, server: provider.Server(tf.provider()())}
	if w.ctx == nil {
		w.ctx = t.Context()
	}
	var err error
	w.schema, err = schemas()
	must(t, err)
	config := w.encode(w.schema.Provider.ValueType(), tf.Provider)
	if d := validOnce("", config, func() []*tfprotov6.Diagnostic {
		validated, err := w.server.ValidateProviderConfig(w.ctx, &tfprotov6.ValidateProviderConfigRequest{Config: config})
		must(t, err)
		w.receive(validated.Diagnostics)
		return validated.Diagnostics
	}); d.Errors() != "" {
		return w, d
	}
	configured, err := w.server.ConfigureProvider(w.ctx, &tfprotov6.ConfigureProviderRequest{Config: config, TerraformVersion: "1.16.0"})
	must(t, err)
	w.receive(configured.Diagnostics)
	return w, configured.Diagnostics
}

// Walk configures a provider and fails the test where that is not possible.
func (tf *Terraform) Walk(t testing.TB) *Walk {
	t.Helper()
	w, d := tf.Start(t)
	if d.Errors() != "" {
		t.Fatalf("configuring the provider: %s", d.Errors())
	}
	return w
}

// Refresh reads an instance; one that is gone leaves the state.
func (w *Walk) Refresh(i *Instance) Diagnostics {
	w.t.Helper()
	if !i.Exists() {
		return nil
	}
	resp, err := w.server.ReadResource(w.ctx, &tfprotov6.ReadResourceRequest{
		TypeName: i.Type, CurrentState: i.State, Private: i.Private, CurrentIdentity: i.Identity,
	})
	must(w.t, err)
	w.receive(resp.Diagnostics)
	w.warned.once(w.t, i, resp.Diagnostics)
	if Diagnostics(resp.Diagnostics).Errors() == "" {
		i.Private, i.Identity = resp.Private, resp.NewIdentity
		i.State = w.orGone(i.Type, resp.NewState)
	}
	return resp.Diagnostics
}

// Validate validates a configuration, as "terraform validate" does.
func (w *Walk) Validate(i *Instance, config map[string]any) Diagnostics {
	w.t.Helper()
	return w.validate(i, w.encode(w.resourceType(i.Type), config))
}

func (w *Walk) validate(i *Instance, config *tfprotov6.DynamicValue) Diagnostics {
	w.t.Helper()
	validated, err := w.server.ValidateResourceConfig(w.ctx, &tfprotov6.ValidateResourceConfigRequest{TypeName: i.Type, Config: config})
	must(w.t, err)
	w.receive(validated.Diagnostics)
	return validated.Diagnostics
}

// Plan plans a configuration for an instance; a nil one plans its destruction.
func (w *Walk) Plan(i *Instance, config map[string]any) Planned {
	w.t.Helper()
	if config != nil {
		encoded := w.encode(w.resourceType(i.Type), config)
		d := validOnce(i.Type, encoded, func() []*tfprotov6.Diagnostic { return w.validate(i, encoded) })
		w.warned.once(w.t, i, d)
		if d.Errors() != "" {
			return Planned{Diagnostics: d}
		}
	}
	planned := w.planOnce(i.Type, i.State, i.Private, i.Identity, config)
	if planned.Replace {
		// Core plans a replacement a second time, as a create, with the private
		// state of the first call.
		again := w.planOnce(i.Type, nil, planned.Private, nil, config)
		again.Diagnostics = append(planned.Diagnostics, again.Diagnostics...)
		again.Replace = true
		planned = again
	}
	w.warned.once(w.t, i, planned.Diagnostics)
	return planned
}

func (w *Walk) planOnce(typeName string, prior *tfprotov6.DynamicValue, private []byte, identity *tfprotov6.ResourceIdentityData, config map[string]any) Planned {
	w.t.Helper()
	typ := w.resourceType(typeName)
	null := w.null(typ)
	request := &tfprotov6.PlanResourceChangeRequest{
		TypeName: typeName, PriorState: orNull(prior, null), PriorPrivate: private, PriorIdentity: identity,
		Config: null, ProposedNewState: null,
	}
	if config != nil {
		request.Config = w.encode(typ, config)
		request.ProposedNewState = w.proposed(typeName, prior, config)
	}
	resp, err := w.server.PlanResourceChange(w.ctx, request)
	must(w.t, err)
	w.receive(resp.Diagnostics)
	return Planned{
		State: resp.PlannedState, Private: resp.PlannedPrivate, Identity: resp.PlannedIdentity,
		Empty:   prior != nil && config != nil && w.equal(typ, prior, resp.PlannedState),
		Replace: prior != nil && config != nil && len(resp.RequiresReplace) > 0 && !w.equal(typ, prior, resp.PlannedState),

		Diagnostics: resp.Diagnostics,
	}
}

// ApplyChange carries out one planned change in this walk: a create or an
// update is planned again first, as core does. On error the instance keeps
// what the provider says is to be saved.
func (w *Walk) ApplyChange(i *Instance, planned Planned, config map[string]any) Diagnostics {
	w.t.Helper()
	typ := w.resourceType(i.Type)
	null := w.null(typ)
	request := &tfprotov6.ApplyResourceChangeRequest{
		TypeName: i.Type, PriorState: orNull(i.State, null), PlannedState: null, Config: null, PlannedPrivate: planned.Private,
	}
	var before Diagnostics
	if config != nil {
		again := w.planOnce(i.Type, i.State, i.Private, i.Identity, config)
		if again.Diagnostics.Errors() != "" {
			return again.Diagnostics
		}
		if !w.equal(typ, planned.State, again.State) {
			w.t.Fatal("Provider produced inconsistent final plan")
		}
		before = again.Diagnostics
		request.PlannedState, request.PlannedPrivate, request.PlannedIdentity = again.State, again.Private, again.Identity
		request.Config = w.encode(typ, config)
	}
	if w.Between != nil {
		w.Between()
	}
	resp, err := w.server.ApplyResourceChange(w.ctx, request)
	must(w.t, err)
	w.receive(resp.Diagnostics)
	diagnostics := append(before, resp.Diagnostics...)
	w.warned.once(w.t, i, diagnostics)
	if config != nil && Diagnostics(resp.Diagnostics).Errors() == "" {
		w.consistent(typ, request.PlannedState, resp.NewState)
	}
	i.State, i.Private, i.Identity = w.orGone(i.Type, resp.NewState), resp.Private, resp.NewIdentity
	return diagnostics
}

// Plan refreshes and plans in one walk, as "terraform plan" does.
func (tf *Terraform) Plan(t testing.TB, i *Instance, config map[string]any) Planned {
	t.Helper()
	w := tf.Walk(t)
	before := w.Refresh(i)
	if before.Errors() != "" {
		return Planned{Diagnostics: before}
	}
	if config == nil && !i.Exists() {
		// There is nothing to destroy any more, and core asks for no plan.
		return Planned{Empty: true, Diagnostics: before}
	}
	planned := w.Plan(i, config)
	planned.Diagnostics = append(before, planned.Diagnostics...)
	return planned
}

// Apply plans and applies, as "terraform apply" does; a nil configuration
// destroys. A replacement destroys first.
func (tf *Terraform) Apply(t testing.TB, i *Instance, config map[string]any) Diagnostics {
	t.Helper()
	planned := tf.Plan(t, i, config)
	if planned.Diagnostics.Errors() != "" || planned.Empty || config == nil && !i.Exists() {
		return planned.Diagnostics
	}
	return append(planned.Diagnostics, tf.Carry(t, i, planned, config)...)
}

// Carry carries out a plan in a walk of its own, as "terraform apply FILE" does.
func (tf *Terraform) Carry(t testing.TB, i *Instance, planned Planned, config map[string]any) Diagnostics {
	t.Helper()
	w := tf.Walk(t)
	var d Diagnostics
	if planned.Replace {
		d = w.ApplyChange(i, Planned{Private: planned.Private}, nil)
		if d.Errors() != "" {
			return d
		}
	}
	return append(d, w.ApplyChange(i, planned, config)...)
}

// Data reads a data source and returns its attributes.
func (tf *Terraform) Data(t testing.TB, typeName string, config map[string]any) (map[string]any, Diagnostics) {
	t.Helper()
	return tf.Walk(t).Data(typeName, config)
}

// Data validates and reads a data source.
func (w *Walk) Data(typeName string, config map[string]any) (map[string]any, Diagnostics) {
	w.t.Helper()
	typ := w.schema.DataSourceSchemas[typeName].ValueType()
	request := w.encode(typ, config)
	validated, err := w.server.ValidateDataResourceConfig(w.ctx, &tfprotov6.ValidateDataResourceConfigRequest{TypeName: typeName, Config: request})
	must(w.t, err)
	w.receive(validated.Diagnostics)
	if d := Diagnostics(validated.Diagnostics); d.Errors() != "" {
		return nil, d
	}
	resp, err := w.server.ReadDataSource(w.ctx, &tfprotov6.ReadDataSourceRequest{TypeName: typeName, Config: request})
	must(w.t, err)
	w.receive(resp.Diagnostics)
	all := append(Diagnostics(validated.Diagnostics), resp.Diagnostics...)
	if all.Errors() != "" {
		return nil, all
	}
	attributes, ok := decode(w.t, typ, resp.State).(map[string]any)
	if !ok {
		w.t.Fatalf("%s returned no object", typeName)
	}
	return attributes, all
}

// Attributes returns the attributes that the state holds.
func (tf *Terraform) Attributes(t testing.TB, i *Instance) map[string]any {
	t.Helper()
	w := tf.Walk(t)
	attributes, ok := decode(t, w.resourceType(i.Type), i.State).(map[string]any)
	if !ok {
		t.Fatalf("%s is not in the state", i.Type)
	}
	return attributes
}

// With returns a copy of a configuration with some attributes replaced.
func With(config map[string]any, changes map[string]any) map[string]any {
	out := maps.Clone(config)
	maps.Copy(out, changes)
	return out
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
