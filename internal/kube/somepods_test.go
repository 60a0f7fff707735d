// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package kube

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/admission"
)

// crowd is a server with so many nodes, named node-0 and so on, and 30 pods on each.
func crowd(nodes int) *testServer {
	api := newServer()
	for n := range nodes {
		name := fmt.Sprintf("node-%d", n)
		api.Put(apiNode(name))
		for p := range 30 {
			api.Put(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "app", Name: fmt.Sprintf("p-%d-%d", n, p), UID: types.UID(fmt.Sprintf("%d-%d", n, p))}, Spec: corev1.PodSpec{NodeName: name}})
		}
	}
	return api
}

func namesOf(from, to int) []string {
	var out []string
	for n := from; n < to; n++ {
		out = append(out, fmt.Sprintf("node-%d", n))
	}
	return out
}

// lists counts what a server was asked for.
func (a *testServer) lists() map[string]int {
	out := map[string]int{}
	for _, line := range a.requests() {
		out[strings.Fields(line)[1]]++
	}
	return out
}

// TestSnapshotOfNodes_requests counts the requests for pods on 1,000 nodes with 30,000 pods: where the
// pods of some nodes are enough, and where all pods are read.
func TestSnapshotOfNodes_requests(t *testing.T) {
	t.Parallel()
	api := crowd(1_000)
	for name, tc := range map[string]struct {
		nodes int
		part  bool
		pods  int
	}{
		"one node":   {1, true, 1 + 1},
		"ten nodes":  {10, true, 1 + 10},
		"half":       {500, false, 16},
		"all nodes":  {1_000, false, 16},
		"eleven":     {11, false, 1 + 16},
		"no changes": {0, true, 1},
	} {
		c := api.connect(t)
		api.requests()
		s, part, err := c.SnapshotOfNodes(t.Context(), namesOf(0, tc.nodes))
		if err != nil {
			t.Fatal(err)
		}
		if part != tc.part {
			t.Errorf("%s: the pods of the nodes alone were read: %v", name, part)
		}
		if part && (len(s.Nodes) != 1_000 || len(s.Pods) != tc.nodes || len(s.Only) != tc.nodes) {
			t.Errorf("%s: %d nodes, and pods of %d", name, len(s.Nodes), len(s.Pods))
		}
		if !part {
			if _, err := c.Snapshot(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if got := api.lists(); got["pods"] != tc.pods || got["nodes"] != 1 {
			t.Errorf("%s: want %d requests for pods, got %v", name, tc.pods, got)
		}
	}
}

// TestSnapshotOfNodes_twoHundredCallers: ten at a time, as Terraform plans resources. Each that does not get the
// pods of its own node alone reads all, and so do those that come later.
func TestSnapshotOfNodes_twoHundredCallers(t *testing.T) {
	t.Parallel()
	api := crowd(1_000)
	c := api.connect(t)
	var mu sync.Mutex
	parts := 0
	slots := make(chan struct{}, 10)
	var all sync.WaitGroup
	for _, name := range namesOf(0, 200) {
		all.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			s, part, err := c.SnapshotOfNodes(t.Context(), []string{name})
			if err == nil && !part {
				s, err = c.Snapshot(t.Context())
			}
			if err != nil || len(s.Pods[name]) != 30 {
				t.Error(name, err)
				return
			}
			mu.Lock()
			defer mu.Unlock()
			if part {
				parts++
			}
		})
	}
	all.Wait()
	got := api.lists()
	if got["pods"] > 1+10+16 || got["pods"] != 1+parts+16 {
		t.Errorf("%d callers got their own node's pods alone: %v", parts, got)
	}
	total := 0
	for _, n := range got {
		total += n
	}
	if total > 40 {
		t.Errorf("%d requests: %v", total, got)
	}
}

// TestSnapshotOfNodes_smallClusterReadsAll: where all pods are one page, not even their number is asked for.
func TestSnapshotOfNodes_smallClusterReadsAll(t *testing.T) {
	t.Parallel()
	api := crowd(10)
	if _, part, err := api.connect(t).SnapshotOfNodes(t.Context(), namesOf(0, 1)); part || err != nil {
		t.Error(part, err)
	}
	if diff := cmp.Diff(map[string]int{"nodes": 1}, api.lists()); diff != "" {
		t.Error(diff)
	}
}

// nodesFirstOn returns a cluster that reads the pods of changed nodes first, whatever that costs.
func nodesFirstOn(t *testing.T, api *testServer) *Cluster {
	t.Helper()
	c := api.connect(t)
	c.some.reading = ReadNodesFirst
	return c
}

// TestSnapshotOfNodes_allPodsTakeTheirPlace: once all pods are read, no single node's are read any
// more, and no older ones are kept.
func TestSnapshotOfNodes_allPodsTakeTheirPlace(t *testing.T) {
	t.Parallel()
	api := crowd(3)
	c := nodesFirstOn(t, api)
	if s, part, err := c.SnapshotOfNodes(t.Context(), namesOf(0, 1)); err != nil || !part || len(s.Pods["node-0"]) != 30 {
		t.Fatal(part, err)
	}
	api.Add(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "app", Name: "late"}, Spec: corev1.PodSpec{NodeName: "node-0"}})
	s, err := c.Snapshot(t.Context())
	if err != nil || len(s.Pods["node-0"]) != 31 || s.Only != nil {
		t.Errorf("%d pods: %v", len(s.Pods["node-0"]), err)
	}
	api.requests()
	if _, part, err := c.SnapshotOfNodes(t.Context(), namesOf(0, 1)); part || err != nil {
		t.Error(part, err)
	}
	if got := api.requests(); len(got) > 0 {
		t.Error(got)
	}
}

// TestSnapshotOfNodes_sharesLists: resources that change the same node list its pods once, and again
// where that was a while ago.
func TestSnapshotOfNodes_sharesLists(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		api := crowd(2)
		c := nodesFirstOn(t, api)
		read := func() {
			var all sync.WaitGroup
			for range 5 {
				all.Go(func() {
					if s, part, err := c.SnapshotOfNodes(t.Context(), namesOf(0, 2)); err != nil || !part || len(s.Pods) != 2 {
						t.Error(part, err)
					}
				})
			}
			all.Wait()
		}
		read()
		if diff := cmp.Diff(map[string]int{"nodes": 1, "pods": 2}, api.lists()); diff != "" {
			t.Error(diff)
		}
		time.Sleep(2 * shelfLife)
		read()
		if diff := cmp.Diff(map[string]int{"pods": 2}, api.lists()); diff != "" {
			t.Error(diff)
		}
	})
}

// TestSnapshotOfNodes_hasTemplatesOfDaemonSets: their controller judges nodes by these. They are read
// where a pod needs one, once for this and for the snapshot of all pods.
func TestSnapshotOfNodes_hasTemplatesOfDaemonSets(t *testing.T) {
	t.Parallel()
	api := crowd(1)
	api.Add(daemonSetOf("agent", corev1.PodSpec{Tolerations: []corev1.Toleration{{Operator: corev1.TolerationOpExists}}}))
	pod := &corev1.Pod{ObjectMeta: owned("agent-1", "DaemonSet/agent"), Spec: corev1.PodSpec{NodeName: "node-0"}}
	pod.OwnerReferences[0].APIVersion, pod.OwnerReferences[0].UID = appsv1.SchemeGroupVersion.String(), "agent"
	api.Add(pod)
	c := nodesFirstOn(t, api)
	s, part, err := c.SnapshotOfNodes(t.Context(), namesOf(0, 1))
	if err != nil || !part || s.Daemons["agent"] == nil {
		t.Fatal(part, err)
	}
	if _, err := c.Snapshot(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := api.lists(); got["daemonsets"] != 1 {
		t.Error(got)
	}
}

// TestSnapshotOfNodes_errors: what fails is the caller's error, and the next caller asks again.
func TestSnapshotOfNodes_errors(t *testing.T) {
	t.Parallel()
	api := crowd(1)
	c := nodesFirstOn(t, api)
	api.fault = onLists(403, "pods")
	if _, _, err := c.SnapshotOfNodes(t.Context(), namesOf(0, 1)); err == nil {
		t.Error("no error")
	}
	api.fault = nil
	if _, part, err := c.SnapshotOfNodes(t.Context(), namesOf(0, 1)); !part || err != nil {
		t.Error(part, err)
	}
}

// TestSnapshot_isNotOlderThanPodsOfNodes: a server that is behind what it has shown before is asked
// again, and then not believed.
func TestSnapshot_isNotOlderThanPodsOfNodes(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		versions []string
		lists    int
		fails    bool
	}{
		"the same moment":        {[]string{"7"}, 1, false},
		"a later moment":         {[]string{"8"}, 1, false},
		"behind once":            {[]string{"6", "7"}, 2, false},
		"behind":                 {[]string{"6", "6"}, 2, true},
		"versions in other form": {[]string{"x"}, 1, false},
	} {
		lists, began := 0, 0
		c := nodesBy(func(context.Context, metav1.ListOptions) (runtime.Object, error) {
			lists++
			return page(tc.versions[lists-1], "", "n1"), nil
		})
		c.begin, c.atLeast = func() { began++ }, func() string { return "7" }
		if err := c.load(t.Context()); (err != nil) != tc.fails {
			t.Errorf("%s: %v", name, err)
		}
		if lists != tc.lists || began != 1 {
			t.Errorf("%s: %d lists, begun %d times", name, lists, began)
		}
	}
}

// TestSomePods_closeWaits: a list of all pods that began before a list of a node's ended could be
// older than that one.
func TestSomePods_closeWaits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := somePods{reading: ReadNodesFirst}
		_, mine, ok := s.take([]string{"n1"}, time.Now(), 0)
		if !ok || len(mine) != 1 {
			t.Fatal(ok, mine)
		}
		closed := make(chan struct{})
		go func() {
			s.close()
			close(closed)
		}()
		synctest.Wait()
		select {
		case <-closed:
			t.Error("a list is under way")
		default:
		}
		if _, _, ok := s.take([]string{"n2"}, time.Now(), 0); ok {
			t.Error("all pods are about to be listed")
		}
		s.end("n1", mine["n1"], "7")
		<-closed
		if s.seen() != "7" {
			t.Error(s.seen())
		}
	})
}

// TestAdmitsAsIs: a pod that the admission plug-in PodTolerationRestriction would have given more shows
// that it is off.
func TestAdmitsAsIs(t *testing.T) {
	t.Parallel()
	asks := corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")}}
	pressure := corev1.Toleration{Key: corev1.TaintNodeMemoryPressure, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoSchedule}
	for name, tc := range map[string]struct {
		spec   corev1.PodSpec
		policy bool
		want   bool
	}{
		"a pod that asks for CPU":                                {spec: corev1.PodSpec{Containers: []corev1.Container{{Resources: asks}}}, want: true},
		"a pod that asks for nothing":                            {},
		"a pod with a toleration of memory pressure":             {spec: corev1.PodSpec{Containers: []corev1.Container{{Resources: asks}}, Tolerations: []corev1.Toleration{pressure}}},
		"a pod that tolerates everything":                        {spec: corev1.PodSpec{Containers: []corev1.Container{{Resources: asks}}, Tolerations: []corev1.Toleration{{Operator: corev1.TolerationOpExists}}}},
		"a BestEffort pod with overhead":                         {spec: corev1.PodSpec{Containers: []corev1.Container{{}}, Overhead: asks.Requests}},
		"a pod that asks for CPU, and a policy of this provider": {spec: corev1.PodSpec{Containers: []corev1.Container{{Resources: asks}}}, policy: true},
	} {
		api := newServer(apiNode("n1"))
		tc.spec.NodeName = "n1"
		api.Add(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "app", Name: "p"}, Spec: tc.spec})
		if tc.policy {
			api.Add(&admissionregistrationv1.MutatingAdmissionPolicy{ObjectMeta: metav1.ObjectMeta{Name: "one", Labels: map[string]string{admission.ManagedByLabel: admission.ManagedBy}}})
		}
		c := nodesFirstOn(t, api)
		s, part, err := c.SnapshotOfNodes(t.Context(), []string{"n1"})
		if err != nil || !part {
			t.Fatal(part, err)
		}
		if got, err := c.AdmitsAsIs(t.Context(), s); got != tc.want || err != nil {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
}
