// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package tfschema

import (
	"testing"
)

func TestExtendedResource_saysWhatIsWrong(t *testing.T) {
	t.Parallel()
	for name, own := range map[string]bool{"cpu": true, "memory": true, "hugepages-2Mi": true, "kubernetes.io/batch": true, "gpu": false, "nvidia-gpu": false, "nvidia.com/gpu": false} {
		if got := kubernetesOwn(name); got != own {
			t.Errorf("%s is Kubernetes' own: %v", name, got)
		}
	}
}
