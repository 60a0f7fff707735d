// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package functions_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
)

func TestAccFunctions_workInARealCommandLineWithoutACluster(t *testing.T) {
	t.Parallel()
	cli := acctest.NewCLI(t)
	cli.Write(nil, `
locals {
  taint       = provider::kubetaint::parse_taint("dedicated=gpu:NoExecute")
  tolerations = provider::kubetaint::tolerations_for([local.taint, { key = "spot", effect = "NoSchedule" }])
}

output "all" {
  value = join("; ", [
    local.taint.key, local.taint.value, local.taint.effect,
    provider::kubetaint::format_taint(local.taint),
    tostring(provider::kubetaint::tolerates(local.tolerations, local.taint)),
    tostring(provider::kubetaint::tolerates([], local.taint)),
    tostring(length(provider::kubetaint::untolerated([local.taint, { key = "other", effect = "NoExecute" }], local.tolerations))),
  ])
}
`)
	cli.MustRun("apply", "-auto-approve", "-input=false")
	want := "dedicated; gpu; NoExecute; dedicated=gpu:NoExecute; true; false; 1"
	if diff := cmp.Diff(want, cli.MustRun("output", "-raw", "all")); diff != "" {
		t.Error(diff)
	}
}
