// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package evictionpreview_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
)

// TestAccEvictionPreview_podsThatFitNoNodeStayPending moves Deployments off a node
// and compares what the preview says of their return with what the real scheduler
// does with the new pods. Another node has room for some of them, beside a pod
// that keeps its place there unless it is pushed out.
func TestAccEvictionPreview_podsThatFitNoNodeStayPending(t *testing.T) {
	t.Parallel()
	m := &move{t: t, c: acctest.Connect(t), pool: acctest.Name(t, "pool")}
	m.namespace, m.from, m.to = m.c.Namespace(t), m.pool+"-from", m.pool+"-to"
	m.node(m.from, "32Gi", corev1.ResourceList{"example.com/gpu": resource.MustParse("1")})
	m.volume("local", m.from)
	m.volume("zonal", m.from, m.to)
	workloads := map[string]struct {
		shape func(*corev1.PodSpec)
		// obstacle is a part of what keeps the pods away from other nodes, "" for
		// those that are recreated elsewhere; scheduler is what the scheduler says of it.
		obstacle, scheduler string
	}{
		"fits":  {shape: memory("1Gi")},
		"large": {shape: memory("8Gi"), obstacle: "1 lacks memory (needs 8Gi, none free)", scheduler: "Insufficient memory"},
		"init": {
			shape: func(s *corev1.PodSpec) {
				s.InitContainers = []corev1.Container{{Name: "init", Image: s.Containers[0].Image}}
				s.InitContainers[0].Resources.Requests = corev1.ResourceList{"cpu": resource.MustParse("5")}
			},
			obstacle: "1 lacks cpu (needs 5, 4 free)", scheduler: "Insufficient cpu",
		},
		"gpu": {
			shape: func(s *corev1.PodSpec) {
				one := corev1.ResourceList{"example.com/gpu": resource.MustParse("1")}
				s.Containers[0].Resources = corev1.ResourceRequirements{Requests: one, Limits: one}
			},
			obstacle: "1 lacks example.com/gpu (needs 1, none free)", scheduler: "Insufficient example.com/gpu",
		},
		"zonal":   {shape: m.using("zonal")},
		"local":   {shape: m.using("local"), obstacle: fmt.Sprintf("its volume %s-local is bound to node %s", m.pool, m.from), scheduler: "PersistentVolume's node affinity"},
		"urgent":  {shape: m.urgent("3Gi", corev1.PreemptLowerPriority)},
		"patient": {shape: m.urgent("3Gi", corev1.PreemptNever), obstacle: "1 lacks memory (needs 3Gi, none free)", scheduler: "Insufficient memory"},
	}
	for name, w := range workloads {
		m.deployment(name, w.shape)
	}
	acctest.Until(t, "all pods run", func(ctx context.Context) (bool, error) {
		return m.count(ctx, func(p *corev1.Pod) bool { return p.Status.Phase == corev1.PodRunning }) == len(workloads), nil
	})
	m.node(m.to, "4Gi", nil)
	m.c.Pod(t, m.namespace, "resident", m.to, func(p *corev1.Pod) { memory("2Gi")(&p.Spec) })

	old := map[string]bool{}
	for owner, said := range m.preview() {
		w := workloads[strings.TrimPrefix(owner, "Deployment/")]
		old[said["name"].(string)] = true
		back, reason := said["reschedulable"].(bool), said["reason"].(string)
		if back != (w.obstacle == "") || !strings.Contains(reason, w.obstacle) {
			t.Errorf("%s: reschedulable %t, %q", owner, back, reason)
		}
	}
	if len(old) != len(workloads) {
		t.Fatalf("the preview tells of %d pods, not of %d", len(old), len(workloads))
	}

	m.c.Patch(t, m.from, `{"spec":{"taints":[{"key":"dedicated","value":"gpu","effect":"NoExecute"}]}}`)
	// The scheduler says "pending" of a pod that must wait for another to make
	// room too: only when all recreated ones are there is it the last word.
	as := func(p *corev1.Pod) (predicted bool) {
		w := workloads[p.Labels["app"]]
		if w.obstacle == "" {
			return p.Spec.NodeName == m.to && p.Status.Phase == corev1.PodRunning
		}
		scheduled := condition(p, corev1.PodScheduled)
		return p.Spec.NodeName == "" && scheduled.Status == corev1.ConditionFalse && strings.Contains(scheduled.Message, w.scheduler)
	}
	acctest.Until(t, "every new pod is where it was predicted to be", func(ctx context.Context) (bool, error) {
		return m.count(ctx, func(p *corev1.Pod) bool { return p.Labels["app"] != "" && !old[p.Name] && as(p) }) == len(workloads), nil
	})
}

// move is a node whose pods are evicted, and one that they could go to. No other test
// uses the two.
type move struct {
	t                         *testing.T
	c                         *acctest.Cluster
	pool, namespace, from, to string
	// csi is the CSI driver of its volumes, "" for one that attaches them.
	csi string
}

func (m *move) node(name, memory string, more corev1.ResourceList) {
	m.t.Helper()
	has := corev1.ResourceList{"cpu": resource.MustParse("4"), "memory": resource.MustParse(memory), "pods": resource.MustParse("20")}
	if name == m.from {
		has["cpu"] = resource.MustParse("16")
	}
	for name, q := range more {
		has[name] = q
	}
	m.c.Node(m.t, acctest.Node{Name: name, Labels: map[string]string{"pool": m.pool, corev1.LabelHostname: name}, Allocatable: has})
}

func memory(amount string) func(*corev1.PodSpec) {
	return func(s *corev1.PodSpec) {
		s.Containers[0].Resources.Requests = corev1.ResourceList{"memory": resource.MustParse(amount)}
	}
}

// urgent makes a priority class of its own for pods that ask for memory.
func (m *move) urgent(amount string, policy corev1.PreemptionPolicy) func(*corev1.PodSpec) {
	m.t.Helper()
	name := acctest.Name(m.t, "urgent")
	classes := m.c.Admin.SchedulingV1().PriorityClasses()
	_, err := classes.Create(m.t.Context(), &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Value: 1000, PreemptionPolicy: &policy}, metav1.CreateOptions{})
	m.must(err)
	m.t.Cleanup(func() { _ = classes.Delete(context.Background(), name, metav1.DeleteOptions{}) })
	return func(s *corev1.PodSpec) {
		memory(amount)(s)
		s.PriorityClassName = name
	}
}

// volume makes a claim, bound to a volume that only some nodes can use.
func (m *move) volume(claim string, nodes ...string) {
	m.t.Helper()
	m.bind(claim, corev1.PersistentVolumeSpec{
		AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}, PersistentVolumeSource: corev1.PersistentVolumeSource{Local: &corev1.LocalVolumeSource{Path: "/data"}},
		NodeAffinity: onHost(nodes...),
	})
}

// bind makes a claim and its volume, and waits until it is bound.
func (m *move) bind(claim string, volume corev1.PersistentVolumeSpec) { m.bindTo(claim, volume, nil) }

// bindTo does so for a volume with labels.
func (m *move) bindTo(claim string, volume corev1.PersistentVolumeSpec, labels map[string]string) {
	m.t.Helper()
	ctx, none, name := m.t.Context(), "", m.pool+"-"+claim
	much := corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}
	volume.Capacity = much
	_, err := m.c.Admin.CoreV1().PersistentVolumes().Create(ctx, &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}, Spec: volume}, metav1.CreateOptions{})
	m.must(err)
	m.t.Cleanup(func() {
		_ = m.c.Admin.CoreV1().PersistentVolumes().Delete(context.Background(), name, metav1.DeleteOptions{})
	})
	claims := m.c.Admin.CoreV1().PersistentVolumeClaims(m.namespace)
	_, err = claims.Create(ctx, &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: claim},
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: volume.AccessModes, VolumeName: name, StorageClassName: &none, Resources: corev1.VolumeResourceRequirements{Requests: much},
		},
	}, metav1.CreateOptions{})
	m.must(err)
	acctest.Until(m.t, "claim "+claim+" is bound", func(ctx context.Context) (bool, error) {
		current, err := claims.Get(ctx, claim, metav1.GetOptions{})
		return err == nil && current.Status.Phase == corev1.ClaimBound, err
	})
}

func (m *move) using(claim string) func(*corev1.PodSpec) {
	return func(s *corev1.PodSpec) {
		s.Volumes = []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim}}}}
	}
}

// deployment makes one with a single pod, which goes to no node but these two.
func (m *move) deployment(name string, shape func(*corev1.PodSpec)) {
	m.t.Helper()
	labels := map[string]string{"app": name}
	spec := corev1.PodSpec{
		NodeSelector: map[string]string{"pool": m.pool},
		Containers:   []corev1.Container{{Name: "main", Image: "registry.k8s.io/pause:3.10.2"}},
	}
	shape(&spec)
	_, err := m.c.Admin.AppsV1().Deployments(m.namespace).Create(m.t.Context(), &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: appsv1.DeploymentSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: spec},
		},
	}, metav1.CreateOptions{})
	m.must(err)
}

// preview returns what the data source says of each workload's pod.
func (m *move) preview() map[string]map[string]any {
	m.t.Helper()
	tf := &acctest.Terraform{Provider: m.c.Provider(m.t)}
	preview, d := tf.Data(m.t, "kubetaint_eviction_preview", map[string]any{"node_name": m.from, "taints": acctest.Objects(m.t, "dedicated=gpu:NoExecute")})
	if d.Errors() != "" {
		m.t.Fatal(d.Errors())
	}
	out := map[string]map[string]any{}
	for _, p := range preview["pods"].([]any) {
		pod := p.(map[string]any)
		out[fmt.Sprint(pod["owner"])] = pod
	}
	return out
}

// count counts the pods of the namespace of which something is true.
func (m *move) count(ctx context.Context, holds func(*corev1.Pod) bool) int {
	m.t.Helper()
	pods, err := m.c.Admin.CoreV1().Pods(m.namespace).List(ctx, metav1.ListOptions{})
	m.must(err)
	n := 0
	for i := range pods.Items {
		if holds(&pods.Items[i]) {
			n++
		}
	}
	return n
}

func condition(p *corev1.Pod, kind corev1.PodConditionType) corev1.PodCondition {
	for _, c := range p.Status.Conditions {
		if c.Type == kind {
			return c
		}
	}
	return corev1.PodCondition{}
}

func (m *move) must(err error) {
	m.t.Helper()
	if err != nil {
		m.t.Fatal(err)
	}
}
