// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package nodetaints_test

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
)

// attachingNodes makes nodes crowd-0 to crowd-2 with a pod each. The first and the last pod have a volume. Node crowd-1
// attaches none, and crowd-2 no second one.
func attachingNodes(t *testing.T, c *acctest.Cluster) {
	t.Helper()
	c.Crowd(t, 3, 1, func(n int, node *corev1.Node, pod *corev1.Pod) {
		pod.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "StatefulSet", Name: node.Name, UID: types.UID(node.Name), Controller: new(true)}}
		if n != 1 {
			pod.Spec.Volumes = claiming(node.Name)
		}
	})
	for name, most := range map[string]int32{"crowd-1": 0, "crowd-2": 1} {
		limited := &storagev1.CSINode{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: storagev1.CSINodeSpec{Drivers: []storagev1.CSINodeDriver{
			{Name: "csi.example.com", NodeID: name, Allocatable: &storagev1.VolumeNodeResources{Count: &most}},
		}}}
		if _, err := c.Admin.StorageV1().CSINodes().Create(t.Context(), limited, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"crowd-0", "crowd-2", "other"} {
		bound(t, c, name)
	}
}

func claiming(name string) []corev1.Volume {
	return []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: name}}}}
}

// bound makes a claim with a CSI volume, as the controller that binds them leaves it.
func bound(t *testing.T, c *acctest.Cluster, name string) {
	t.Helper()
	volume := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.PersistentVolumeSpec{
		PersistentVolumeSource: corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{Driver: "csi.example.com", VolumeHandle: name}},
	}}
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{"pv.kubernetes.io/bind-completed": "yes"}}, Spec: corev1.PersistentVolumeClaimSpec{VolumeName: name}}
	_, err := c.Admin.CoreV1().PersistentVolumes().Create(t.Context(), volume, metav1.CreateOptions{})
	if err == nil {
		_, err = c.Admin.CoreV1().PersistentVolumeClaims(metav1.NamespaceDefault).Create(t.Context(), claim, metav1.CreateOptions{})
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestNodeTaints_plansReadLimitsOfVolumesForEvictedPodsAlone: claims and CSINodes cost a request each where pods with
// CSI volumes are evicted, and none otherwise.
func TestNodeTaints_plansReadLimitsOfVolumesForEvictedPodsAlone(t *testing.T) {
	t.Parallel()
	acctest.CountsRequests(t)
	acctest.OnFake(t, func(t *testing.T, c *acctest.Cluster) {
		attachingNodes(t, c)
		audit, provider := c.Audit(t)
		for _, tt := range []struct {
			name, node string
			reads      int
			says       string
		}{
			{name: "a pod without a volume", node: "crowd-1"},
			{name: "a pod with one", node: "crowd-0", reads: 1, says: "1 pending"},
		} {
			audit.Reset()
			tf, i := &acctest.Terraform{Provider: provider}, newInstance()
			planned := tf.Plan(t, i, map[string]any{"node_name": tt.node, "taints": acctest.Objects(t, "dedicated=gpu:NoExecute")})
			_, count := requested(t, tt.name, audit)
			if count["list csinodes"] != tt.reads || count["list persistentvolumeclaims"] != tt.reads || strings.Contains(planned.Diagnostics.Warnings(), "pending") != (tt.says != "") {
				t.Errorf("%s: %v\n%s", tt.name, count, planned.Diagnostics.Warnings())
			}
		}
		tf, i := &acctest.Terraform{Provider: provider}, newInstance()
		config := map[string]any{"node_name": "crowd-0", "taints": acctest.Objects(t, "dedicated=gpu:NoExecute"), "evictions": map[string]any{"max_pending": 0}}
		if d := tf.Plan(t, i, config).Diagnostics; !strings.Contains(d.Errors(), "1 pod would stay Pending, and max_pending allows 0") || !strings.Contains(d.Errors(), "volume limit") {
			t.Error(d.Errors())
		}
	})
}

// TestNodeTaints_appliesHoldLimitsWithVolumes: between the plan of a destroy, which puts a taint back, and its apply in
// another process another pod with a volume comes. It counts as Pending as well.
func TestNodeTaints_appliesHoldLimitsWithVolumes(t *testing.T) {
	t.Parallel()
	acctest.OnFake(t, func(t *testing.T, c *acctest.Cluster) {
		attachingNodes(t, c)
		c.Patch(t, "crowd-0", `{"spec":{"taints":[{"key":"dedicated","value":"gpu","effect":"NoExecute"}]}}`)
		i := newInstance()
		config := map[string]any{"node_name": "crowd-0", "absent_taints": []any{map[string]any{"key": "dedicated", "effect": "NoExecute"}}, "evictions": map[string]any{"max_pending": 1}}
		if d := (&acctest.Terraform{Provider: c.Provider(t)}).Apply(t, i, config); d.Errors() != "" {
			t.Fatal(d.Errors())
		}
		planned := (&acctest.Terraform{Provider: c.Provider(t)}).Plan(t, i, nil)
		if d := planned.Diagnostics; d.Errors() != "" || !strings.Contains(d.Warnings(), "1 pending") {
			t.Fatal(d.Errors(), d.Warnings())
		}
		one := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "other", OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "StatefulSet", Name: "other", UID: "other", Controller: new(true)}}}}
		one.Spec = corev1.PodSpec{NodeName: "crowd-0", Containers: []corev1.Container{{Name: "main"}}, Volumes: claiming("other")}
		if _, err := c.Admin.CoreV1().Pods(metav1.NamespaceDefault).Create(t.Context(), one, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		if d := (&acctest.Terraform{Provider: c.Provider(t)}).Carry(t, i, planned, nil); !strings.Contains(d.Errors(), "2 pods would stay Pending, and max_pending allows 1") {
			t.Error(d.Errors())
		}
	})
}

// TestNodeTaints_plansReadStorageForClaimsWithoutAVolume: the new pod gets a new claim for its ephemeral volume, for which
// a volume must be available.
func TestNodeTaints_plansReadStorageForClaimsWithoutAVolume(t *testing.T) {
	t.Parallel()
	acctest.CountsRequests(t)
	acctest.OnFake(t, func(t *testing.T, c *acctest.Cluster) {
		c.Crowd(t, 2, 1, func(_ int, node *corev1.Node, pod *corev1.Pod) {
			pod.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "StatefulSet", Name: node.Name, UID: types.UID(node.Name), Controller: new(true)}}
			pod.Spec.Volumes = []corev1.Volume{{Name: "scratch", VolumeSource: corev1.VolumeSource{Ephemeral: &corev1.EphemeralVolumeSource{}}}}
			pod.UID = types.UID("uid-" + node.Name)
		})
		pods, err := c.Admin.CoreV1().Pods(metav1.NamespaceDefault).List(t.Context(), metav1.ListOptions{FieldSelector: "spec.nodeName=crowd-0"})
		if err != nil || len(pods.Items) != 1 {
			t.Fatal(err, pods)
		}
		owner := &pods.Items[0]
		local := &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: "local"}, Provisioner: "kubernetes.io/no-provisioner", VolumeBindingMode: new(storagev1.VolumeBindingWaitForFirstConsumer)}
		claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: owner.Name + "-scratch", Annotations: map[string]string{"pv.kubernetes.io/bind-completed": "yes"}}, Spec: corev1.PersistentVolumeClaimSpec{VolumeName: "gone", StorageClassName: new("local")}}
		claim.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: owner.Name, UID: owner.UID, Controller: new(true)}}
		_, err = c.Admin.StorageV1().StorageClasses().Create(t.Context(), local, metav1.CreateOptions{})
		if err == nil {
			_, err = c.Admin.CoreV1().PersistentVolumeClaims(metav1.NamespaceDefault).Create(t.Context(), claim, metav1.CreateOptions{})
		}
		if err != nil {
			t.Fatal(err)
		}
		audit, provider := c.Audit(t)
		planned := (&acctest.Terraform{Provider: provider}).Plan(t, newInstance(), map[string]any{"node_name": "crowd-0", "taints": acctest.Objects(t, "dedicated=gpu:NoExecute")})
		_, count := requested(t, "a pod with an ephemeral volume", audit)
		if count["list persistentvolumeclaims"] != 1 || count["list storageclasses"] != 1 || count["list csidrivers"] != 0 {
			t.Error(count)
		}
		if says := planned.Diagnostics.Warnings(); !strings.Contains(says, "1 pending") || !strings.Contains(says, "no node: 2 volume") {
			t.Error(says)
		}
	})
}

// TestNodeTaints_plansReadThePriorityClassesOfEvictedPods: the class of the pods was deleted while they use it, so that
// admission rejects the new ones.
func TestNodeTaints_plansReadThePriorityClassesOfEvictedPods(t *testing.T) {
	t.Parallel()
	acctest.CountsRequests(t)
	for name, want := range map[string]struct {
		lists int
		says  string
	}{"": {}, "gone": {1, "no PriorityClass gone"}, "high": {lists: 1}, "system-node-critical": {}} {
		acctest.OnFake(t, func(t *testing.T, c *acctest.Cluster) {
			c.Crowd(t, 2, 1, func(_ int, node *corev1.Node, pod *corev1.Pod) {
				pod.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: node.Name, UID: types.UID(node.Name), Controller: new(true)}}
				pod.Spec.PriorityClassName = name
			})
			if _, err := c.Admin.SchedulingV1().PriorityClasses().Create(t.Context(), &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: "high"}}, metav1.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
			audit, provider := c.Audit(t)
			planned := (&acctest.Terraform{Provider: provider}).Plan(t, newInstance(), map[string]any{"node_name": "crowd-0", "taints": acctest.Objects(t, "dedicated=gpu:NoExecute")})
			_, count := requested(t, "a pod of class "+name, audit)
			if count["list priorityclasses"] != want.lists {
				t.Errorf("class %q: %v", name, count)
			}
			if says := planned.Diagnostics.Warnings(); !strings.Contains(says, want.says) || strings.Contains(says, "NOT CREATED") != (want.says != "") {
				t.Errorf("class %q: %s", name, says)
			}
		})
	}
}

// TestNodeTaints_plansReadThePriorityClassesOfOtherPods: a pod that is deleted, or that another pod preempts which waits for
// a node, gets one in its place of the same class.
func TestNodeTaints_plansReadThePriorityClassesOfOtherPods(t *testing.T) {
	t.Parallel()
	for _, deleted := range []bool{true, false} {
		acctest.OnFake(t, func(t *testing.T, c *acctest.Cluster) {
			one := corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")}
			c.Crowd(t, 2, 1, func(n int, node *corev1.Node, pod *corev1.Pod) {
				pod.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "StatefulSet", Name: node.Name, UID: types.UID(node.Name), Controller: new(true)}}
				node.Labels = map[string]string{corev1.LabelHostname: node.Name}
				if n == 0 {
					return
				}
				node.Status.Allocatable[corev1.ResourceCPU] = resource.MustParse("1")
				pod.Spec.PriorityClassName, pod.Spec.Priority, pod.Spec.Containers[0].Resources.Requests = "low", new(int32(5)), one
				if deleted {
					pod.DeletionTimestamp, pod.DeletionGracePeriodSeconds = &metav1.Time{Time: time.Now().Add(time.Minute)}, new(int64(60))
				}
			})
			if !deleted {
				c.Pod(t, "default", "waits", "", func(p *corev1.Pod) {
					p.Spec.Priority, p.Spec.NodeSelector = new(int32(9)), map[string]string{corev1.LabelHostname: "crowd-1"}
					p.Spec.Containers[0].Resources.Requests = one
				})
			}
			audit, provider := c.Audit(t)
			planned := (&acctest.Terraform{Provider: provider}).Plan(t, newInstance(), map[string]any{"node_name": "crowd-0", "taints": acctest.Objects(t, "dedicated=gpu:NoExecute")})
			_, count := requested(t, "another pod of a class", audit)
			if says := planned.Diagnostics.Warnings(); strings.Contains(says, "PriorityClasses") || count["list priorityclasses"] != 1 {
				t.Errorf("deleted %t: %s\n%v", deleted, says, count)
			}
		})
	}
}
