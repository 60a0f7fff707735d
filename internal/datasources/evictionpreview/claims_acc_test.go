// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package evictionpreview_test

import (
	"context"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
)

// local makes a StorageClass whose volumes people make, and returns how to make one of a node.
func (m *move) local() (class string, volume func(node string)) {
	m.t.Helper()
	class = m.pool + "-local"
	classes := m.c.Admin.StorageV1().StorageClasses()
	_, err := classes.Create(m.t.Context(), &storagev1.StorageClass{
		ObjectMeta: metav1.ObjectMeta{Name: class}, Provisioner: "kubernetes.io/no-provisioner", VolumeBindingMode: new(storagev1.VolumeBindingWaitForFirstConsumer),
	}, metav1.CreateOptions{})
	m.must(err)
	m.t.Cleanup(func() { _ = classes.Delete(context.Background(), class, metav1.DeleteOptions{}) })
	return class, func(node string) { m.localVolume(node, node+"-volume", class, "1Gi") }
}

// A claim of a StatefulSet that does not exist is created from its template: where no volume suits it, its pod is Pending.
func TestAccEvictionPreview_claimsComeFromTheirTemplates(t *testing.T) {
	t.Parallel()
	m := newMove(t)
	class, volume := m.local()
	volume(m.from)
	labels, ctx := map[string]string{"app": "db"}, t.Context()
	claim := corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: "data"}, Spec: corev1.PersistentVolumeClaimSpec{
		StorageClassName: &class, AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
		Resources: corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
	}}
	_, err := m.c.Admin.AppsV1().StatefulSets(m.namespace).Create(ctx, &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Name: "db"}, Spec: appsv1.StatefulSetSpec{
		Selector: &metav1.LabelSelector{MatchLabels: labels}, VolumeClaimTemplates: []corev1.PersistentVolumeClaim{claim},
		Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{
			NodeSelector: map[string]string{"pool": m.pool}, TerminationGracePeriodSeconds: new(int64(1)),
			Containers: []corev1.Container{{Name: "main", Image: "registry.k8s.io/pause:3.10.2"}},
		}},
	}}, metav1.CreateOptions{})
	m.must(err)
	m.running(1)
	m.node(m.to, "4Gi", nil)
	claims := m.c.Admin.CoreV1().PersistentVolumeClaims(m.namespace)
	m.must(claims.Delete(ctx, "data-db-0", metav1.DeleteOptions{}))
	_, err = claims.Patch(ctx, "data-db-0", types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
	m.must(err)
	acctest.Until(t, "the claim is gone", func(ctx context.Context) (bool, error) {
		_, err := claims.Get(ctx, "data-db-0", metav1.GetOptions{})
		return apierrors.IsNotFound(err), ignoreGone(err)
	})
	tf, taints := &acctest.Terraform{Provider: m.c.Provider(t)}, &acctest.Instance{Type: "kubetaint_node_taints"}
	config := map[string]any{"node_name": m.from, "taints": acctest.Objects(t, "dedicated=gpu:NoExecute")}
	acctest.WantAll(t, tf.Settle(t, taints, config).Warnings(), "1 pending", "StatefulSet "+m.namespace+"/db", "2 volume")
	acctest.Until(t, "the pod is Pending, and its claim is new", func(ctx context.Context) (bool, error) {
		pending := m.count(ctx, func(p *corev1.Pod) bool {
			return p.Spec.NodeName == "" && condition(p, corev1.PodScheduled).Status == corev1.ConditionFalse
		})
		_, err := claims.Get(ctx, "data-db-0", metav1.GetOptions{})
		return pending == 1 && err == nil, ignoreGone(err)
	})
	volume(m.to)
	acctest.Until(t, "with a volume it runs on the other node", func(ctx context.Context) (bool, error) {
		return m.count(ctx, func(p *corev1.Pod) bool { return p.Spec.NodeName == m.to && p.Status.Phase == corev1.PodRunning }) == 1, nil
	})
}
