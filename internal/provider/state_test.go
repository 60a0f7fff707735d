// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package provider_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/providerserver"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/provider"
)

// TestState_ofEachSchemaVersionIsRead: the state that each schema version of each resource
// has written, kept as a file, is read by this version, and nothing of it is lost.
func TestState_ofEachSchemaVersionIsRead(t *testing.T) {
	t.Parallel()
	server, err := providerserver.NewProtocol6WithError(provider.New("test")())()
	if err != nil {
		t.Fatal(err)
	}
	schemas, err := server.GetProviderSchema(t.Context(), &tfprotov6.GetProviderSchemaRequest{})
	if err != nil || len(schemas.ResourceSchemas) < 6 {
		t.Fatalf("%d resources: %v", len(schemas.ResourceSchemas), err)
	}
	for name, schema := range schemas.ResourceSchemas {
		for version := range schema.Version + 1 {
			t.Run(fmt.Sprintf("%s of version %d", name, version), func(t *testing.T) {
				t.Parallel()
				kept, err := os.ReadFile(filepath.Join("testdata", "state", fmt.Sprintf("%s.v%d.json", name, version)))
				if err != nil {
					t.Fatalf("the state of this version is not kept: %v", err)
				}
				got, err := server.UpgradeResourceState(t.Context(), &tfprotov6.UpgradeResourceStateRequest{TypeName: name, Version: version, RawState: &tfprotov6.RawState{JSON: kept}})
				if err != nil {
					t.Fatal(err)
				}
				for _, d := range got.Diagnostics {
					t.Errorf("%s: %s", d.Summary, d.Detail)
				}
				if t.Failed() {
					return
				}
				value, err := got.UpgradedState.Unmarshal(schema.ValueType())
				if err != nil {
					t.Fatal(err)
				}
				var attributes map[string]tftypes.Value
				if err := value.As(&attributes); err != nil {
					t.Fatal(err)
				}
				var was map[string]any
				if err := json.Unmarshal(kept, &was); err != nil {
					t.Fatal(err)
				}
				for attribute, before := range was {
					if now := attributes[attribute]; before != nil && now.IsNull() {
						t.Errorf("%s is lost", attribute)
					}
				}
			})
		}
	}
}
