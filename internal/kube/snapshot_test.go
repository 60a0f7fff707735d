// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package kube

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/eviction"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/workload"
)

const (
	replicaSetsPath = "/apis/apps/v1/replicasets"
	daemonSetsPath  = "/apis/apps/v1/daemonsets"
	jobsPath        = "/apis/batch/v1/jobs"
	budgetsPath     = "/apis/policy/v1/poddisruptionbudgets"
	policiesPath    = "/apis/admissionregistration.k8s.io/v1/mutatingadmissionpolicies"
	claimsPath      = "/api/v1/persistentvolumeclaims"
	volumesPath     = "/api/v1/persistentvolumes"
)

func partial(uid types.UID, owner string) metav1.PartialObjectMetadata {
	yes := true
	out := metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: "app", Name: string(uid), UID: uid}}
	if kind, name, ok := strings.Cut(owner, "/"); ok {
		out.OwnerReferences = []metav1.OwnerReference{{Kind: kind, Name: name, Controller: &yes}}
	}
	return out
}

func partials(items ...metav1.PartialObjectMetadata) *metav1.PartialObjectMetadataList {
	return &metav1.PartialObjectMetadataList{TypeMeta: metav1.TypeMeta{Kind: "PartialObjectMetadataList", APIVersion: "meta.k8s.io/v1"}, Items: items}
}

// daemonSets is a list of one DaemonSet for each of these.
func daemonSets(specs ...corev1.PodSpec) *appsv1.DaemonSetList {
	list := &appsv1.DaemonSetList{TypeMeta: metav1.TypeMeta{Kind: "DaemonSetList", APIVersion: "apps/v1"}, ListMeta: metav1.ListMeta{ResourceVersion: "100"}}
	for i, spec := range specs {
		uid := fmt.Sprintf("ds-%d", i+1)
		list.Items = append(list.Items, appsv1.DaemonSet{
			TypeMeta:   metav1.TypeMeta{Kind: "DaemonSet", APIVersion: "apps/v1"},
			ObjectMeta: metav1.ObjectMeta{Namespace: "app", Name: uid, UID: types.UID(uid), Generation: 1}, Spec: appsv1.DaemonSetSpec{Template: corev1.PodTemplateSpec{Spec: spec}},
		})
	}
	return list
}

// town is a fake with one node, two pods and what surrounds them.
func town() *fakeAPI {
	api := newFakeAPI(apiNode("n1"))
	pods := &corev1.PodList{TypeMeta: metav1.TypeMeta{Kind: "PodList", APIVersion: "v1"}, ListMeta: metav1.ListMeta{ResourceVersion: "100"}}
	for name, node := range map[string]string{"running": "n1", "pending": ""} {
		pods.Items = append(pods.Items, corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "app", Name: name}, Spec: corev1.PodSpec{NodeName: node}})
	}
	budgets := &policyv1.PodDisruptionBudgetList{TypeMeta: metav1.TypeMeta{Kind: "PodDisruptionBudgetList", APIVersion: "policy/v1"}}
	for name, selector := range map[string]*metav1.LabelSelector{
		"some": {MatchLabels: map[string]string{"app": "web"}}, "all": {}, "none": nil,
		"broken": {MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "a", Operator: "Nonsense"}}},
	} {
		budgets.Items = append(budgets.Items, policyv1.PodDisruptionBudget{
			ObjectMeta: metav1.ObjectMeta{Namespace: "app", Name: name}, Spec: policyv1.PodDisruptionBudgetSpec{Selector: selector},
			Status: policyv1.PodDisruptionBudgetStatus{DisruptionsAllowed: 2},
		})
	}
	api.lists["/api/v1/pods"] = pods
	api.lists[replicaSetsPath] = partials(partial("rs-1", "Deployment/web"), partial("rs-2", ""))
	api.lists[daemonSetsPath] = daemonSets()
	api.lists[jobsPath] = partials(partial("job-1", "CronJob/nightly"))
	api.lists[budgetsPath] = budgets
	api.lists[policiesPath] = &metav1.PartialObjectMetadataList{TypeMeta: metav1.TypeMeta{Kind: "MutatingAdmissionPolicyList", APIVersion: "admissionregistration.k8s.io/v1"}}
	api.lists[claimsPath] = &corev1.PersistentVolumeClaimList{TypeMeta: metav1.TypeMeta{Kind: "PersistentVolumeClaimList", APIVersion: "v1"}}
	api.lists[volumesPath] = &corev1.PersistentVolumeList{TypeMeta: metav1.TypeMeta{Kind: "PersistentVolumeList", APIVersion: "v1"}}
	api.lists["/api/v1/namespaces/kube-system"] = &corev1.Namespace{TypeMeta: metav1.TypeMeta{Kind: "Namespace", APIVersion: "v1"}, ObjectMeta: metav1.ObjectMeta{UID: "cluster-1"}}
	return api
}

func TestSnapshot_asksOnceForEachKind(t *testing.T) {
	t.Parallel()
	api := town()
	c := api.connect(t)
	snapshots := make([]*eviction.Snapshot, 20)
	var all sync.WaitGroup
	for i := range snapshots {
		all.Go(func() {
			var err error
			if snapshots[i], err = c.Snapshot(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	requests := api.requests()
	slices.Sort(requests)
	want := []string{"GET daemonsets 200", "GET jobs 200", "GET mutatingadmissionpolicies 200", "GET nodes 200", "GET persistentvolumes 200", "GET poddisruptionbudgets 200", "GET pods 200", "GET replicasets 200"}
	if diff := cmp.Diff(want, requests); diff != "" {
		t.Error(diff)
	}
	for _, s := range snapshots {
		if s != snapshots[0] {
			t.Fatal("snapshots of an unchanged cluster are not one")
		}
	}
}

func TestSnapshot_holdsWhatVerdictsNeed(t *testing.T) {
	t.Parallel()
	s, err := town().connect(t).Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Nodes) != 1 || len(s.Pods) != 1 || len(s.Pods["n1"]) != 1 || s.Pods["n1"][0].Name != "running" {
		t.Errorf("nodes %v, pods %v: a pod without a node is on none", s.Nodes, s.Pods)
	}
	parents := map[types.UID]eviction.Owner{"rs-1": {Kind: "Deployment", Name: "web"}, "job-1": {Kind: "CronJob", Name: "nightly"}}
	if diff := cmp.Diff(parents, s.Parents); diff != "" {
		t.Error(diff)
	}
	covered := map[string][]bool{}
	for _, b := range s.Budgets["app"] {
		covered[b.Name] = []bool{b.Selector.Matches(labels.Set{"app": "web"}), b.Selector.Matches(labels.Set{"app": "db"})}
		if b.Allowed != 2 {
			t.Errorf("%s allows %d", b.Name, b.Allowed)
		}
	}
	// policy/v1: an empty selector covers every pod of the namespace, none covers none.
	if diff := cmp.Diff(map[string][]bool{"some": {true, false}, "all": {true, true}, "none": {false, false}, "broken": {false, false}}, covered); diff != "" {
		t.Error(diff)
	}
	if len(s.Gaps) > 0 {
		t.Errorf("gaps %v", s.Gaps)
	}
}

func TestSnapshot_changesWithTheCluster(t *testing.T) {
	t.Parallel()
	c := town().connect(t)
	before, err := c.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	c.nodes.offer(&eviction.Node{Name: "n2", ResourceVersion: "200"})
	after, err := c.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if before == after || len(before.Nodes) != 1 || len(after.Nodes) != 2 {
		t.Errorf("before %d nodes, after %d: a snapshot must not change, the next one must", len(before.Nodes), len(after.Nodes))
	}
}

// TestSnapshot_learnsOfControllersThatCameLater: a rollout has made a ReplicaSet
// after the first reading.
func TestSnapshot_learnsOfControllersThatCameLater(t *testing.T) {
	t.Parallel()
	for name, node := range map[string]string{"of a pod that runs": "n1", "of a pod that waits for a node": ""} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			api := town()
			c := api.connect(t)
			if _, err := c.Snapshot(t.Context()); err != nil {
				t.Fatal(err)
			}
			api.mu.Lock()
			api.lists["/apis/apps/v1/namespaces/app/replicasets"] = partials(partial("rs-3", "Deployment/web"))
			api.mu.Unlock()
			p := &eviction.Pod{
				Namespace: "app", Name: "web-3", Node: node, Scheduling: &eviction.Scheduling{},
				Controller: &eviction.Controller{Owner: eviction.Owner{Kind: "ReplicaSet", Name: "rs-3"}, UID: "rs-3"},
			}
			c.pods.offer(p)
			s, err := c.Snapshot(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if owner := s.Owner(p).String(); owner != "Deployment/web" {
				t.Errorf("the pod belongs to %s, want Deployment/web", owner)
			}
		})
	}
}

func TestSnapshot_withoutPermission(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, path string
		status     int
		gap        string
		ofOwners   bool
		class      error
	}{
		{name: "to list ReplicaSets is a gap", path: replicaSetsPath, status: 403, gap: "ReplicaSets could not be read", ofOwners: true},
		{name: "to list DaemonSets is a gap", path: daemonSetsPath, status: 403, gap: "DaemonSets could not be read"},
		{name: "to list Jobs is a gap", path: jobsPath, status: 403, gap: "Jobs could not be read", ofOwners: true},
		{name: "to list PodDisruptionBudgets is a gap", path: budgetsPath, status: 403, gap: "PodDisruptionBudgets could not be read"},
		{name: "to list PersistentVolumeClaims is a gap", path: claimsPath, status: 403, gap: "PersistentVolumeClaims could not be read"},
		{name: "to list MutatingAdmissionPolicies is a gap", path: policiesPath, status: 403, gap: "MutatingAdmissionPolicies could not be read"},
		{name: "to list PersistentVolumes is a gap", path: volumesPath, status: 403, gap: "PersistentVolumes could not be read"},
		{name: "to list pods is an error", path: "/api/v1/pods", status: 403, class: ErrForbidden},
		{name: "to list nodes is an error", path: "/api/v1/nodes", status: 403, class: ErrForbidden},
		{name: "but with a broken server is an error", path: jobsPath, status: 503, class: ErrUnreachable},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				api := town()
				volumes := api.lists[volumesPath].(*corev1.PersistentVolumeList)
				volumes.Items = append(volumes.Items, corev1.PersistentVolume{Spec: corev1.PersistentVolumeSpec{NodeAffinity: &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{}}}})
				api.fault = func(_, path string, _ int) *fault {
					if path == tt.path {
						return &fault{status: tt.status}
					}
					return nil
				}
				s, err := api.connect(t).Snapshot(t.Context())
				if tt.class != nil {
					if !errors.Is(err, tt.class) {
						t.Errorf("got %v, want %v", err, tt.class)
					}
					return
				}
				if err != nil || len(s.Gaps) != 1 || !strings.Contains(s.Gaps[0], tt.gap) {
					t.Fatalf("got %v, gaps %v", err, s)
				}
				if ofOwners := slices.Equal(s.Gaps, s.OwnerGaps); ofOwners != tt.ofOwners || !ofOwners && len(s.OwnerGaps) > 0 {
					t.Errorf("gaps of owners %v", s.OwnerGaps)
				}
			})
		})
	}
}

func TestID_isAskedForOnceAndRemembersFailuresForAWhile(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		api := town()
		down := true
		api.fault = func(string, string, int) *fault {
			if down {
				return &fault{cut: "before"}
			}
			return nil
		}
		c := api.connect(t)
		for range 3 {
			if _, err := c.ID(t.Context()); !OutOfReach(err) {
				t.Fatalf("got %v", err)
			}
		}
		if n := len(api.requests()); n != reading.tries {
			t.Errorf("%d requests, want %d: the failure must be remembered", n, reading.tries)
		}
		down = false
		pause(t.Context(), failureMemory)
		for range 3 {
			if id, err := c.ID(t.Context()); id != "cluster-1" || err != nil {
				t.Errorf("got %q, %v", id, err)
			}
		}
		if diff := cmp.Diff([]string{"GET kube-system 200"}, api.requests()); diff != "" {
			t.Error(diff)
		}
	})
}

func TestID_doesNotRememberMissingPermission(t *testing.T) {
	t.Parallel()
	api := town()
	api.fault = on(http.MethodGet, 1, fault{status: 403})
	c := api.connect(t)
	if _, err := c.ID(t.Context()); !errors.Is(err, ErrForbidden) {
		t.Errorf("got %v", err)
	}
	if id, err := c.ID(t.Context()); id != "cluster-1" || err != nil {
		t.Errorf("got %q, %v", id, err)
	}
}

// What this process has read or written of a DaemonSet takes the place of what was
// listed: a budget is checked between the write of a template and that of a taint.
func TestSnapshot_knowsTheTemplatesOfDaemonSetsAsTheyWereReadLast(t *testing.T) {
	t.Parallel()
	tolerating := func(key string) corev1.PodSpec {
		return corev1.PodSpec{Tolerations: []corev1.Toleration{{Key: key, Operator: corev1.TolerationOpExists}}, HostNetwork: key == "new"}
	}
	api := town()
	api.lists[daemonSetsPath] = daemonSets(tolerating("old"), tolerating("other"))
	one := daemonSets(tolerating("new")).Items[0]
	one.Generation = 2
	api.lists["/apis/apps/v1/namespaces/app/daemonsets/ds-1"] = &one
	c := api.connect(t)
	keys := func() (out []string, hostNetwork bool) {
		t.Helper()
		s, err := c.Snapshot(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, uid := range []types.UID{"ds-1", "ds-2"} {
			out = append(out, s.Daemons[uid].Tolerations[0].Key)
		}
		return out, s.Daemons["ds-1"].HostNetwork
	}
	if got, host := keys(); strings.Join(got, " ") != "old other" || host {
		t.Fatalf("the templates tolerate %v (host network %t)", got, host)
	}
	ref := workload.Ref{APIVersion: "apps/v1", Kind: "DaemonSet", Namespace: "app", Name: "ds-1"}
	if _, err := c.FreshWorkload(t.Context(), ref, []string{"spec", "template", "spec", "tolerations"}); err != nil {
		t.Fatal(err)
	}
	if got, host := keys(); strings.Join(got, " ") != "new other" || !host {
		t.Fatalf("the templates tolerate %v (host network %t)", got, host)
	}
	first, err := c.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.FreshWorkload(t.Context(), ref, []string{"spec", "template", "spec", "tolerations"}); err != nil {
		t.Fatal(err)
	}
	if again, err := c.Snapshot(t.Context()); err != nil || again != first {
		t.Fatalf("a read that shows nothing new makes a new snapshot: %v", err)
	}
}

// Between two changes of one apply, another tool may give a DaemonSet another template.
func TestSnapshotToDecide_listsTheTemplatesAgainThatWereListedAWhileAgo(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		api := town()
		api.lists[daemonSetsPath] = daemonSets(corev1.PodSpec{})
		c := api.connect(t)
		shares := func() bool {
			t.Helper()
			s, err := c.SnapshotToDecide(t.Context())
			if err != nil {
				t.Error(err)
				return false
			}
			return s.Daemons["ds-1"].HostNetwork
		}
		if shares() {
			t.Fatal("nobody has changed anything yet")
		}
		changed := daemonSets(corev1.PodSpec{HostNetwork: true})
		changed.Items[0].Generation = 2
		api.lists[daemonSetsPath] = changed
		time.Sleep(shelfLife / 2)
		if shares() {
			t.Error("it is listed again after a moment")
		}
		time.Sleep(shelfLife)
		api.requests()
		var all sync.WaitGroup
		for range 10 {
			all.Go(func() {
				if !shares() {
					t.Error("it is not listed again after a while")
				}
			})
		}
		all.Wait()
		if again := api.requests(); len(again) != 1 {
			t.Errorf("many that ask at once made the requests %v", again)
		}
	})
}
