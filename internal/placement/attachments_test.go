// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package placement

import (
	"fmt"
	"testing"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

// attaching binds claims of namespace "app" to volumes of a driver, of which nodes n2 and n3 attach so many.
func (w world) attaching(driver string, n2, n3 int64, claims ...string) world {
	if w.Attachments == nil {
		w.Attachments = &snapshot.Attachments{Volumes: map[string]map[string]*snapshot.CSIVolume{"app": {}}, Limits: map[string]map[string]int64{"n2": {}, "n3": {}}, Unattached: map[string]bool{}}
	}
	w.Attachments.Limits["n2"][driver], w.Attachments.Limits["n3"][driver] = n2, n3
	for _, claim := range claims {
		w.Attachments.Volumes["app"][claim] = &snapshot.CSIVolume{Driver: driver, Handle: claim}
	}
	return w
}

// mounting has a driver whose volumes are mounted without being attached.
func (w world) mounting(driver string) world {
	w.Attachments.Unattached[driver] = true
	return w
}

// requiring lets only some nodes have a driver without which they take no pods with its volumes.
func (w world) requiring(driver string, nodes ...string) world {
	w.Attachments.Having = map[string]map[string]bool{driver: {}}
	for _, name := range nodes {
		w.Attachments.Having[driver][name] = true
	}
	return w
}

func TestAttachments_aNodeAttachesSoManyVolumesOfADriver(t *testing.T) {
	t.Parallel()
	three := func() world {
		return newWorld(having(node("n1"), 8, 8), having(node("n2"), 8, 8), having(node("n3"), 8, 8))
	}
	// db are the pods of a workload with a volume each, or with a shared one.
	db := func(shared string, options ...podOption) []*snapshot.Pod {
		var out []*snapshot.Pod
		for i := range 3 {
			claim := fmt.Sprintf("data-%d", i)
			if shared != "" {
				claim = shared
			}
			out = append(out, pod(fmt.Sprintf("p%d", i), "n1", append([]podOption{claiming(claim), asking(1, 1)}, options...)...))
		}
		return out
	}
	own := []string{"data-0", "data-1", "data-2", "held"}
	held := other("q", "n2", claiming("held"), asking(1, 1))
	for name, tt := range map[string]struct {
		world   world
		missing Range
		reason  string
	}{
		"each node attaches one more":           {three().attaching("ebs", 1, 1, own...).run(db("")...), Range{1, 1}, "2 attach no more volumes of ebs, 1 is tainted gone:NoExecute"},
		"a pod that stays has one":              {three().attaching("ebs", 1, 1, own...).run(db("")...).run(held), Range{2, 2}, "2 attach no more volumes of ebs, 1 is tainted gone:NoExecute"},
		"there is room for all":                 {world: three().attaching("ebs", 2, 1, own...).run(db("")...)},
		"a node attaches none at all":           {three().attaching("ebs", 0, 0, own...).run(db("")...), Range{3, 3}, "2 attach no more volumes of ebs, 1 is tainted gone:NoExecute"},
		"pods of one node share a volume":       {world: three().attaching("ebs", 1, 0, own...).run(db("data-0")...)},
		"a limit of another driver":             {world: three().attaching("ebs", 9, 9, own...).attaching("nfs", 0, 0).run(db("")...)},
		"a pod of lower priority keeps its one": {three().attaching("ebs", 1, 1, own...).run(db("", priority(9))...).run(other("q", "n2", claiming("held"), asking(1, 1))), Range{2, 2}, "2 attach no more volumes of ebs, 1 is tainted gone:NoExecute"},
		"unless volumes are not attached":       {world: three().attaching("ebs", 1, 1, own...).mounting("ebs").run(db("", priority(9))...).run(other("q", "n2", claiming("held"), asking(1, 1))), missing: Range{1, 1}, reason: "2 attach no more volumes of ebs, 1 is tainted gone:NoExecute"},
		"nodes without the driver that must be": {three().attaching("ebs", 9, 9, own...).requiring("ebs", "n3").run(db("", asking(4, 4))...), Range{1, 1}, "1 is tainted gone:NoExecute, 1 lacks memory (needs 4Gi, none free), 1 lacks the CSI driver ebs"},
		"a driver that need not be there":       {world: three().attaching("ebs", 9, 9, own...).requiring("other").run(db("", asking(4, 4))...)},
		"a pod that terminates gives its place": {world: three().attaching("ebs", 2, 1, own...).run(db("")...).run(other("q", "n2", claiming("held"), asking(1, 1), terminating))},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := tt.world.simulate().of(t, "web-5d")
			if got.Missing != tt.missing || got.Reason != tt.reason {
				t.Errorf("pending %v, reason %q", got.Missing, got.Reason)
			}
		})
	}
}

func TestAttachments_areUnknownWhereLimitsWereNotRead(t *testing.T) {
	t.Parallel()
	for name, claims := range map[string][]string{"with a CSI volume": {"data"}, "without one": nil} {
		w := newWorld(node("n1"), node("n2")).run(pod("p", "n1", claiming(claims...)))
		w.Attachments = &snapshot.Attachments{Volumes: map[string]map[string]*snapshot.CSIVolume{"app": {"data": {Driver: "ebs"}}}}
		if out := w.simulate(); out.UnknownVolumeLimits != (claims != nil) || out.Missing != (Range{}) {
			t.Errorf("%s: unknown %t, pending %v", name, out.UnknownVolumeLimits, out.Missing)
		}
	}
}

func TestAttachments_aNewPodSharesTheVolumeOfTheOneBesideIt(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		claim   string
		missing Range
	}{
		"the same claim":       {"data", Range{}},
		"a claim that is new":  {"other", Range{1, 1}},
		"no claim of a volume": {"unbound", Range{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			old := pod("p", "n2", claiming("data"), asking(1, 1))
			w := newWorld(having(node("n2"), 8, 8)).attaching("ebs", 1, 0, "data", "other").run(old)
			next := *old
			next.Node, next.Claims = "", []string{tt.claim}
			if got := New(w.Snapshot, Scenario{}, false).Simulate([]Eviction{{Pod: &next, Scheduling: old.Scheduling, Surplus: true}}, Orders, 1); got.Missing != tt.missing {
				t.Errorf("missing %v of %+v", got.Missing, got.Workloads)
			}
		})
	}
}

// A node takes a pod again that tolerates its taint. While the volume of the old pod is not detached, the one of the new pod is one
// more.
func TestAttachments_ofPodsThatAreGoneCountUntilTheyAreDetached(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		limit     int64
		mounted   bool
		preempted Range
	}{
		"the node attaches one":         {limit: 1, preempted: Range{0, 1}},
		"the node attaches two":         {limit: 2},
		"the volume needs no attaching": {limit: 1, mounted: true},
	} {
		web := []podOption{asking(1, 1), priority(10), claiming("data")}
		w := newWorld(having(node("n1"), 8, 8), having(node("n2"), 2, 8), having(node("n3"), 1, 8)).attaching("ebs", 9, 9, "data").
			run(replicas("web", "n1", 1, web...)...).run(pod("web-1", "n3", append(web, ownedBy("ReplicaSet", "web"))...)).run(replicas("low", "n2", 1, asking(2, 1))...)
		w.Attachments.Limits["n1"] = map[string]int64{"ebs": tt.limit}
		if tt.mounted {
			w.mounting("ebs")
		}
		if out := w.again(); out.Preempted != tt.preempted || out.of(t, "web").Missing != exactly(0) {
			t.Errorf("%s: preempted %v, %+v", name, out.Preempted, out.Workloads)
		}
	}
}
