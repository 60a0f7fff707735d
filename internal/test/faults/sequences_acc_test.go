// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package faults_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	corev1helpers "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/klog/v2"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
)

// TestAccSequences_evictOnlyWhomAPlanNames does on real controllers what
// TestSequences_evictOnlyWhomAPlanNames does on those of the fake, without faults.
func TestAccSequences_evictOnlyWhomAPlanNames(t *testing.T) {
	t.Parallel()
	from, count := chosenSeeds(t, 4, 60)
	for seed := from; seed < from+count; seed++ {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			t.Parallel()
			c := acctest.Beside(t)
			newSequence(uint64(seed), names{
				namespace: c.Namespace(t), pool: acctest.Name(t, "pool"), node: acctest.Name(t, "node"), beside: acctest.Name(t, "node"), policy: acctest.Name(t, "policy"), sets: c.Namespace(t), set: acctest.Name(t, "ms"),
				team: acctest.Name(t, "team"), extra: acctest.Name(t, "extra"),
			}).tryOn(t, c)
		})
	}
}

func (s *sequence) tryOn(t *testing.T, c *acctest.Cluster) {
	t.Helper()
	s.log(t)
	// An apply that waits for pods which no node takes ends with an error, and soon.
	s.timeouts = object{"create": "1m", "update": "1m", "delete": "1m"}
	s.worldOn(t, c)
	tf, said := &acctest.Terraform{Provider: c.Provider(t)}, &told{}
	for _, after := range []bool{false, true, true} {
		if !s.carriedOutOn(t, c, tf, after, said) {
			return
		}
	}
	s.checkPlansAreEmpty(t, tf)
}

// worldOn is what world is on the fake. What runs there is kept on the nodes of the test.
func (s *sequence) worldOn(t *testing.T, c *acctest.Cluster) {
	t.Helper()
	own := map[string]string{"pool": s.set}
	if s.machines {
		c.MachineAPI(t)
		c.MachineSet(t, acctest.MachineSet{Namespace: s.sets, Name: s.set, Replicas: 2, Taints: "foreign=kept:NoSchedule"})
	} else {
		own = map[string]string{"sequence": s.pool}
		for _, n := range []acctest.Node{
			{Name: s.node, Labels: map[string]string{"pool": s.pool}, Taints: acctest.Parse(t, "foreign=kept:NoSchedule")},
			{Name: acctest.Name(t, "node"), Labels: map[string]string{"pool": s.pool}, Taints: acctest.Parse(t, "foreign=kept:NoSchedule")},
			{Name: s.beside, Labels: map[string]string{}},
		} {
			n.Labels["sequence"] = s.pool
			c.Node(t, n)
		}
	}
	tolerating := func(more ...corev1.Toleration) func(*corev1.PodSpec) {
		return func(spec *corev1.PodSpec) {
			spec.NodeSelector = own
			spec.Tolerations = append([]corev1.Toleration{{Key: "foreign", Operator: corev1.TolerationOpExists}}, more...)
		}
	}
	c.Deployment(t, s.namespace, "web", 2, tolerating())
	for _, add := range []func(change func(*corev1.PodSpec)){
		func(change func(*corev1.PodSpec)) { c.StatefulSet(t, s.namespace, "db", 1, change) },
		func(change func(*corev1.PodSpec)) {
			nodes := 3
			if s.machines {
				nodes = 2
			}
			c.DaemonSet(t, s.namespace, "logs", nodes, change)
		},
	} {
		switch s.IntN(3) {
		case 0:
			add(tolerating())
		case 1:
			add(tolerating(corev1.Toleration{Key: s.team, Operator: corev1.TolerationOpExists}))
		}
	}
}

// carriedOutOn plans and applies, and reports whether that was not refused.
func (s *sequence) carriedOutOn(t *testing.T, c *acctest.Cluster, tf *acctest.Terraform, after bool, said *told) bool {
	t.Helper()
	evicted, before := c.Evictions(t, s.namespace), s.runningOn(t, c)
	if complete, err := s.complete(t.Context(), c); err != nil {
		t.Fatal(err)
	} else if !complete {
		// Its rollout goes on once a node takes the pod that waits for one.
		maps.DeleteFunc(before, func(_ types.UID, p runningPod) bool { return p.workload == s.workloadOf("web-") })
	}
	end := s.run(t, tf, tf, never, after, said)
	s.calmOn(t, c)
	end.seen.check(t)
	end.seen.checkGone(t, before, s.runningOn(t, c))
	for _, pod := range evicted() {
		if workload := s.workloadOf(pod); !evicts(workload).MatchString(said.all) {
			t.Errorf("%s is evicted, and no plan has said so of %s:\n%s", pod, workload, said.all)
		}
	}
	return s.asPlanned(t, end, said)
}

func (s *sequence) workloadOf(pod string) string {
	switch {
	case strings.HasPrefix(pod, "db-"):
		return "StatefulSet " + s.namespace + "/db"
	case strings.HasPrefix(pod, "logs-"):
		return "DaemonSet " + s.namespace + "/logs"
	}
	return "Deployment " + s.namespace + "/web"
}

func (s *sequence) runningOn(t *testing.T, c *acctest.Cluster) map[types.UID]runningPod {
	t.Helper()
	list, err := c.Admin.CoreV1().Pods(s.namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	pods := make([]*corev1.Pod, len(list.Items))
	for i := range list.Items {
		pods[i] = &list.Items[i]
	}
	return runningIn(pods, s.workloadOf)
}

// rolledOut reports whether the Deployment has replaced its pods, or cannot because no node takes one.
func (s *sequence) rolledOut(ctx context.Context, c *acctest.Cluster, pods []corev1.Pod) (bool, error) {
	if slices.ContainsFunc(pods, func(p corev1.Pod) bool {
		return slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
			return c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse && c.Reason == corev1.PodReasonUnschedulable
		})
	}) {
		return true, nil
	}
	return s.complete(ctx, c)
}

// complete reports whether the Deployment has replaced its pods.
func (s *sequence) complete(ctx context.Context, c *acctest.Cluster) (bool, error) {
	d, err := c.Admin.AppsV1().Deployments(s.namespace).Get(ctx, "web", metav1.GetOptions{})
	if err != nil {
		return false, err
	}
	return d.Status.ObservedGeneration == d.Generation && d.Status.UpdatedReplicas == *d.Spec.Replicas && d.Status.Replicas == *d.Spec.Replicas, nil
}

// calmOn waits until no pod terminates, none is to be evicted, and the Deployment is rolled out.
func (s *sequence) calmOn(t *testing.T, c *acctest.Cluster) {
	t.Helper()
	acctest.Until(t, "no pod is evicted any more", func(ctx context.Context) (bool, error) {
		pods, err := c.Admin.CoreV1().Pods(s.namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			return false, err
		}
		nodes, err := c.Admin.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
		if err != nil {
			return false, err
		}
		if slices.ContainsFunc(pods.Items, func(p corev1.Pod) bool { return p.DeletionTimestamp != nil || toEvict(&p, nodes.Items) }) {
			return false, nil
		}
		return s.rolledOut(ctx, c, pods.Items)
	})
}

// toEvict reports whether a pod does not tolerate a NoExecute taint of its node.
func toEvict(p *corev1.Pod, nodes []corev1.Node) bool {
	at := slices.IndexFunc(nodes, func(n corev1.Node) bool { return n.Name == p.Spec.NodeName })
	if at < 0 {
		return false
	}
	_, untolerated := corev1helpers.FindMatchingUntoleratedTaint(klog.Background(), nodes[at].Spec.Taints, p.Spec.Tolerations, func(t *corev1.Taint) bool { return t.Effect == corev1.TaintEffectNoExecute }, false)
	return untolerated
}
