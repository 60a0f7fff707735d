// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package acctest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
)

// template is a pod template that carries the workload's own label.
func template(name string, change func(*corev1.PodSpec)) (corev1.PodTemplateSpec, *metav1.LabelSelector) {
	labels := map[string]string{"app": name}
	grace := int64(1)
	t := corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: labels},
		Spec: corev1.PodSpec{
			TerminationGracePeriodSeconds: &grace,
			Containers:                    []corev1.Container{{Name: "main", Image: "registry.k8s.io/pause:3.10.2"}},
		},
	}
	if change != nil {
		change(&t.Spec)
	}
	return t, &metav1.LabelSelector{MatchLabels: labels}
}

// Deployment makes a Deployment and waits until its pods are ready.
func (c *Cluster) Deployment(t testing.TB, namespace, name string, replicas int32, change func(*corev1.PodSpec)) {
	t.Helper()
	pods, selector := template(name, change)
	_, err := c.Admin.AppsV1().Deployments(namespace).Create(t.Context(), &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: selector.MatchLabels},
		Spec:       appsv1.DeploymentSpec{Replicas: &replicas, Selector: selector, Template: pods},
	}, metav1.CreateOptions{})
	must(t, err)
	c.Running(t, namespace, name, int(replicas))
}

// StatefulSet makes a StatefulSet and waits until its pods are ready.
func (c *Cluster) StatefulSet(t testing.TB, namespace, name string, replicas int32, change func(*corev1.PodSpec)) {
	t.Helper()
	pods, selector := template(name, change)
	_, err := c.Admin.AppsV1().StatefulSets(namespace).Create(t.Context(), &appsv1.StatefulSet{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: selector.MatchLabels},
		Spec:       appsv1.StatefulSetSpec{Replicas: &replicas, Selector: selector, Template: pods},
	}, metav1.CreateOptions{})
	must(t, err)
	c.Running(t, namespace, name, int(replicas))
}

// ReplicaSet makes a ReplicaSet that no Deployment controls, and waits until its pods are ready.
func (c *Cluster) ReplicaSet(t testing.TB, namespace, name string, replicas int32, change func(*corev1.PodSpec)) {
	t.Helper()
	pods, selector := template(name, change)
	_, err := c.Admin.AppsV1().ReplicaSets(namespace).Create(t.Context(), &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: selector.MatchLabels},
		Spec:       appsv1.ReplicaSetSpec{Replicas: &replicas, Selector: selector, Template: pods},
	}, metav1.CreateOptions{})
	must(t, err)
	c.Running(t, namespace, name, int(replicas))
}

// Job makes a Job and waits until all of its pods are ready. They run until the test ends them.
func (c *Cluster) Job(t testing.TB, namespace, name string, pods int32, change func(*corev1.PodSpec)) {
	t.Helper()
	of, _ := template(name, change)
	of.Spec.RestartPolicy = corev1.RestartPolicyNever
	_, err := c.Admin.BatchV1().Jobs(namespace).Create(t.Context(), &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       batchv1.JobSpec{Parallelism: &pods, Completions: &pods, Template: of},
	}, metav1.CreateOptions{})
	must(t, err)
	c.Running(t, namespace, name, int(pods))
}

// DaemonSet makes a DaemonSet and waits until as many pods are ready.
func (c *Cluster) DaemonSet(t testing.TB, namespace, name string, nodes int, change func(*corev1.PodSpec)) {
	t.Helper()
	pods, selector := template(name, change)
	_, err := c.Admin.AppsV1().DaemonSets(namespace).Create(t.Context(), &appsv1.DaemonSet{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: selector.MatchLabels},
		Spec:       appsv1.DaemonSetSpec{Selector: selector, Template: pods},
	}, metav1.CreateOptions{})
	must(t, err)
	c.Running(t, namespace, name, nodes)
}

// Unscheduled says of each pod that is on no node what the scheduler says of it.
func (c *Cluster) Unscheduled(t testing.TB, namespace string) string {
	t.Helper()
	pods, err := c.Admin.CoreV1().Pods(namespace).List(t.Context(), metav1.ListOptions{FieldSelector: "spec.nodeName="})
	must(t, err)
	var b strings.Builder
	for _, p := range pods.Items {
		for _, condition := range p.Status.Conditions {
			if condition.Type == corev1.PodScheduled {
				fmt.Fprintf(&b, "pod %s requires %v: %s: %s\n", p.Name, p.Spec.NodeSelector, condition.Reason, condition.Message)
			}
		}
	}
	return b.String()
}

// Running waits until a workload has this many running pods and all of them are
// ready.
func (c *Cluster) Running(t testing.TB, namespace, app string, count int) {
	t.Helper()
	Until(t, "the pods of "+app+" are ready", func(ctx context.Context) (bool, error) {
		pods, err := c.Admin.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{LabelSelector: "app=" + app})
		if err != nil {
			return false, err
		}
		live := 0
		for i := range pods.Items {
			p := &pods.Items[i]
			if p.DeletionTimestamp != nil {
				continue
			}
			if !ready(p) {
				return false, nil
			}
			live++
		}
		return live == count, nil
	})
}

// RolledOut waits until this many running pods are ready, and all of them are of the
// workload's newest template. Between two steps of a rollout as many pods are ready, and
// the pods that come last still have the tolerations of before.
func (c *Cluster) RolledOut(t testing.TB, namespace, kind, name string, count int) {
	t.Helper()
	apps := c.Admin.AppsV1()
	Until(t, kind+" "+name+" is rolled out", func(ctx context.Context) (bool, error) {
		switch kind {
		case "Deployment":
			w, err := apps.Deployments(namespace).Get(ctx, name, metav1.GetOptions{})
			return err == nil && w.Status.ObservedGeneration == w.Generation && w.Status.UpdatedReplicas == w.Status.Replicas, err
		case "StatefulSet":
			w, err := apps.StatefulSets(namespace).Get(ctx, name, metav1.GetOptions{})
			return err == nil && w.Status.ObservedGeneration == w.Generation && w.Status.CurrentRevision == w.Status.UpdateRevision, err
		case "DaemonSet":
			w, err := apps.DaemonSets(namespace).Get(ctx, name, metav1.GetOptions{})
			return err == nil && w.Status.ObservedGeneration == w.Generation && w.Status.UpdatedNumberScheduled == w.Status.DesiredNumberScheduled, err
		}
		return false, fmt.Errorf("no rollout of kind %s is known", kind)
	})
	c.Running(t, namespace, name, count)
}

func ready(p *corev1.Pod) bool {
	return slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

// ForbidPods keeps new pods from a namespace by a quota, until they are allowed.
func (c *Cluster) ForbidPods(t testing.TB, namespace string) (allow func()) {
	t.Helper()
	quotas := c.Admin.CoreV1().ResourceQuotas(namespace)
	none := corev1.ResourceList{corev1.ResourcePods: resource.MustParse("0")}
	_, err := quotas.Create(t.Context(), &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Name: "none"}, Spec: corev1.ResourceQuotaSpec{Hard: none}}, metav1.CreateOptions{})
	must(t, err)
	Until(t, "the quota is in force", func(ctx context.Context) (bool, error) {
		quota, err := quotas.Get(ctx, "none", metav1.GetOptions{})
		return err == nil && len(quota.Status.Hard) > 0, err
	})
	return func() { must(t, quotas.Delete(t.Context(), "none", metav1.DeleteOptions{})) }
}

// Template returns the pod spec of a Deployment, StatefulSet or DaemonSet, and
// the annotations of the object.
func (c *Cluster) Template(t testing.TB, namespace, kind, name string) (corev1.PodSpec, map[string]string) {
	t.Helper()
	switch kind {
	case "Deployment":
		d, err := c.Admin.AppsV1().Deployments(namespace).Get(t.Context(), name, metav1.GetOptions{})
		must(t, err)
		return d.Spec.Template.Spec, d.Annotations
	case "StatefulSet":
		s, err := c.Admin.AppsV1().StatefulSets(namespace).Get(t.Context(), name, metav1.GetOptions{})
		must(t, err)
		return s.Spec.Template.Spec, s.Annotations
	case "DaemonSet":
		d, err := c.Admin.AppsV1().DaemonSets(namespace).Get(t.Context(), name, metav1.GetOptions{})
		must(t, err)
		return d.Spec.Template.Spec, d.Annotations
	}
	t.Fatalf("no template is read of kind %s", kind)
	return corev1.PodSpec{}, nil
}

// Tolerations returns the tolerations of a template, in their order.
func (c *Cluster) Tolerations(t testing.TB, namespace, kind, name string) string {
	t.Helper()
	spec, _ := c.Template(t, namespace, kind, name)
	out := make([]string, len(spec.Tolerations))
	for i, one := range spec.Tolerations {
		out[i] = taint.FormatToleration(one)
	}
	return strings.Join(out, ", ")
}

// Evictions notes the pods of a namespace that the taint-eviction controller
// deletes: it says so in a condition before it does. It says so as well of pods
// that are already being deleted by a rollout, which do not count. The function
// that it returns stops the watch and names them.
func (c *Cluster) Evictions(t testing.TB, namespace string) func() []string {
	t.Helper()
	var evicted []string
	stop := c.watchPods(t, namespace, func(pod *corev1.Pod) {
		if byTaint(pod) && !slices.Contains(evicted, pod.Name) {
			evicted = append(evicted, pod.Name)
		}
	})
	return func() []string {
		t.Helper()
		stop()
		return evicted
	}
}

// Still returns a function that names those of the pods that a namespace has now which are
// still there when it is called, whatever has been made in their place.
func (c *Cluster) Still(t testing.TB, namespace string) func() []string {
	t.Helper()
	there := func() map[types.UID]string {
		t.Helper()
		pods, err := c.Admin.CoreV1().Pods(namespace).List(t.Context(), metav1.ListOptions{})
		must(t, err)
		out := map[types.UID]string{}
		for _, p := range pods.Items {
			out[p.UID] = p.Name + " on " + p.Spec.NodeName
		}
		return out
	}
	now := there()
	return func() (still []string) {
		t.Helper()
		for uid, name := range there() {
			if now[uid] != "" {
				still = append(still, name)
			}
		}
		return still
	}
}

func byTaint(p *corev1.Pod) bool {
	return disruption(p) == ByTaint
}

// LeastReady notes how many pods of a workload are ready at the same time. The
// function that it returns stops the watch and reports how few there ever were.
func (c *Cluster) LeastReady(t testing.TB, namespace, app string) func() int {
	t.Helper()
	now, least := map[string]bool{}, 0
	count := func() (n int) {
		for _, is := range now {
			if is {
				n++
			}
		}
		return n
	}
	stop := follow(t, c.Admin.CoreV1().Pods(namespace), metav1.ListOptions{LabelSelector: "app=" + app}, func(list *corev1.PodList) {
		for i := range list.Items {
			now[list.Items[i].Name] = ready(&list.Items[i])
		}
		least = count()
	}, func(event watch.EventType, object runtime.Object) {
		if pod, ok := object.(*corev1.Pod); ok {
			now[pod.Name] = event != watch.Deleted && pod.DeletionTimestamp == nil && ready(pod)
			least = min(least, count())
		}
	})
	return func() int {
		t.Helper()
		stop()
		return least
	}
}

// PauseDeployment pauses a Deployment.
func (c *Cluster) PauseDeployment(t testing.TB, namespace, name string) {
	t.Helper()
	_, err := c.Admin.AppsV1().Deployments(namespace).Patch(t.Context(), name, types.MergePatchType, []byte(`{"spec":{"paused":true}}`), metav1.PatchOptions{})
	must(t, err)
}

// StuckAtFirst deletes the pods of a StatefulSet whose nodes are gone, and returns when its
// controller waits for the first one to be ready: until then it makes no other.
func (c *Cluster) StuckAtFirst(t testing.TB, namespace, name string) {
	t.Helper()
	pods := c.Admin.CoreV1().Pods(namespace)
	must(t, pods.DeleteCollection(t.Context(), metav1.DeleteOptions{GracePeriodSeconds: new(int64(0))}, metav1.ListOptions{LabelSelector: "app=" + name}))
	Until(t, "the first pod of "+name+" waits alone", func(ctx context.Context) (bool, error) {
		list, err := pods.List(ctx, metav1.ListOptions{LabelSelector: "app=" + name})
		return err == nil && len(list.Items) == 1 && list.Items[0].Name == name+"-0" && list.Items[0].Spec.NodeName == "", err
	})
}
