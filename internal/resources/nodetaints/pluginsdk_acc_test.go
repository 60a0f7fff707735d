// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package nodetaints_test

import (
	"fmt"
	"os"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/providerserver"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/knownvalue"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/statecheck"
	"github.com/hashicorp/terraform-plugin-testing/tfjsonpath"
	"github.com/hashicorp/terraform-plugin-testing/tfversion"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/provider"
)

const address = "kubetaint_node_taints.this"

// TestAccNodeTaints_stateIdentityAndImport looks at what Terraform keeps: state,
// identity, both ways to import, and a value that is known only after apply.
func TestAccNodeTaints_stateIdentityAndImport(t *testing.T) {
	t.Parallel()
	c := acctest.Connect(t)
	if os.Getenv("TF_ACC_TERRAFORM_PATH") == "" {
		t.Skip("needs a command line: set TF_ACC_TERRAFORM_PATH, or run \"make test\"")
	}
	node := acctest.Name(t, "node")
	c.Node(t, acctest.Node{Name: node})
	kubeconfig := c.Kubeconfig(t)
	config := func(key string) string {
		return fmt.Sprintf(`
provider "kubetaint" {
  config_path = %q
}

resource "terraform_data" "value" {
  input = "gpu"
}

resource "kubetaint_node_taints" "this" {
  node_name = %q
  taints    = [{ key = %q, value = terraform_data.value.output, effect = "NoSchedule" }]
}
`, kubeconfig, node, key)
	}
	known := func(key string) []statecheck.StateCheck {
		return []statecheck.StateCheck{
			statecheck.ExpectKnownValue(address, tfjsonpath.New("id"), knownvalue.StringExact("terraform/node_taints/node/"+node+"/dedicated:NoSchedule")),
			statecheck.ExpectKnownValue(address, tfjsonpath.New("nodes"), knownvalue.MapSizeExact(0)),
			statecheck.ExpectKnownValue(address, tfjsonpath.New("on_conflict"), knownvalue.StringExact("fail")),
			statecheck.ExpectIdentity(address, map[string]knownvalue.Check{
				"target": knownvalue.StringExact("node/" + node),
				"taints": knownvalue.ListExact([]knownvalue.Check{knownvalue.StringExact(key + ":NoSchedule")}),
			}),
		}
	}
	resource.Test(t, resource.TestCase{
		TerraformVersionChecks: []tfversion.TerraformVersionCheck{tfversion.SkipBelow(tfversion.Version1_12_0)},
		ProtoV6ProviderFactories: map[string]func() (tfprotov6.ProviderServer, error){
			"kubetaint": providerserver.NewProtocol6WithError(provider.New("test")()),
		},
		Steps: []resource.TestStep{
			{
				Config: config("dedicated"),
				ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{
					plancheck.ExpectResourceAction(address, plancheck.ResourceActionCreate),
					plancheck.ExpectUnknownValue(address, tfjsonpath.New("taints").AtSliceIndex(0).AtMapKey("value")),
				}},
				ConfigStateChecks: known("dedicated"),
			},
			{
				Config:            config("dedicated"),
				ConfigPlanChecks:  resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{plancheck.ExpectEmptyPlan()}},
				ConfigStateChecks: known("dedicated"),
			},
			{ResourceName: address, ImportState: true, ImportStateId: "node/" + node + "/dedicated:NoSchedule", ImportStateVerify: true},
			{ResourceName: address, ImportState: true, ImportStateKind: resource.ImportBlockWithID, ImportStateId: "node/" + node + "/dedicated:NoSchedule"},
			{ResourceName: address, ImportState: true, ImportStateKind: resource.ImportBlockWithResourceIdentity},
			{
				Config:            config("changed"),
				ConfigPlanChecks:  resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{plancheck.ExpectResourceAction(address, plancheck.ResourceActionUpdate)}},
				ConfigStateChecks: known("changed"),
			},
		},
	})
	wantTaints(t, c, node, "")
}
