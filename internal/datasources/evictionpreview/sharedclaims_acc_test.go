// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package evictionpreview_test

import (
	"context"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/placement"
)

// Two pods share a claim that no volume is bound to yet. The first one that is placed decides where its volume is, and
// which nodes the other can use. Two nodes have four cores each.
func TestAccPlacements_podsShareAClaim(t *testing.T) {
	t.Parallel()
	const both, one = "2", "3"
	for name, tt := range map[string]struct {
		class func(*storagev1.StorageClass)
		// volumes is set where each node has one, capacity what a driver has left, of all nodes or of each.
		volumes      bool
		ofAll, ofOne string
		// onHost is set where the provisioner makes volumes for one node.
		onHost bool
		cores  string
		said   placement.Range
	}{
		"volumes of nodes, room for both on one":          {volumes: true, cores: both},
		"volumes of nodes, room for one on each":          {volumes: true, cores: one, said: placement.Range{Min: 1, Max: 1}},
		"a volume of a zone, room for one on each":        {class: ofZone("z0"), cores: one},
		"capacity of each node, room for both on one":     {ofOne: "1Gi", onHost: true, cores: both},
		"capacity of each node, room for one on each":     {ofOne: "1Gi", onHost: true, cores: one, said: placement.Range{Min: 1, Max: 1}},
		"capacity of all nodes, room for one on each":     {ofAll: "1Gi", cores: one},
		"no capacity for the volume":                      {ofAll: "512Mi", cores: both, said: placement.Range{Min: 2, Max: 2}},
		"of unknown topology, and every node can use it":  {cores: one, said: placement.Range{Max: 1}},
		"of unknown topology, and its node alone uses it": {onHost: true, cores: one, said: placement.Range{Max: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := &places{move: *newMove(t), workloads: map[string]int32{"w": 2}, onHost: tt.onHost}
			class := p.class("shared")
			p.attached("one")
			p.c.Deployment(t, p.namespace, "w", 2, func(s *corev1.PodSpec) {
				p.using("one")(s)
				s.NodeSelector = map[string]string{"pool": p.pool}
				s.Containers[0].Resources.Requests = cores(tt.cores)
			})
			p.running(2)
			p.storageClass(class, tt.volumes, tt.class)
			if tt.ofAll != "" {
				p.capacity(class, tt.ofAll, nil)
			}
			for _, node := range []string{p.to, p.to + "2"} {
				p.c.Node(t, acctest.Node{
					Name: node, Labels: map[string]string{"pool": p.pool, corev1.LabelHostname: node, "zone": "z0"},
					Allocatable: corev1.ResourceList{"cpu": resource.MustParse("4"), "memory": resource.MustParse("4Gi"), "pods": resource.MustParse("4")},
				})
				if tt.ofOne != "" {
					p.capacity(class, tt.ofOne, map[string]string{corev1.LabelHostname: node})
				}
				if tt.volumes {
					p.localVolume(node, node+"-volume", class, "1Gi")
				}
			}
			p.lose("one", class)
			out := p.simulate([]string{p.from})
			p.c.Patch(t, p.from, `{"spec":{"taints":[{"key":"dedicated","value":"gpu","effect":"NoExecute"}]}}`)
			pending := p.settle([]string{p.from})["w"]
			at := slices.IndexFunc(out.Workloads, func(w placement.WorkloadOutcome) bool { return w.Namespace == p.namespace })
			if at < 0 {
				t.Fatal("nothing is predicted")
			}
			if w := out.Workloads[at]; w.Pending != tt.said || pending < w.Pending.Min || pending > w.Pending.Max {
				t.Errorf("%d stay Pending, predicted %v, want %v: %s", pending, w.Pending, tt.said, w.Reason)
			}
		})
	}
}

// lose replaces a bound claim by one that is not, as a restore does. The pods that use it run on.
func (p *places) lose(name, class string) {
	p.t.Helper()
	ctx, claims := p.t.Context(), p.c.Admin.CoreV1().PersistentVolumeClaims(p.namespace)
	old, err := claims.Get(ctx, name, metav1.GetOptions{})
	p.must(err)
	p.must(claims.Delete(ctx, name, metav1.DeleteOptions{}))
	_, err = claims.Patch(ctx, name, types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
	p.must(ignoreGone(err))
	acctest.Until(p.t, "the new claim is there", func(ctx context.Context) (bool, error) {
		_, err := claims.Create(ctx, &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}, StorageClassName: &class, Resources: old.Spec.Resources,
		}}, metav1.CreateOptions{})
		return err == nil, ignoreThere(err)
	})
}
