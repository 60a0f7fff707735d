// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package machinesettaints

import (
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/diag"
)

// FuzzFromID: an id is refused, or names one MachineSet and each taint once.
func FuzzFromID(f *testing.F) {
	for _, seed := range []string{"openshift-machine-api/infra/a:NoExecute", "n/s/a:NoSchedule,b/c:NoExecute", "n/s/", "n//a:NoSchedule", "n/s/a:NoSchedule,a:NoSchedule", "n/s/\x00:NoExecute"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, id string) {
		var m model
		var diags diag.Diagnostics
		taints := m.fromID(id, &diags)
		if diags.HasError() {
			return
		}
		names := make([]string, 0, len(taints))
		for _, one := range taints {
			names = append(names, one.String())
		}
		if again := strings.Join([]string{m.Namespace.ValueString(), m.Name.ValueString(), strings.Join(names, ",")}, "/"); again != id || len(taints) == 0 {
			t.Fatalf("%q is read as %q", id, again)
		}
	})
}
