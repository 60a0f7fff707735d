// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package eviction

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

// TestReport_Judged: of the pods that are preempted or deleted elsewhere, those count whose Jobs, PriorityClasses or volumes were
// not read.
func TestReport_Judged(t *testing.T) {
	t.Parallel()
	named := func(class string) podOption { return func(p *snapshot.Pod) { p.Demand.PriorityClass = class } }
	onN2 := selecting("kubernetes.io/hostname", "n2")
	preempted := func(evicted, other podOption) world {
		return newWorld(having(node("n1"), 9, 9), having(node("n2"), 4, 4)).run(
			pod("web", "n1", asking(4, 4), priority(9), onN2, evicted), pod("low", "n2", ownedBy("StatefulSet", "low"), asking(4, 4), priority(5), other))
	}
	none := func(*snapshot.Pod) {}
	read := preempted(none, named("low"))
	read.PriorityClasses = snapshot.PriorityClasses{"low": {Value: 5}}
	stored := func(p *snapshot.Pod) { p.Claims = []string{"data"} }
	volumes := preempted(none, stored)
	volumes.Storage, volumes.Attachments = &snapshot.Storage{}, &snapshot.Attachments{}
	scratch := func(p *snapshot.Pod) { p.Ephemeral = true }
	attached, ephemeral := preempted(none, stored), preempted(none, scratch)
	attached.Attachments, ephemeral.Attachments = &snapshot.Attachments{}, &snapshot.Attachments{}
	waits := preempted(priority(1), named("low"))
	waits.Waiting = append(waits.Waiting, pod("waits", "", ownedBy("StatefulSet", "waits"), asking(4, 4), priority(9), onN2, pending))
	deleted := preempted(priority(1), named("low"))
	deleted.Pods["n2"][0].Terminating = true
	for name, tt := range map[string]struct {
		world world
		want  string
	}{
		"a Job":                             {aJobIsPreempted(), "api web b"},
		"a Job that was read":               {aJobIsPreempted().job("batch", snapshot.Job{}), "api web"},
		"a PriorityClass":                   {preempted(none, named("low")), "web low"},
		"a PriorityClass of the system":     {preempted(none, named("system-node-critical")), "web"},
		"PriorityClasses that were read":    {read, "web"},
		"no PriorityClass":                  {preempted(none, none), "web"},
		"one that a waiting pod preempts":   {waits, "web low"},
		"a volume":                          {preempted(none, stored), "web low"},
		"a volume, and nothing to learn":    {attached, "web"},
		"an ephemeral volume":               {ephemeral, "web low"},
		"a volume that was read":            {volumes, "web"},
		"one that is deleted anyway":        {deleted, "web low"},
		"classes are read for evicted pods": {preempted(named("high"), named("low")), "web"},
	} {
		var names []string
		for _, p := range Evaluate(tt.world.Snapshot, tainting("n1", "a:NoExecute"), ComparisonOff).Judged() {
			names = append(names, p.Name)
		}
		if got := strings.Join(names, " "); got != tt.want {
			t.Errorf("%s: it has %s, want %s", name, got, tt.want)
		}
	}
	var no *Report
	if no.Judged() != nil {
		t.Error("no report has pods")
	}
}

// TestReport_needsOfNewPods: ResourceQuotas and LimitRanges are read where controllers create pods in the place of evicted
// ones, and LimitRanges alone where pods that stay could not be scheduled again.
func TestReport_needsOfNewPods(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		pod               *snapshot.Pod
		taint             string
		others            *snapshot.Others
		recreates, places bool
	}{
		"a pod is recreated":                    {pod: pod("web", "n1"), taint: "a:NoExecute", recreates: true, places: true},
		"a pod without a controller is evicted": {pod: pod("web", "n1", bare), taint: "a:NoExecute"},
		"a pod tolerates the taint":             {pod: pod("web", "n1", tolerating(corev1.Toleration{Operator: corev1.TolerationOpExists})), taint: "a:NoExecute"},
		"a pod stays":                           {pod: pod("web", "n1"), taint: "a:NoSchedule", places: true},
		"there is none on the node":             {pod: pod("web", "n2"), taint: "a:NoExecute"},
		"others of the run evict pods": {
			pod: pod("web", "n2"), taint: "a:NoSchedule", recreates: true,
			others: &snapshot.Others{Evicted: map[string]map[types.UID]snapshot.Departure{"n2": {"uid": {}}}},
		},
	} {
		s := newWorld(having(node("n1"), 9, 9), having(node("n2"), 4, 4)).run(tt.pod).Beside(tt.others)
		report := Evaluate(s, tainting("n1", tt.taint), ComparisonOff)
		for what, one := range map[string]*Report{"": report, " once joined": Join(report)} {
			if one.Recreates() != tt.recreates || one.Places() != tt.places {
				t.Errorf("%s%s: pods are recreated %t, placed %t", name, what, one.Recreates(), one.Places())
			}
		}
	}
	if none := (*Report)(nil); none.Recreates() || none.Places() {
		t.Error("no report needs anything")
	}
}
