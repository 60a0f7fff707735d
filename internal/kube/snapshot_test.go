// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package kube

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/fakeapi"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/workload"
)

// owned is the metadata of an object in the namespace app, which has a controller where
// owner is KIND/NAME.
func owned(name, owner string) metav1.ObjectMeta {
	out := metav1.ObjectMeta{Namespace: "app", Name: name, UID: types.UID(name)}
	if kind, name, ok := strings.Cut(owner, "/"); ok {
		out.OwnerReferences = []metav1.OwnerReference{{Kind: kind, Name: name, Controller: new(true)}}
	}
	return out
}

func daemonSetOf(name string, spec corev1.PodSpec) *appsv1.DaemonSet {
	return &appsv1.DaemonSet{ObjectMeta: owned(name, ""), Spec: appsv1.DaemonSetSpec{Template: corev1.PodTemplateSpec{Spec: spec}}}
}

// town is a server with one node, two pods and what surrounds them.
func town(kinds ...fakeapi.Kind) *testServer {
	api := serve(fakeapi.New(kinds...), apiNode("n1"))
	for name, node := range map[string]string{"running": "n1", "pending": ""} {
		api.Add(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "app", Name: name}, Spec: corev1.PodSpec{NodeName: node}})
	}
	policies := map[string]*policyv1.UnhealthyPodEvictionPolicyType{"some": new(policyv1.AlwaysAllow), "all": new(policyv1.IfHealthyBudget)}
	for name, selector := range map[string]*metav1.LabelSelector{
		"some": {MatchLabels: map[string]string{"app": "web"}}, "all": {}, "none": nil,
		"broken": {MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "a", Operator: "Nonsense"}}},
	} {
		api.Add(&policyv1.PodDisruptionBudget{
			ObjectMeta: metav1.ObjectMeta{Namespace: "app", Name: name}, Spec: policyv1.PodDisruptionBudgetSpec{Selector: selector, UnhealthyPodEvictionPolicy: policies[name]},
			Status: policyv1.PodDisruptionBudgetStatus{DisruptionsAllowed: 2, CurrentHealthy: 4, DesiredHealthy: 3},
		})
	}
	api.Add(
		&appsv1.ReplicaSet{ObjectMeta: owned("rs-1", "Deployment/web")}, &appsv1.ReplicaSet{ObjectMeta: owned("rs-2", "")},
		&batchv1.Job{ObjectMeta: owned("job-1", "CronJob/nightly")},
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: metav1.NamespaceSystem, UID: "cluster-1"}},
	)
	return api
}

func TestSnapshot_asksOnceForEachKind(t *testing.T) {
	t.Parallel()
	api := town()
	c := api.connect(t)
	snapshots := make([]*snapshot.Snapshot, 20)
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
	parents := map[types.UID]snapshot.Owner{"rs-1": {Kind: "Deployment", Name: "web"}, "job-1": {Kind: "CronJob", Name: "nightly"}}
	if diff := cmp.Diff(parents, s.Parents); diff != "" {
		t.Error(diff)
	}
	covered := map[string][]bool{}
	for _, b := range s.Budgets["app"] {
		covered[b.Name] = []bool{b.Selector.Matches(labels.Set{"app": "web"}), b.Selector.Matches(labels.Set{"app": "db"})}
		if b.Allowed != 2 || b.Healthy != 4 || b.MinHealthy != 3 || b.AlwaysAllow != (b.Name == "some") {
			t.Errorf("%s is read as %+v", b.Name, b)
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
	c.nodes.offer(&snapshot.Node{Name: "n2", ResourceVersion: "999999"})
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
			api.Add(&appsv1.ReplicaSet{ObjectMeta: owned("rs-3", "Deployment/web")})
			p := &snapshot.Pod{
				Namespace: "app", Name: "web-3", Node: node, Scheduling: &snapshot.Scheduling{},
				Controller: &snapshot.Controller{Owner: snapshot.Owner{Group: "apps", Kind: "ReplicaSet", Name: "rs-3"}, UID: "rs-3"},
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
		name, resource string
		status         fakeapi.Fault
		gap            string
		ofOwners       bool
		class          error
	}{
		{name: "to list ReplicaSets is a gap", resource: "replicasets", status: 403, gap: "ReplicaSets could not be read", ofOwners: true},
		{name: "to list DaemonSets is a gap", resource: "daemonsets", status: 403, gap: "DaemonSets could not be read"},
		{name: "to list Jobs is a gap", resource: "jobs", status: 403, gap: "Jobs could not be read", ofOwners: true},
		{name: "to list PodDisruptionBudgets is a gap", resource: "poddisruptionbudgets", status: 403, gap: "PodDisruptionBudgets could not be read"},
		{name: "to list PersistentVolumeClaims is a gap", resource: "persistentvolumeclaims", status: 403, gap: "PersistentVolumeClaims could not be read"},
		{name: "to list MutatingAdmissionPolicies is a gap", resource: "mutatingadmissionpolicies", status: 403, gap: "MutatingAdmissionPolicies could not be read"},
		{name: "to list PersistentVolumes is a gap", resource: "persistentvolumes", status: 403, gap: "PersistentVolumes could not be read"},
		{name: "to list pods is an error", resource: "pods", status: 403, class: ErrForbidden},
		{name: "to list nodes is an error", resource: "nodes", status: 403, class: ErrForbidden},
		{name: "but with a broken server is an error", resource: "jobs", status: 503, class: ErrUnreachable},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				api := town()
				api.Add(&corev1.PersistentVolume{
					ObjectMeta: metav1.ObjectMeta{Name: "pv-1"}, Spec: corev1.PersistentVolumeSpec{NodeAffinity: &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{}}},
				})
				api.fault = onLists(tt.status, tt.resource)
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
		api.fault = func(fakeapi.Request, int) fakeapi.Fault {
			if down {
				return fakeapi.CutBefore
			}
			return fakeapi.None
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
	api.fault = on(http.MethodGet, 1, http.StatusForbidden)
	c := api.connect(t)
	if _, err := c.ID(t.Context()); !errors.Is(err, ErrForbidden) {
		t.Errorf("got %v", err)
	}
	if id, err := c.ID(t.Context()); id != "cluster-1" || err != nil {
		t.Errorf("got %q, %v", id, err)
	}
}

// A DaemonSet that this process has read or written replaces the one that was
// listed: a limit is checked between the write of a template and that of a taint.
func TestSnapshot_knowsTheTemplatesOfDaemonSetsAsTheyWereReadLast(t *testing.T) {
	t.Parallel()
	tolerating := func(key string) corev1.PodSpec {
		return corev1.PodSpec{Tolerations: []corev1.Toleration{{Key: key, Operator: corev1.TolerationOpExists}}, HostNetwork: key == "new"}
	}
	api := town()
	api.Add(daemonSetOf("ds-1", tolerating("old")), daemonSetOf("ds-2", tolerating("other")))
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
	api.Put(daemonSetOf("ds-1", tolerating("new")))
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

// Between two changes of one apply, another tool may give a DaemonSet another template and a namespace a quota.
func TestSnapshotToDecide_listsAgainWhatWasListedAWhileAgo(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		api := town()
		api.Add(daemonSetOf("ds-1", corev1.PodSpec{}))
		c := api.connect(t)
		shares := func() bool {
			t.Helper()
			s, err := c.SnapshotToDecide(t.Context())
			if err == nil {
				s, err = c.Judge(t.Context(), s, func(*snapshot.Snapshot) Needs { return Needs{Recreates: true} })
			}
			if err != nil {
				t.Error(err)
				return false
			}
			if changed := s.Daemons["ds-1"].HostNetwork; changed != (len(s.Quotas["app"]) > 0) || changed != (len(s.Budgets["app"]) > 4) || changed != (len(s.LimitRanges["app"]) > 0) {
				t.Errorf("template changed %t, with quotas %v, budgets %v, LimitRanges %v", changed, s.Quotas, s.Budgets, s.LimitRanges)
			}
			return s.Daemons["ds-1"].HostNetwork
		}
		if shares() {
			t.Fatal("no test has changed anything yet")
		}
		api.Put(daemonSetOf("ds-1", corev1.PodSpec{HostNetwork: true}))
		in := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: "app", Name: name} }
		pods := corev1.ResourceList{corev1.ResourcePods: resource.MustParse("3")}
		api.Add(
			&corev1.ResourceQuota{ObjectMeta: in("pods"), Status: corev1.ResourceQuotaStatus{Hard: pods}},
			&corev1.LimitRange{ObjectMeta: in("max"), Spec: corev1.LimitRangeSpec{Limits: []corev1.LimitRangeItem{{Type: corev1.LimitTypePod, Max: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")}}}}},
			&policyv1.PodDisruptionBudget{ObjectMeta: in("web")},
		)
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
		if again := api.requests(); len(again) != 4 {
			t.Errorf("many that ask at once made the requests %v", again)
		}
	})
}
