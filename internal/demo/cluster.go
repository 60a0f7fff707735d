// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
)

// sample is the cluster that the demo loads.
type sample struct {
	kubernetes.Interface
}

func connect() (*sample, error) {
	cfg, err := clientcmd.BuildConfigFromFlags("", os.Getenv("KUBE_CONFIG_PATH"))
	if err != nil {
		return nil, fmt.Errorf("KUBE_CONFIG_PATH names no reachable cluster (run \"make demo\"): %w", err)
	}
	cfg.QPS, cfg.Burst = 500, 500
	client, err := kubernetes.NewForConfig(cfg)
	return &sample{client}, err
}

var pools = map[string]int{"general": 6, "web": 2, "gpu": 4}

// load makes nodes and workloads and waits until every pod runs.
func (s *sample) load(ctx context.Context) error {
	n := 0
	for _, pool := range []string{"general", "web", "gpu"} {
		for range pools[pool] {
			n++
			if err := s.node(ctx, fmt.Sprintf("worker-%d", n), pool); err != nil {
				return err
			}
		}
	}
	for _, ns := range []string{"shop", "data", "ml", "platform", "team-a"} {
		if err := s.namespace(ctx, ns); err != nil {
			return err
		}
	}
	if err := s.takePods(ctx); err != nil {
		return err
	}
	if err := s.workloads(ctx); err != nil {
		return err
	}
	return s.runs(ctx, 24+4+4+2+3+12+12+6)
}

// takePods waits until every node takes pods: the first ones would crowd on the nodes that
// are ready first.
func (s *sample) takePods(ctx context.Context) error {
	return wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		nodes, err := s.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
		if err != nil {
			return false, err
		}
		tainted := func(n corev1.Node) bool { return len(n.Spec.Taints) > 0 }
		return !slices.ContainsFunc(nodes.Items, tainted), nil
	})
}

// namespace makes a namespace unless it is there.
func (s *sample) namespace(ctx context.Context, name string) error {
	_, err := s.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}

func (s *sample) node(ctx context.Context, name, pool string) error {
	_, err := s.CoreV1().Nodes().Create(ctx, &corev1.Node{ObjectMeta: metav1.ObjectMeta{
		Name: name, Labels: map[string]string{"pool": pool, corev1.LabelHostname: name},
		Annotations: map[string]string{"kwok.x-k8s.io/node": "fake"},
	}}, metav1.CreateOptions{})
	return err
}

// workloads makes one of each kind that meets a taint differently.
func (s *sample) workloads(ctx context.Context) error {
	for10s, for5s, for0s := int64(10), int64(5), int64(0)
	gpu := map[string]string{"pool": "gpu"}
	tolerates := corev1.Toleration{Key: "dedicated", Value: "gpu", Effect: corev1.TaintEffectNoExecute}
	briefly, shortly, never := tolerates, tolerates, tolerates
	briefly.TolerationSeconds, shortly.TolerationSeconds, never.TolerationSeconds = &for10s, &for5s, &for0s
	everything, anyValue := corev1.Toleration{Operator: corev1.TolerationOpExists}, corev1.Toleration{Key: "dedicated", Operator: corev1.TolerationOpExists}
	anyEffect, other := corev1.Toleration{Key: "dedicated", Value: "gpu"}, corev1.Toleration{Key: "dedicated", Value: "web"}

	makers := []func() error{
		func() error { return s.deployment(ctx, "shop", "web", 24, spread("web")) },
		func() error { return s.deployment(ctx, "shop", "checkout", 4, pod(gpu, briefly)) },
		// The first match decides, not the more generous one behind it.
		func() error { return s.deployment(ctx, "ml", "serving", 4, pod(gpu, shortly, tolerates)) },
		// Pinned to the pool and without a toleration: no node fits its replacement.
		func() error { return s.deployment(ctx, "ml", "trainer", 2, pod(gpu)) },
		func() error { return s.statefulSet(ctx, "data", "db", 3, pod(gpu, tolerates)) },
		func() error { return s.daemonSet(ctx, "platform", "node-agent", pod(nil, everything)) },
		func() error { return s.daemonSet(ctx, "platform", "log-shipper", pod(nil)) },
		func() error { return s.budget(ctx, "shop", "web", 1) },
		func() error { return s.bare(ctx, "notebook", pod(gpu), "") },
		func() error { return s.bare(ctx, "report", pod(gpu), corev1.PodSucceeded) },
		// These two tolerate the taint, whatever its value or effect, and stay.
		func() error { return s.bare(ctx, "gpu-exporter", pod(gpu, anyValue), "") },
		func() error { return s.bare(ctx, "profiler", pod(gpu, anyEffect), "") },
		// For zero seconds, and another value: these two do not.
		func() error { return s.bare(ctx, "debug-shell", pod(gpu, never), "") },
		func() error { return s.bare(ctx, "data-import", pod(gpu, other), "") },
	}
	for _, do := range makers {
		if err := do(); err != nil {
			return err
		}
	}
	return nil
}

func pod(selector map[string]string, tolerations ...corev1.Toleration) corev1.PodSpec {
	return corev1.PodSpec{
		NodeSelector: selector, Tolerations: tolerations,
		Containers: []corev1.Container{{Name: "main", Image: "registry.k8s.io/pause:3.10.2"}},
	}
}

// spread puts as many pods on each node that takes them, so that each run of the demo tells
// the same. "ScheduleAnyway" would be one wish among others of the scheduler, and a node
// with a taint would hold back its share from the others if it counted.
func spread(name string) corev1.PodSpec {
	spec, untainted := pod(nil), corev1.NodeInclusionPolicyHonor
	spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{
		MaxSkew: 1, TopologyKey: corev1.LabelHostname, WhenUnsatisfiable: corev1.DoNotSchedule, NodeTaintsPolicy: &untainted,
		LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": name}},
	}}
	return spec
}

func template(name string, spec corev1.PodSpec) (*metav1.LabelSelector, corev1.PodTemplateSpec) {
	labels := map[string]string{"app": name}
	return &metav1.LabelSelector{MatchLabels: labels}, corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: spec}
}

func (s *sample) deployment(ctx context.Context, namespace, name string, replicas int32, spec corev1.PodSpec) error {
	selector, t := template(name, spec)
	_, err := s.AppsV1().Deployments(namespace).Create(ctx, &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: appsv1.DeploymentSpec{Replicas: &replicas, Selector: selector, Template: t},
	}, metav1.CreateOptions{})
	return err
}

func (s *sample) statefulSet(ctx context.Context, namespace, name string, replicas int32, spec corev1.PodSpec) error {
	selector, t := template(name, spec)
	_, err := s.AppsV1().StatefulSets(namespace).Create(ctx, &appsv1.StatefulSet{
		ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: appsv1.StatefulSetSpec{Replicas: &replicas, Selector: selector, Template: t, ServiceName: name},
	}, metav1.CreateOptions{})
	return err
}

func (s *sample) daemonSet(ctx context.Context, namespace, name string, spec corev1.PodSpec) error {
	selector, t := template(name, spec)
	_, err := s.AppsV1().DaemonSets(namespace).Create(ctx, &appsv1.DaemonSet{
		ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: appsv1.DaemonSetSpec{Selector: selector, Template: t},
	}, metav1.CreateOptions{})
	return err
}

func (s *sample) budget(ctx context.Context, namespace, name string, unavailable int) error {
	most := intstr.FromInt(unavailable)
	_, err := s.PolicyV1().PodDisruptionBudgets(namespace).Create(ctx, &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       policyv1.PodDisruptionBudgetSpec{MaxUnavailable: &most, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": name}}},
	}, metav1.CreateOptions{})
	return err
}

// bare makes a pod that no controller makes again.
func (s *sample) bare(ctx context.Context, name string, spec corev1.PodSpec, phase corev1.PodPhase) error {
	spec.Volumes = []corev1.Volume{{Name: "scratch", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}}
	pods := s.CoreV1().Pods("team-a")
	if _, err := pods.Create(ctx, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: spec}, metav1.CreateOptions{}); err != nil || phase == "" {
		return err
	}
	return wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		current, err := pods.Get(ctx, name, metav1.GetOptions{})
		if err != nil || current.Status.Phase != corev1.PodRunning {
			return false, err
		}
		current.Status.Phase = phase
		_, err = pods.UpdateStatus(ctx, current, metav1.UpdateOptions{})
		return err == nil, nil
	})
}

// runs waits until as many pods are on a node and run, or have run.
func (s *sample) runs(ctx context.Context, want int) error {
	return wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, 2*time.Minute, true, func(ctx context.Context) (bool, error) {
		pods, err := s.CoreV1().Pods("").List(ctx, metav1.ListOptions{})
		if err != nil {
			return false, err
		}
		n := 0
		for i := range pods.Items {
			if pods.Items[i].Status.Phase != corev1.PodPending {
				n++
			}
		}
		return n == want, nil
	})
}
