// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package main

import (
	"context"
	"errors"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
)

// members are the workloads of the second part, by namespace and label, and how
// many pods each has on the nodes of the pool.
var members = []struct {
	namespace, app string
	pods           int
}{
	{"data", "db", 3},
	{"ml", "serving", 4},
	{"ml", "trainer", 2},
	{"platform", "log-shipper", 12},
	{"shop", "checkout", 4},
}

// settled waits until the workloads have all their pods, and each of them runs
// and tolerates the value of the taint and no other; no value means none.
func (s *sample) settled(ctx context.Context, value string) error {
	return wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		for _, m := range members {
			pods, err := s.CoreV1().Pods(m.namespace).List(ctx, metav1.ListOptions{LabelSelector: "app=" + m.app})
			if err != nil || len(pods.Items) != m.pods {
				return false, err
			}
			if slices.ContainsFunc(pods.Items, func(p corev1.Pod) bool { return !runs(&p) || tolerated(&p) != value }) {
				return false, nil
			}
		}
		return true, nil
	})
}

func runs(p *corev1.Pod) bool {
	return p.Status.Phase == corev1.PodRunning && p.DeletionTimestamp == nil
}

// tolerated returns the values of the taint that a pod tolerates.
func tolerated(p *corev1.Pod) string {
	values := ""
	for _, t := range p.Spec.Tolerations {
		if t.Key == "team" {
			values += t.Value
		}
	}
	return values
}

// watchReplacements notes which pods of the workloads go, by whose doing, and how
// few run at the same time. The function that it returns stops it.
func (s *sample) watchReplacements(ctx context.Context) (func() ([]*replacement, error), error) {
	list, err := s.CoreV1().Pods("").List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	watcher, err := s.CoreV1().Pods("").Watch(ctx, metav1.ListOptions{ResourceVersion: list.ResourceVersion})
	if err != nil {
		return nil, err
	}
	all := make([]*tally, len(members))
	for i, m := range members {
		all[i] = &tally{running: map[types.UID]bool{}, left: map[types.UID]bool{}}
		all[i].name, all[i].want, all[i].least = m.namespace+"/"+m.app, m.pods, m.pods
	}
	note := func(kind watch.EventType, p *corev1.Pod) {
		for i, m := range members {
			if p.Namespace == m.namespace && p.Labels["app"] == m.app {
				all[i].note(p, kind == watch.Deleted)
			}
		}
	}
	for i := range list.Items {
		note(watch.Added, &list.Items[i])
	}
	for _, t := range all {
		t.least = t.want
	}
	stopped, ended := make(chan struct{}), make(chan bool)
	go func() {
		for event := range watcher.ResultChan() {
			if p, ok := event.Object.(*corev1.Pod); ok {
				note(event.Type, p)
			}
		}
		select {
		case <-stopped:
			ended <- true
		default:
			<-stopped
			ended <- false
		}
	}()
	return func() ([]*replacement, error) {
		close(stopped)
		watcher.Stop()
		if !<-ended {
			return nil, errors.New("the watch of pods ended early")
		}
		out := make([]*replacement, len(all))
		for i, t := range all {
			out[i] = &t.replacement
		}
		return out, nil
	}, nil
}

// tally counts the pods of one workload.
type tally struct {
	replacement
	running, left map[types.UID]bool
}

func (t *tally) note(p *corev1.Pod, gone bool) {
	delete(t.running, p.UID)
	if runs(p) && !gone {
		t.running[p.UID] = true
	}
	t.least = min(t.least, len(t.running))
	if !gone && p.DeletionTimestamp == nil || t.left[p.UID] {
		return
	}
	t.left[p.UID] = true
	t.replaced++
	if byTaint(p) {
		t.evicted++
	}
}

// byTaint reports whether the taint-eviction controller deleted the pod: it says so
// in a condition before it does.
func byTaint(p *corev1.Pod) bool {
	return slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.DisruptionTarget && c.Reason == "DeletionByTaintManager"
	})
}
