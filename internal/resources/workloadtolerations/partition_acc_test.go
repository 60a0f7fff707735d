// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package workloadtolerations_test

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
)

// A StatefulSet whose partition was raised in the middle of an update makes a pod that
// is lost from the old template, although its running pod is of the new one, until that is
// ready. What comes after the resource relies on its pods: it must wait.
func TestAccWorkloadTolerations_partitionRaisedInTheMiddleOfAnUpdate(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		// then is what happens while the resource waits.
		then func(s *shop)
		// time is how long it may wait.
		time string
		says []string
	}{
		{"is waited for until the update is complete", func(s *shop) { s.ready("web-0") }, "5m", nil},
		{"comes to light when the pod is lost", func(s *shop) {
			s.lose("web-0")
			if got := s.live("web"); len(got) != 1 || tolerates(got[0], "team") {
				s.t.Errorf("the pod came back with %s: the test shows nothing", formatted(got[0].Spec.Tolerations))
			}
		}, "5m", []string{"its rolling update leaves out the pods below partition 1", "1 pod would stay without them"}},
		{"is told when the time is over", func(*shop) {}, "30s", []string{"the rollout did not finish in time", "a lost pod below the partition is recreated from the old template"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := openShop(t)
			// Only the test makes the pods of this node ready.
			s.pool = acctest.Name(t, "quiet")
			s.c.Node(t, acctest.Node{
				Name: s.pool, Quiet: true, Labels: map[string]string{"shop": s.pool},
				Allocatable: corev1.ResourceList{corev1.ResourcePods: resource.MustParse("10")},
			})
			thing := s.thing("StatefulSet", "web")
			s.c.Make(t, thing, map[string]any{"spec": map[string]any{
				"replicas": 1, "template": s.template("web", ""), "selector": map[string]any{"matchLabels": map[string]any{"app": "web"}},
			}})
			s.until("the pod is there", func() bool { return len(s.live("web")) == 1 })
			s.ready("web-0")
			s.until("there is one revision", func() bool { return s.revised("web", 1) })
			s.replace(thing, "team=a:NoExecute")
			s.until("the pod is of the new template", func() bool {
				pods := s.live("web")
				return len(pods) == 1 && tolerates(pods[0], "team")
			})
			s.c.Change(t, thing, "somebody", `{"spec":{"updateStrategy":{"rollingUpdate":{"partition":1}}}}`)
			s.until("there are two", func() bool { return s.revised("web", 2) })

			proxy := s.c.Proxy(t)
			s.tf = &acctest.Terraform{Provider: proxy.Provider(t, s.c)}
			done := make(chan acctest.Diagnostics, 1)
			config := s.manage(thing, "team=a:NoExecute", map[string]any{"timeouts": map[string]any{"create": tt.time}})
			go func() { done <- s.tf.Apply(t, s.fresh(), config) }()
			s.until("the resource waits", func() bool {
				read := 0
				for _, r := range proxy.Requests() {
					if strings.HasSuffix(r.Path, "/statefulsets/web") {
						read++
					}
				}
				// At plan, before the first write, and then for the wait.
				return len(done) > 0 || read > 3
			})
			if len(done) > 0 {
				t.Fatalf("the resource does not wait, although a lost pod would come back from the old template: %v", <-done)
			}
			tt.then(s)
			d := <-done
			if len(tt.says) == 0 && d.Errors() != "" {
				t.Fatal(d.Errors())
			}
			says(t, "error", d.Errors(), tt.says...)
		})
	}
}

// ready does what a kubelet would to a pod.
func (s *shop) ready(pod string) {
	s.t.Helper()
	s.until(pod+" is ready", func() bool {
		p, err := s.c.Admin.CoreV1().Pods(s.namespace).Get(s.t.Context(), pod, metav1.GetOptions{})
		if err != nil || p.Spec.NodeName == "" {
			return false
		}
		p.Status.Phase = corev1.PodRunning
		p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.Now()}}
		_, err = s.c.Admin.CoreV1().Pods(s.namespace).UpdateStatus(s.t.Context(), p, metav1.UpdateOptions{})
		return err == nil
	})
}

// lose deletes a pod and waits until it is recreated.
func (s *shop) lose(pod string) {
	s.t.Helper()
	old := s.live("web")[0].UID
	if err := s.c.Admin.CoreV1().Pods(s.namespace).Delete(s.t.Context(), pod, metav1.DeleteOptions{}); err != nil {
		s.t.Fatal(err)
	}
	s.until(pod+" has come back", func() bool {
		pods := s.live("web")
		return len(pods) == 1 && pods[0].UID != old
	})
}

// revised reports whether the controller of a StatefulSet has seen its newest form, and
// has made pods of this many revisions for it.
func (s *shop) revised(name string, revisions int) bool {
	s.t.Helper()
	set, err := s.c.Admin.AppsV1().StatefulSets(s.namespace).Get(s.t.Context(), name, metav1.GetOptions{})
	if err != nil {
		s.t.Fatal(err)
	}
	same := set.Status.CurrentRevision == set.Status.UpdateRevision
	return set.Status.ObservedGeneration == set.Generation && same == (revisions == 1)
}

func tolerates(p corev1.Pod, key string) bool {
	return slices.ContainsFunc(p.Spec.Tolerations, func(t corev1.Toleration) bool { return t.Key == key })
}
