// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package evictionpreview_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/eviction"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
)

// world is one random cluster: some nodes that only this test uses.
type world struct {
	t         *testing.T
	c         *acctest.Cluster
	r         *rand.Rand
	namespace string
	label     string
	nodes     []string
	quiet     bool
	// oldDaemons reports that the DaemonSet's pods are older than its template.
	oldDaemons bool
	// limited reports which pods tolerate a NoExecute taint, that was on their node
	// before the change, for a limited time: a countdown may run for them whose
	// start the API does not show, and only they may get the verdict unknown.
	limited map[string]bool
	// unchanged reports which nodes are as the change wants them already: nothing
	// happens to them by it, and countdowns that run there run on.
	unchanged map[string]bool
	// before holds the pods that were there right before the preview: it must
	// name these. A DaemonSet's controller may make one between the preview and
	// the change, of which nothing was said.
	before map[string]bool
	// silent counts the plans for one node that have nothing to say.
	silent int
	// there holds the pods that were there and not going when the watch began.
	there map[string]bool
}

// newWorld makes the nodes, their first taints and the pods of a seed.
func newWorld(t *testing.T, c *acctest.Cluster, seed uint64) *world {
	t.Helper()
	w := emptyWorld(t, c, seed)
	w.fill()
	if !w.quiet && w.r.IntN(4) > 0 {
		w.daemonSet()
	}
	return w
}

func emptyWorld(t *testing.T, c *acctest.Cluster, seed uint64) *world {
	t.Helper()
	w := &world{t: t, c: c, r: rand.New(rand.NewPCG(seed, 1)), namespace: c.Namespace(t), label: acctest.Name(t, "world"), limited: map[string]bool{}, unchanged: map[string]bool{}}
	w.quiet = w.r.IntN(3) > 0
	return w
}

// fill makes the nodes, their first taints and pods on them.
func (w *world) fill() {
	w.t.Helper()
	t, c := w.t, w.c
	for n := range 1 + w.r.IntN(3) {
		name := fmt.Sprintf("%s-%d", w.label, n)
		w.nodes = append(w.nodes, name)
		c.Node(t, acctest.Node{Name: name, Labels: map[string]string{"world": w.label}, Quiet: w.quiet})
		before := w.taints(w.r.IntN(3))
		node := c.Get(t, name)
		node.Spec.Taints = append(node.Spec.Taints, before...)
		acctest.Until(t, "the first taints stand", func(ctx context.Context) (bool, error) {
			current, err := c.Admin.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
			if err != nil {
				return false, err
			}
			current.Spec.Taints = before
			_, err = c.Admin.CoreV1().Nodes().Update(ctx, current, metav1.UpdateOptions{})
			return err == nil, nil
		})
		for p := range 6 + w.r.IntN(14) {
			w.pod(fmt.Sprintf("p%d-%d", n, p), name)
		}
	}
}

// daemonSet makes a DaemonSet over the world's nodes, whose pods the real
// controller makes and gives its own tolerations. The scheduler must let them
// in, so that they tolerate everything but what evicts.
func (w *world) daemonSet() {
	w.t.Helper()
	labels := map[string]string{"daemon": w.label}
	_, err := w.c.Admin.AppsV1().DaemonSets(w.namespace).Create(w.t.Context(), &appsv1.DaemonSet{
		ObjectMeta: metav1.ObjectMeta{Name: "daemon"},
		Spec: appsv1.DaemonSetSpec{
			Selector:       &metav1.LabelSelector{MatchLabels: labels},
			UpdateStrategy: appsv1.DaemonSetUpdateStrategy{Type: appsv1.OnDeleteDaemonSetStrategyType},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{
				NodeSelector: map[string]string{"world": w.label}, Tolerations: w.daemonTolerations(),
				Containers: []corev1.Container{{Name: "main", Image: "registry.k8s.io/pause:3.10.2"}},
			}},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		w.t.Fatal(err)
	}
	acctest.Until(w.t, "the DaemonSet's pods run", func(ctx context.Context) (bool, error) {
		d, err := w.c.Admin.AppsV1().DaemonSets(w.namespace).Get(ctx, "daemon", metav1.GetOptions{})
		if err != nil {
			return false, err
		}
		return d.Status.ObservedGeneration == d.Generation && d.Status.NumberReady == d.Status.DesiredNumberScheduled, nil
	})
	if w.r.IntN(3) > 0 {
		w.otherTemplate()
	}
}

func (w *world) daemonTolerations() []corev1.Toleration {
	tolerations := []corev1.Toleration{{Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoSchedule}}
	for range w.r.IntN(3) {
		tolerations = append(tolerations, w.toleration())
	}
	return tolerations
}

// otherTemplate gives the DaemonSet another template, which its pods do not follow by
// themselves, and waits until its controller has deleted those that this one does not
// tolerate on their nodes.
func (w *world) otherTemplate() {
	w.t.Helper()
	template := w.daemonTolerations()
	acctest.Until(w.t, "the DaemonSet has another template", func(ctx context.Context) (bool, error) {
		d, err := w.c.Admin.AppsV1().DaemonSets(w.namespace).Get(ctx, "daemon", metav1.GetOptions{})
		if err != nil {
			return false, err
		}
		d.Spec.Template.Spec.Tolerations = template
		_, err = w.c.Admin.AppsV1().DaemonSets(w.namespace).Update(ctx, d, metav1.UpdateOptions{})
		return err == nil, nil
	})
	tolerates := eviction.DaemonTolerations(template, false)
	acctest.Until(w.t, "the DaemonSet's controller has seen its template", func(ctx context.Context) (bool, error) {
		d, err := w.c.Admin.AppsV1().DaemonSets(w.namespace).Get(ctx, "daemon", metav1.GetOptions{})
		if err != nil || d.Status.ObservedGeneration < d.Generation {
			return false, err
		}
		pods, err := w.c.Admin.CoreV1().Pods(w.namespace).List(ctx, metav1.ListOptions{LabelSelector: "daemon=" + w.label})
		if err != nil {
			return false, err
		}
		for i := range pods.Items {
			for _, one := range w.standing()[pods.Items[i].Spec.NodeName] {
				if pods.Items[i].DeletionTimestamp == nil && one.Effect == corev1.TaintEffectNoExecute && taint.FirstMatch(tolerates, one, false) < 0 {
					return false, nil
				}
			}
		}
		return true, nil
	})
	w.oldDaemons = true
}

// taints returns distinct random taints, most of them NoExecute.
func (w *world) taints(n int) []corev1.Taint {
	var out []corev1.Taint
	for range n {
		one := corev1.Taint{Key: w.pick("a", "b", "c"), Value: w.pick("", "x", "y"), Effect: corev1.TaintEffect(w.pick("NoExecute", "NoExecute", "NoExecute", "NoSchedule", "PreferNoSchedule"))}
		if taint.Find(out, taint.IDOf(one)) < 0 {
			out = append(out, one)
		}
	}
	return out
}

func (w *world) pick(from ...string) string {
	return from[w.r.IntN(len(from))]
}

// pod makes a pod of a random kind with random tolerations.
func (w *world) pod(name, node string) {
	w.t.Helper()
	kind := w.r.IntN(10)
	pod := w.c.Pod(w.t, w.namespace, name, node, func(p *corev1.Pod) {
		for range w.r.IntN(4) {
			p.Spec.Tolerations = append(p.Spec.Tolerations, w.toleration())
		}
		grace := int64(300)
		p.Spec.TerminationGracePeriodSeconds = &grace
		if kind == 0 {
			p.Annotations = map[string]string{corev1.MirrorPodAnnotationKey: "x"}
			p.Spec.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute}}
		}
	})
	switch kind {
	case 1: // completed
		pod.Status.Phase = corev1.PodSucceeded
	case 2: // running, where kwok does not see to that
		pod.Status.Phase = corev1.PodRunning
	case 3: // terminating: where nothing plays the kubelet it stays so
		if err := w.c.Admin.CoreV1().Pods(w.namespace).Delete(w.t.Context(), name, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
			w.t.Fatal(err)
		}
		return
	default:
		return
	}
	if w.quiet {
		// The first taints may have taken it away already: an error is no matter.
		_, _ = w.c.Admin.CoreV1().Pods(w.namespace).UpdateStatus(w.t.Context(), pod, metav1.UpdateOptions{})
	}
}

func (w *world) toleration() corev1.Toleration {
	t := corev1.Toleration{Key: w.pick("a", "b", "c", "a", "b", ""), Effect: corev1.TaintEffect(w.pick("", "NoExecute", "NoExecute", "NoExecute", "NoSchedule"))}
	if t.Key == "" || w.r.IntN(3) == 0 {
		t.Operator = corev1.TolerationOpExists
	} else {
		t.Operator, t.Value = corev1.TolerationOpEqual, w.pick("", "x", "y")
	}
	if t.Effect == corev1.TaintEffectNoExecute && w.r.IntN(2) == 0 {
		seconds := []int64{-5, 0, 1, 2, 3, 3, 300}[w.r.IntN(7)]
		t.TolerationSeconds = &seconds
	}
	return t
}

// nodeOf returns the node of a pod, whose number its name begins with.
func (w *world) nodeOf(pod string) string {
	if p, err := w.c.Admin.CoreV1().Pods(w.namespace).Get(w.t.Context(), pod, metav1.GetOptions{}); err == nil {
		return p.Spec.NodeName
	}
	number, _, _ := strings.Cut(strings.TrimPrefix(pod, "p"), "-")
	return w.label + "-" + number
}

// settle waits until the first taints have had their effect: what they do not
// tolerate is gone or going.
func (w *world) settle() {
	w.t.Helper()
	acctest.Until(w.t, "the first taints have evicted what does not tolerate them", func(ctx context.Context) (bool, error) {
		pods, err := w.c.Admin.CoreV1().Pods(w.namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			return false, err
		}
		for i := range pods.Items {
			p := &pods.Items[i]
			if p.DeletionTimestamp != nil || p.Spec.NodeName == "" {
				continue
			}
			node, err := w.c.Admin.CoreV1().Nodes().Get(ctx, p.Spec.NodeName, metav1.GetOptions{})
			if err != nil {
				return false, err
			}
			for _, one := range node.Spec.Taints {
				at := taint.FirstMatch(p.Spec.Tolerations, one, false)
				if one.Effect == corev1.TaintEffectNoExecute && (at < 0 || p.Spec.Tolerations[at].TolerationSeconds != nil && *p.Spec.Tolerations[at].TolerationSeconds <= 0) {
					return false, nil
				}
			}
			if !w.quiet && p.Status.Phase == corev1.PodPending {
				return false, nil
			}
		}
		return true, nil
	})
}

// watch begins to note when pods are marked for deletion. The function that it
// returns waits until a moment, and for a while longer until pods that are expected to
// go have gone, and returns what was seen; pods that were being deleted before are not
// among them.
func (w *world) watch() func(until time.Time, expected []string) map[string]time.Time {
	w.t.Helper()
	pods := w.c.Admin.CoreV1().Pods(w.namespace)
	list, err := pods.List(w.t.Context(), metav1.ListOptions{})
	if err != nil {
		w.t.Fatal(err)
	}
	// Pods that controllers make later are not what was predicted about.
	there := map[types.UID]bool{}
	w.there = map[string]bool{}
	for i := range list.Items {
		p := &list.Items[i]
		there[p.UID] = p.DeletionTimestamp == nil
		w.there[p.Name] = p.DeletionTimestamp == nil
	}
	watcher, err := pods.Watch(w.t.Context(), metav1.ListOptions{ResourceVersion: list.ResourceVersion})
	if err != nil {
		w.t.Fatal(err)
	}
	var mu sync.Mutex
	seen := map[string]time.Time{}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for event := range watcher.ResultChan() {
			pod, ok := event.Object.(*corev1.Pod)
			if !ok || !there[pod.UID] || event.Type != watch.Deleted && pod.DeletionTimestamp == nil {
				continue
			}
			mu.Lock()
			if _, known := seen[pod.Name]; !known {
				seen[pod.Name] = deletedBy(pod)
			}
			mu.Unlock()
		}
	}()
	return func(until time.Time, expected []string) map[string]time.Time {
		gone := func() bool {
			mu.Lock()
			defer mu.Unlock()
			return !slices.ContainsFunc(expected, func(name string) bool { return seen[name].IsZero() })
		}
		for time.Now().Before(until) || time.Now().Before(until.Add(patience)) && !gone() {
			select {
			case <-time.After(50 * time.Millisecond):
			case <-ended:
				w.t.Error("the watch ended early")
				return seen
			}
		}
		watcher.Stop()
		<-ended
		return seen
	}
}

// deletedBy returns a moment at which a pod that is being deleted now had surely been
// marked for it. The API server writes to the second when its grace period ends. What a
// busy machine needs beyond that, until the test is told, does not count.
func deletedBy(p *corev1.Pod) time.Time {
	told := time.Now()
	if p.DeletionTimestamp == nil || p.DeletionGracePeriodSeconds == nil {
		return told
	}
	marked := p.DeletionTimestamp.Add(time.Second - time.Duration(*p.DeletionGracePeriodSeconds)*time.Second)
	if marked.Before(told) {
		return marked
	}
	return told
}
