// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package dedicatednodes_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
)

// TestAccDedicatedNodes_pinsWhatOperatorsPlace does so with OpenShift's own definitions, where no
// node selector was set before: the API server remembers which objects were made, and these go.
func TestAccDedicatedNodes_pinsWhatOperatorsPlace(t *testing.T) {
	t.Parallel()
	for kind, file := range map[string]string{
		"IngressController": "0000_50_ingress_00_ingresscontrollers-Default.crd.yaml", "DNS": "0000_70_dns_00_dnses.crd.yaml",
	} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			c := acctest.Connect(t)
			plural := map[string]string{"IngressController": "ingresscontrollers", "DNS": "dnses"}[kind]
			c.OpenShiftKind(t, schema.GroupVersionResource{Group: "operator.openshift.io", Version: "v1", Resource: plural}, "operator", "v1", "zz_generated.crd-manifests", file)
			p := newPool(t, c)
			p.keyed = true
			p.pins(p.place(kind, acctest.Name(t, "x"), map[string]any{"nodePlacement": map[string]any{
				"tolerations": []any{map[string]any{"key": "foreign", "operator": "Exists"}},
			}}), terraform(t, c))
		})
	}
}
