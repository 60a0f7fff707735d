// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package placement

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

// threeNodes have the label "node", and node n1 is the one that is tainted.
func threeNodes() world {
	var nodes []*snapshot.Node
	for _, name := range []string{"n1", "n2", "n3"} {
		nodes = append(nodes, labelled(having(node(name), 8, 8), "node", name))
	}
	return newWorld(nodes...).stored()
}

// scratched are pods of a workload on node n1 with a generic ephemeral volume each.
func (w world) scratched(n int, class string, options ...claimOption) world {
	for _, name := range []string{"p0", "p1", "p2"}[:n] {
		w.owns(name, class, options...).run(pod(name, "n1", ephemeralVolume, asking(1, 1)))
	}
	return w
}

func TestOpenClaims_replacementsNeedStorage(t *testing.T) {
	t.Parallel()
	narrow := func(w world, value string) world {
		w.Storage.Classes["dynamic"].Topologies = []corev1.TopologySelectorTerm{{MatchLabelExpressions: []corev1.TopologySelectorLabelRequirement{{Key: "node", Values: []string{value}}}}}
		return w
	}
	retaining := func(w world) world {
		w.Storage.Classes["dynamic"].Retains = true
		return w
	}
	missing := func(class string) world {
		return threeNodes().template(class).run(pod("db-0", "n1", claiming("data-db-0"), ownedBy("StatefulSet", "db"), asking(1, 1)))
	}
	set := func(options ...claimOption) world {
		return threeNodes().claim("data-db-0", "static", append(options, deleting)...).run(pod("db-0", "n1", claiming("data-db-0"), ownedBy("StatefulSet", "db"), asking(1, 1)))
	}
	for name, tt := range map[string]struct {
		world   world
		missing Range
		reason  string
		unknown []string
	}{
		"a volume is provisioned for each":                                {world: threeNodes().scratched(3, "dynamic")},
		"the topology has one node":                                       {world: narrow(threeNodes(), "n2").scratched(3, "dynamic")},
		"the topology has the tainted node alone":                         {world: narrow(threeNodes(), "n1").scratched(2, "dynamic"), missing: Range{2, 2}, reason: "2 are outside the allowedTopologies of StorageClass dynamic, 1 is tainted gone:NoExecute"},
		"there is no volume":                                              {world: threeNodes().scratched(1, "static"), missing: Range{1, 1}, reason: "3 have no available volume of StorageClass static"},
		"there is one volume for two pods":                                {world: threeNodes().scratched(2, "static").volume("a", "n2", 1), missing: Range{1, 1}, reason: "3 have no available volume of StorageClass static"},
		"there are two volumes for two pods":                              {world: threeNodes().scratched(2, "static").volume("a", "n2", 1).volume("b", "n3", 1)},
		"volumes of any node":                                             {world: threeNodes().scratched(2, "static").volume("a", "", 1).volume("b", "", 2)},
		"the volume is too small":                                         {world: threeNodes().scratched(1, "static", gi(2)).volume("a", "n2", 1), missing: Range{1, 1}, reason: "3 have no available volume of StorageClass static"},
		"the class does not exist":                                        {world: threeNodes().scratched(1, "none"), missing: Range{1, 1}, reason: "3 have no available volume of StorageClass none"},
		"a new claim of a class that does not wait":                       {world: threeNodes().scratched(1, "immediate"), unknown: []string{`volumes of StorageClass "immediate"`}},
		"capacity for one, which the scheduler may subtract":              {world: threeNodes().scratched(2, "dynamic").limited(capacity("n2", 1<<30, -1)), missing: Range{0, 1}, reason: "3 lack storage capacity of StorageClass dynamic (needs 1Gi)"},
		"capacity for one on each of two nodes":                           {world: threeNodes().scratched(2, "dynamic").limited(capacity("n2", 1<<30, -1), capacity("n3", 1<<30, -1))},
		"too little capacity":                                             {world: threeNodes().scratched(1, "dynamic").limited(capacity("n2", 1<<20, -1)), missing: Range{1, 1}, reason: "3 lack storage capacity of StorageClass dynamic (needs 1Gi)"},
		"capacity that the volumes of the evicted pods return":            {world: threeNodes().scratched(2, "dynamic").limited(capacity("", 0, -1))},
		"reclaimPolicy Retain: their volumes stay":                        {world: retaining(threeNodes().scratched(2, "dynamic").limited(capacity("", 0, -1))), missing: Range{2, 2}, reason: "3 lack storage capacity of StorageClass dynamic (needs 1Gi)"},
		"a claim of a StatefulSet that is being deleted is created again": {world: set().volume("a", "n2", 1)},
		"it finds no volume":                                              {world: set(), missing: Range{1, 1}, reason: "3 have no available volume of StorageClass static"},
		"a volume is reserved for it by name":                             {world: set().volume("a", "n2", 1, reserved("data-db-0", ""))},
		"a volume is reserved for the one that is being deleted":          {world: set().volume("a", "n2", 1, reserved("data-db-0", "uid-data-db-0")), missing: Range{1, 1}, reason: "3 have no available volume of StorageClass static"},
		"a claim that is gone is created from its template":               {world: missing("static").volume("a", "n2", 1)},
		"it is provisioned":                                               {world: missing("dynamic")},
		"it is provisioned where the topology has the tainted node alone": {world: narrow(missing("dynamic"), "n1"), missing: Range{1, 1}, reason: "2 are outside the allowedTopologies of StorageClass dynamic, 1 is tainted gone:NoExecute"},
		"the template finds no volume":                                    {world: missing("static"), missing: Range{1, 1}, reason: "3 have no available volume of StorageClass static"},
		"no capacity returns with a claim that is gone":                   {world: missing("dynamic").limited(capacity("", 0, -1)), missing: Range{1, 1}, reason: "3 lack storage capacity of StorageClass dynamic (needs 1Gi)"},
		"a claim of a Deployment that is being deleted":                   {world: threeNodes().claim("data", "static", deleting).volume("a", "n2", 1).run(pod("p", "n1", claiming("data"))), missing: Range{1, 1}, reason: "3 are ruled out while its claim is being deleted"},
		"a claim that has lost its volume":                                {world: threeNodes().claim("data", "static", lost).run(pod("p", "n1", claiming("data"))), missing: Range{1, 1}, reason: "3 are ruled out while its claim has lost its volume"},
		"a claim that was not read":                                       {world: threeNodes().run(pod("p", "n1", claiming("data"))), unknown: []string{"missing PersistentVolumeClaims"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out := tt.world.simulate()
			got := out.Workloads[0]
			if got.Missing != tt.missing || got.Reason != tt.reason || !slices.Equal(out.UnmodelledStorage, tt.unknown) {
				t.Errorf("pending %v, reason %q, not modelled %q", got.Missing, got.Reason, out.UnmodelledStorage)
			}
		})
	}
}

// TestOpenClaims_classesOfOnePoolShareIt: a driver reports 1 Gi for each of two classes, which it takes from the same disks.
func TestOpenClaims_classesOfOnePoolShareIt(t *testing.T) {
	t.Parallel()
	for shares, want := range map[bool]Range{true: {0, 1}, false: {}} {
		w := threeNodes().scratched(1, "dynamic").limited(capacity("n2", 1<<30, -1))
		first := w.Storage.Classes["dynamic"].Capacities[0]
		other := *first
		if shares {
			other.First = first
		}
		w.Storage.Classes["xfs"] = &snapshot.StorageClass{Waits: true, Provisions: true, Limited: true, Capacities: []*snapshot.Capacity{&other}}
		w.owns("q0", "xfs").run(pod("q0", "n1", ephemeralVolume, asking(1, 1)))
		// The volumes of the evicted pods are on n1, of which no capacity is reported.
		if out := w.simulate(); out.Missing != want {
			t.Errorf("shared %t: pending %v, want %v", shares, out.Missing, want)
		}
	}
}

// TestStorageScore_isHigherTheMoreIsLeft: a pod asks for 1 Gi in its only claim.
func TestStorageScore_isHigherTheMoreIsLeft(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		world    world
		n2, n3   int64
		unscored bool
	}{
		"of bound volumes":                   {world: threeNodes().scratched(1, "static").volume("a", "n2", 10).volume("b", "n3", 1), n2: 90},
		"the smallest volume is bound":       {world: threeNodes().scratched(1, "static").volume("a", "n2", 10).volume("b", "n2", 2).volume("c", "n3", 4), n2: 50, n3: 75},
		"of capacities":                      {world: threeNodes().scratched(1, "dynamic").limited(capacity("n2", 4<<30, -1), capacity("n3", 1<<30, -1)), n2: 75},
		"of none where they are not limited": {world: threeNodes().scratched(1, "dynamic")},
		"before Kubernetes 1.37":             {world: threeNodes().scratched(1, "static").volume("a", "n2", 10).volume("b", "n3", 1), unscored: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSimulation(New(tt.world.Snapshot, gone("n1"), false), tt.world.evictAll("n1"))
			s.used.reset(false, false, false)
			s.scoresStorage = !tt.unscored
			if n2, n3 := s.storageScore(s.replacements[0].class, 1), s.storageScore(s.replacements[0].class, 2); n2 != tt.n2 || n3 != tt.n3 {
				t.Errorf("n2 has %d and n3 %d, want %d and %d", n2, n3, tt.n2, tt.n3)
			}
		})
	}
}

// TestOpenClaims_volumesReturnWithTheirPods: a node has storage for one of two volumes, and a pod there has a third one.
func TestOpenClaims_volumesReturnWithTheirPods(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		after            int64
		stays            bool
		missing, delayed Range
	}{
		"the pod stays":          {stays: true, missing: Range{0, 1}},
		"it goes":                {},
		"it goes after a minute": {after: 60, delayed: Range{0, 1}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := threeNodes().scratched(2, "dynamic").limited(capacity("n2", 1<<30, -1))
			w.owns("third", "dynamic").run(other("third", "n2", ephemeralVolume, asking(1, 1)))
			evicted := w.evictAll("n1")
			if !tt.stays {
				evicted = append(evicted, Eviction{Pod: w.named(t, "third"), After: tt.after})
			}
			out := New(w.Snapshot, gone("n1"), false).Simulate(evicted, Orders, 1)
			if got := out.of(t, "web-5d"); got.Missing != tt.missing || got.Delayed != tt.delayed {
				t.Errorf("pending %v, delayed %v", got.Missing, got.Delayed)
			}
		})
	}
}

// TestOpenClaims_aNewPodBesideAnotherNeedsAVolumeOfItsOwn: the new pod of a rollout has another claim than the one that it replaces.
func TestOpenClaims_aNewPodBesideAnotherNeedsAVolumeOfItsOwn(t *testing.T) {
	t.Parallel()
	for free, want := range map[int64]Range{0: {1, 1}, 1 << 30: {}} {
		w := threeNodes().scratched(1, "dynamic").limited(capacity("", free, -1))
		old := w.named(t, "p0")
		next := *old
		next.Node, next.UID, next.Like = "", "", old.UID
		got := New(w.Snapshot, Scenario{}, false).Simulate([]Eviction{{Pod: &next, Scheduling: old.Scheduling, Surplus: true}}, Orders, 1)
		if got.Missing != want || got.Of(&next).UnknownVolumes {
			t.Errorf("%d bytes are left: pending %v, want %v", free, got.Missing, want)
		}
	}
}

func TestOpenClaims_whatWasNotReadKeepsNoPodAway(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		forget  func(s *snapshot.Snapshot)
		unknown []string
		volumes bool
	}{
		"nothing":         {forget: func(*snapshot.Snapshot) {}},
		"no storage":      {forget: func(s *snapshot.Snapshot) { s.Storage = nil }, volumes: true},
		"no claims":       {forget: func(s *snapshot.Snapshot) { s.Storage.Claims = nil }, unknown: []string{"PersistentVolumeClaims"}, volumes: true},
		"no classes":      {forget: func(s *snapshot.Snapshot) { s.Storage.Classes = nil }, unknown: []string{"StorageClasses"}},
		"no volumes":      {forget: func(s *snapshot.Snapshot) { s.Storage.Unread = true }, unknown: []string{"PersistentVolumes"}},
		"no capacities":   {forget: func(s *snapshot.Snapshot) { s.Storage.Classes["dynamic"].Unknown = true }, unknown: []string{"storage capacities"}},
		"no claim of one": {forget: func(s *snapshot.Snapshot) { clear(s.Storage.Owned) }, volumes: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := threeNodes().scratched(1, "dynamic")
			tt.forget(w.Snapshot)
			out := w.simulate()
			group := out.Of(w.named(t, "p0"))
			if out.Missing != (Range{}) || !slices.Equal(out.UnmodelledStorage, tt.unknown) || group.UnknownVolumes != tt.volumes {
				t.Errorf("pending %v, not modelled %q, unknown volumes %t", out.Missing, out.UnmodelledStorage, group.UnknownVolumes)
			}
		})
	}
}

func TestOpenClaims_podsThatWaitUseVolumes(t *testing.T) {
	t.Parallel()
	w := threeNodes().scratched(1, "static").volume("a", "n2", 1).volume("b", "n3", 1)
	first, second := pod("w0", "", ownedBy("StatefulSet", "w"), claiming("one")), pod("w1", "", ownedBy("StatefulSet", "w"), claiming("two"))
	w.claim("one", "static")
	w.Waiting = []*snapshot.Pod{first}
	if got := w.simulate().of(t, "web-5d").Missing; got != (Range{}) {
		t.Errorf("one pod waits for two volumes: pending %v", got)
	}
	w.claim("two", "static")
	w.Waiting = append(w.Waiting, second)
	if got := w.simulate().of(t, "web-5d").Missing; got != (Range{Min: 0, Max: 1}) && got != (Range{Min: 1, Max: 1}) {
		t.Errorf("two pods wait for two volumes: pending %v", got)
	}
	second.Claims = []string{"one"}
	if got := w.simulate().of(t, "web-5d").Missing; got != (Range{}) {
		t.Errorf("two pods with one claim wait for two volumes: pending %v", got)
	}
}

// A StatefulSet creates the claims of its Pending pods that do not exist: such a pod competes for room again.
func TestOpenClaims_podsThatWaitGetMissingClaims(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		class string
		pod   string
		owner string
		want  Range
	}{
		"of a StatefulSet":                      {class: "dynamic", pod: "db-0", owner: "StatefulSet", want: Range{1, 1}},
		"of one whose template finds no volume": {class: "static", pod: "db-0", owner: "StatefulSet"},
		"of another set":                        {class: "dynamic", pod: "db-0", owner: "ReplicaSet"},
		"of another name":                       {class: "dynamic", pod: "db-1", owner: "StatefulSet"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(having(node("n1"), 1, 8), having(node("n2"), 1, 8)).stored().template(tt.class).run(pod("p", "n1", asking(1, 1)))
			waits := pod(tt.pod, "", claiming("data-db-0"), ownedBy(tt.owner, "db"), asking(1, 1), priority(9))
			w.Waiting = []*snapshot.Pod{waits}
			if got := w.simulate().of(t, "web-5d").Missing; got != tt.want {
				t.Errorf("pending %v, want %v", got, tt.want)
			}
		})
	}
}

// The volume of a generic ephemeral claim goes with an evicted pod, and binds one that waits.
func TestOpenClaims_ephemeralClaimsBindPodsThatWait(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		node string
		want Range
	}{
		"its volume is on the node with room":  {node: "n2", want: Range{1, 1}},
		"its volume is on the tainted node":    {node: "n1"},
		"its volume can be used on every node": {want: Range{1, 1}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(labelled(having(node("n1"), 1, 8), "node", "n1"), labelled(having(node("n2"), 1, 8), "node", "n2")).stored().run(pod("p", "n1", asking(1, 1)))
			waits := pod("w", "", ephemeralVolume, asking(1, 1), priority(9), ownedBy("ReplicaSet", "other"))
			w.owns("w", "dynamic").Waiting = []*snapshot.Pod{waits}
			if tt.node != "" {
				w.Volumes = map[string]map[string]*snapshot.Volume{"app": {"w-scratch": {Name: "pv-of-w", Affinity: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{expression("node", "In", tt.node)}}}}}
			}
			if got := w.simulate().of(t, "web-5d").Missing; got != tt.want {
				t.Errorf("pending %v, want %v", got, tt.want)
			}
		})
	}
}

func TestOpenClaims_aPreemptedPodReturnsItsVolume(t *testing.T) {
	t.Parallel()
	w := threeNodes()
	for _, name := range []string{"n2", "n3"} {
		w.Nodes[name] = labelled(having(node(name), 1, 8), "node", name)
	}
	w.owns("low", "static").run(pod("low", "n1", ephemeralVolume, asking(1, 1), ownedBy("StatefulSet", "low"))).run(
		other("high", "n1", asking(1, 1), priority(9)), other("higher", "n1", asking(1, 1), priority(9))).volume("a", "n2", 1)
	sim := newSimulation(New(w.Snapshot, gone("n1"), false), w.evictAll("n1"))
	for order := range Orders {
		sim.run(1, order)
		used := 0
		for _, r := range sim.replacements {
			if r.pod.Name == "low" && r.node >= 0 {
				used++
			}
		}
		if len(sim.used.volumes) != used {
			t.Fatalf("order %d: %d volumes are used, %d pods have one", order, len(sim.used.volumes), used)
		}
	}
}

func TestFreeVolume_matchesARequest(t *testing.T) {
	t.Parallel()
	rwo, rwx := corev1.ReadWriteOnce, corev1.ReadWriteMany
	volume := func() *snapshot.FreeVolume {
		return &snapshot.FreeVolume{Class: "fast", Size: 10, Modes: []corev1.PersistentVolumeAccessMode{rwo}, Labels: labels.Set{"tier": "gold"}, Attributes: "v", Block: true}
	}
	request := func() *snapshot.ClaimRequest {
		return &snapshot.ClaimRequest{Class: "fast", Size: 10, Modes: []corev1.PersistentVolumeAccessMode{rwo}, Attributes: "v", Block: true}
	}
	for name, tt := range map[string]struct {
		change func(v *snapshot.FreeVolume, r *snapshot.ClaimRequest)
		fits   bool
	}{
		"all is equal":              {change: func(*snapshot.FreeVolume, *snapshot.ClaimRequest) {}, fits: true},
		"a larger volume":           {change: func(v *snapshot.FreeVolume, _ *snapshot.ClaimRequest) { v.Size++ }, fits: true},
		"a smaller volume":          {change: func(v *snapshot.FreeVolume, _ *snapshot.ClaimRequest) { v.Size-- }},
		"another class":             {change: func(v *snapshot.FreeVolume, _ *snapshot.ClaimRequest) { v.Class = "slow" }},
		"another volume mode":       {change: func(v *snapshot.FreeVolume, _ *snapshot.ClaimRequest) { v.Block = false }},
		"other attributes":          {change: func(v *snapshot.FreeVolume, _ *snapshot.ClaimRequest) { v.Attributes = "" }},
		"an access mode more":       {change: func(v *snapshot.FreeVolume, _ *snapshot.ClaimRequest) { v.Modes = append(v.Modes, rwx) }, fits: true},
		"an access mode that lacks": {change: func(_ *snapshot.FreeVolume, r *snapshot.ClaimRequest) { r.Modes = append(r.Modes, rwx) }},
		"a selector that matches": {change: func(_ *snapshot.FreeVolume, r *snapshot.ClaimRequest) {
			r.Selector = labels.SelectorFromSet(labels.Set{"tier": "gold"})
		}, fits: true},
		"a selector that does not": {change: func(_ *snapshot.FreeVolume, r *snapshot.ClaimRequest) {
			r.Selector = labels.SelectorFromSet(labels.Set{"tier": "tin"})
		}},
		"a volume of another claim's": {change: func(v *snapshot.FreeVolume, _ *snapshot.ClaimRequest) { v.For = "app/other" }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v, r := volume(), request()
			tt.change(v, r)
			if fits := v.Matches(r); fits != tt.fits {
				t.Errorf("matches %t, want %t", fits, tt.fits)
			}
		})
	}
}
