// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package dedicatednodes_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/messages"
)

// volume makes a claim "data", bound to a volume that the other node of the pool alone can use.
func (p *pool) volume() {
	p.t.Helper()
	ctx, none, name := p.t.Context(), "", p.name
	much, modes := corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}, []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}
	volumes := p.c.Admin.CoreV1().PersistentVolumes()
	_, err := volumes.Create(ctx, &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.PersistentVolumeSpec{
		Capacity: much, AccessModes: modes, PersistentVolumeSource: corev1.PersistentVolumeSource{Local: &corev1.LocalVolumeSource{Path: "/data"}},
		NodeAffinity: &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
			MatchExpressions: []corev1.NodeSelectorRequirement{{Key: corev1.LabelHostname, Operator: corev1.NodeSelectorOpIn, Values: []string{p.other}}},
		}}}},
	}}, metav1.CreateOptions{})
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { _ = volumes.Delete(context.Background(), name, metav1.DeleteOptions{}) })
	p.c.Patch(p.t, p.other, fmt.Sprintf(`{"metadata":{"labels":{%q:%q}}}`, corev1.LabelHostname, p.other))
	claims := p.c.Admin.CoreV1().PersistentVolumeClaims(p.namespace)
	if _, err = claims.Create(ctx, &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: "data"}, Spec: corev1.PersistentVolumeClaimSpec{
		AccessModes: modes, VolumeName: name, StorageClassName: &none, Resources: corev1.VolumeResourceRequirements{Requests: much},
	}}, metav1.CreateOptions{}); err != nil {
		p.t.Fatal(err)
	}
	acctest.Until(p.t, "the claim is bound", func(ctx context.Context) (bool, error) {
		current, err := claims.Get(ctx, "data", metav1.GetOptions{})
		return err == nil && current.Status.Phase == corev1.ClaimBound, err
	})
}

// TestAccDedicatedNodes_aPinAwayFromItsVolumeIsRefused shows as well what becomes of the pod if it is pinned by hand.
func TestAccDedicatedNodes_aPinAwayFromItsVolumeIsRefused(t *testing.T) {
	t.Parallel()
	messages.Expect(t, "Unable to pin", "the volumes of … are elsewhere")
	c := acctest.Connect(t)
	p := newPool(t, c)
	p.volume()
	p.c.StatefulSet(t, p.namespace, "statefulset", 1, func(s *corev1.PodSpec) {
		s.NodeSelector = map[string]string{"field": p.name}
		s.Tolerations = []corev1.Toleration{{Key: "foreign", Operator: corev1.TolerationOpExists}}
		s.Volumes = []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data"}}}}
	})
	tf, i := terraform(t, c), newInstance()
	w := wish{taints: "team=a:NoExecute", labels: "dedicated=gpu", workloads: map[string]string{"StatefulSet": pinned}}
	acctest.WantAll(t, tf.Plan(t, i, p.config(w)).Diagnostics.Errors(), `"workloads"`, "ElementKeyInt(0)", `"pin"`, "Unable to pin StatefulSet", "the volumes of 1 pod are elsewhere",
		"statefulset-0: its volume "+p.name+" is bound to node "+p.other, "leave out pin")

	w.workloads["StatefulSet"] = tolerating
	if d := tf.Plan(t, i, p.config(w)).Diagnostics; d.Errors() != "" {
		t.Errorf("a toleration alone is refused: %s", d.Errors())
	}
	patch := fmt.Sprintf(`{"spec":{"template":{"spec":{"nodeSelector":{"pool":%q}}}}}`, p.name)
	if _, err := c.Admin.AppsV1().StatefulSets(p.namespace).Patch(t.Context(), "statefulset", types.StrategicMergePatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	acctest.Until(t, "the pod that is pinned by hand is Pending", func(ctx context.Context) (bool, error) {
		pod, err := c.Admin.CoreV1().Pods(p.namespace).Get(ctx, "statefulset-0", metav1.GetOptions{})
		if err != nil || pod.Spec.NodeName != "" {
			return false, nil //nolint:nilerr // It is gone for a moment.
		}
		for _, condition := range pod.Status.Conditions {
			if condition.Type == corev1.PodScheduled && condition.Status == corev1.ConditionFalse {
				return strings.Contains(condition.Message, "PersistentVolume"), nil
			}
		}
		return false, nil
	})
}

// TestAccDedicatedNodes_aSurgeWithoutRoomIsForeseen has a Deployment with a port of its node on each node of the pool. Its
// rollout needs a third one, until an old pod may be unavailable.
func TestAccDedicatedNodes_aSurgeWithoutRoomIsForeseen(t *testing.T) {
	t.Parallel()
	c := acctest.Connect(t)
	p := newPool(t, c)
	c.Deployment(t, p.namespace, "deployment", 2, func(s *corev1.PodSpec) {
		s.NodeSelector = map[string]string{"pool": p.name}
		s.Tolerations = []corev1.Toleration{{Key: "foreign", Operator: corev1.TolerationOpExists}}
		s.Containers[0].Ports = []corev1.ContainerPort{{ContainerPort: 80, HostPort: 8123}}
	})
	tf, i := terraform(t, c), newInstance()
	w := wish{taints: "team=a:NoExecute", labels: "dedicated=gpu", workloads: map[string]string{"Deployment": pinned}}
	tolerates := p.config(wish{taints: w.taints, labels: w.labels, workloads: map[string]string{"Deployment": tolerating}})
	acctest.WantAll(t, tf.Plan(t, i, tolerates).Diagnostics.Warnings(), "to its workloads stops a rollout: no node takes 2 of 2 new pods", "host port in use")
	const crowded = "2 of 2 pinned pods have no room on nodes matching"
	config := acctest.With(p.config(w), map[string]any{"timeouts": map[string]any{"create": "15s"}})
	acctest.WantAll(t, tf.Plan(t, i, config).Diagnostics.Warnings(), crowded, "Deployment "+p.namespace+"/deployment: no node for 2 of 2 pods", "host port in use", "maxUnavailable")
	acctest.WantAll(t, tf.Apply(t, i, config).Errors(), "the rollout did not finish")
	for _, node := range p.nodes {
		for _, taint := range c.Get(t, node).Spec.Taints {
			if taint.Key == "team" {
				t.Errorf("node %s has the taint before the rollout has finished", node)
			}
		}
	}

	patch := `{"spec":{"strategy":{"rollingUpdate":{"maxSurge":0,"maxUnavailable":1}}}}`
	if _, err := c.Admin.AppsV1().Deployments(p.namespace).Patch(t.Context(), "deployment", types.StrategicMergePatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	config = p.config(w)
	if d := tf.Plan(t, i, config).Diagnostics; strings.Contains(d.Warnings(), "no room") {
		t.Errorf("it warns of a rollout that finds room: %s", d.Warnings())
	}
	tf.Settle(t, i, config)
	p.c.Running(t, p.namespace, "deployment", 2)
	p.confined("Deployment")
	tf.Destroy(t, i)
}
