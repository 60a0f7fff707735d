// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package acctest

import (
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
)

// Import imports an instance by its id and reads it, as "terraform import" does.
func (tf *Terraform) Import(t testing.TB, typeName, id string) (*Instance, Diagnostics) {
	t.Helper()
	return tf.imported(t, &tfprotov6.ImportResourceStateRequest{TypeName: typeName, ID: id})
}

// ImportAgain imports by the identity of an instance, as an import block with an identity
// does, and reads it.
func (tf *Terraform) ImportAgain(t testing.TB, i *Instance) (*Instance, Diagnostics) {
	t.Helper()
	if i.Identity == nil {
		t.Fatalf("an instance of %s has no identity", i.Type)
	}
	return tf.imported(t, &tfprotov6.ImportResourceStateRequest{TypeName: i.Type, Identity: i.Identity})
}

func (tf *Terraform) imported(t testing.TB, req *tfprotov6.ImportResourceStateRequest) (*Instance, Diagnostics) {
	t.Helper()
	w := tf.Walk(t)
	resp, err := w.server.ImportResourceState(t.Context(), req)
	must(t, err)
	w.receive(resp.Diagnostics)
	if d := Diagnostics(resp.Diagnostics); d.Errors() != "" {
		return nil, d
	}
	one := resp.ImportedResources[0]
	i := &Instance{Type: req.TypeName, State: one.State, Private: one.Private, Identity: one.Identity}
	return i, append(resp.Diagnostics, w.Refresh(i)...)
}

// Move adopts the state of another type, as a moved block does, and reads
// it. The source's state is JSON.
func (tf *Terraform) Move(t testing.TB, typeName, from, state string) (*Instance, Diagnostics) {
	t.Helper()
	w := tf.Walk(t)
	i, d := w.Move(typeName, from, state)
	if i == nil {
		return nil, d
	}
	return i, append(d, w.Refresh(i)...)
}

// Move does the same without reading it, as with -refresh=false.
func (w *Walk) Move(typeName, from, state string) (*Instance, Diagnostics) {
	w.t.Helper()
	resp, err := w.server.MoveResourceState(w.ctx, &tfprotov6.MoveResourceStateRequest{
		SourceProviderAddress: "registry.terraform.io/hashicorp/kubernetes", SourceTypeName: from,
		SourceState: &tfprotov6.RawState{JSON: []byte(state)}, TargetTypeName: typeName,
	})
	must(w.t, err)
	w.receive(resp.Diagnostics)
	if d := Diagnostics(resp.Diagnostics); d.Errors() != "" {
		return nil, d
	}
	return &Instance{Type: typeName, State: resp.TargetState, Private: resp.TargetPrivate, Identity: resp.TargetIdentity}, resp.Diagnostics
}

// Upgrade returns an instance with the state that a version of its schema has saved, and its identity, both as a state
// file has them, and its private state.
func (w *Walk) Upgrade(typeName string, version int64, state, identity, private []byte) (*Instance, Diagnostics) {
	w.t.Helper()
	upgraded, err := w.server.UpgradeResourceState(w.ctx, &tfprotov6.UpgradeResourceStateRequest{TypeName: typeName, Version: version, RawState: &tfprotov6.RawState{JSON: state}})
	must(w.t, err)
	w.receive(upgraded.Diagnostics)
	if d := Diagnostics(upgraded.Diagnostics); d.Errors() != "" {
		return nil, d
	}
	// Terraform upgrades no identity of the version that the provider has.
	schemas, err := w.server.GetResourceIdentitySchemas(w.ctx, &tfprotov6.GetResourceIdentitySchemasRequest{})
	must(w.t, err)
	typ := schemas.IdentitySchemas[typeName].ValueType()
	value, err := tfprotov6.RawState{JSON: identity}.Unmarshal(typ)
	must(w.t, err)
	encoded, err := tfprotov6.NewDynamicValue(typ, value)
	must(w.t, err)
	return &Instance{Type: typeName, State: upgraded.UpgradedState, Private: private, Identity: &tfprotov6.ResourceIdentityData{IdentityData: &encoded}}, upgraded.Diagnostics
}
