// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package dedicatednodes_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
)

// TestDedicatedNodes_aPinReadsVolumesAlone: the pods of a StatefulSet that is pinned are not evicted, so that its
// podManagementPolicy decides nothing. It is read once, for its template.
func TestDedicatedNodes_aPinReadsVolumesAlone(t *testing.T) {
	t.Parallel()
	onFake(t, func(t *testing.T, c *acctest.Cluster) {
		p := newPool(t, c)
		p.run("StatefulSet", "statefulset", func(s *corev1.PodSpec) {
			s.Volumes = []corev1.Volume{{Name: "scratch", VolumeSource: corev1.VolumeSource{Ephemeral: &corev1.EphemeralVolumeSource{VolumeClaimTemplate: &corev1.PersistentVolumeClaimTemplate{
				Spec: corev1.PersistentVolumeClaimSpec{
					AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
					Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
				},
			}}}}}
		})
		audit, provider := c.Audit(t)
		tf := &acctest.Terraform{Provider: provider}
		config := p.config(wish{taints: "team=a:NoExecute", labels: "dedicated=gpu", workloads: map[string]string{"StatefulSet": pinned}})
		if errs := tf.Plan(t, newInstance(), config).Diagnostics.Errors(); errs != "" {
			t.Fatal(errs)
		}
		count := acctest.Counted(t, "plan", audit.Requests())
		if count["get statefulsets"] != 1 || count["list persistentvolumeclaims"] != 1 {
			t.Errorf("it makes %v", count)
		}
	})
}
