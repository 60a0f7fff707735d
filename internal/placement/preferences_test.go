// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package placement

import (
	"testing"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

// prefersPods and prefersSpread are preferences about other pods.
func prefersPods(p *snapshot.Pod)   { p.PrefersPods = true }
func prefersSpread(p *snapshot.Pod) { p.PrefersSpread = true }

// TestSimulate_namesPreferencesAboutPodsWhereTheyMatter: where the outcome rests on the orders that were tried, and is not
// that all pods fit. The pods that prefer may be others than those that are Pending.
func TestSimulate_namesPreferencesAboutPodsWhereTheyMatter(t *testing.T) {
	t.Parallel()
	// Two nodes of four cores: of a pod of three cores and four of one, how many fit depends on the order.
	tight := func(options ...podOption) world {
		w := newWorld(having(node("n1"), 20, 20), having(node("n2"), 4, 20), having(node("n3"), 4, 20))
		w = w.run(replicas("large", "n1", 1, asking(3, 1), scored(3, 1))...)
		return w.run(replicas("small", "n1", 4, append([]podOption{asking(1, 1), scored(1, 1)}, options...)...)...)
	}
	roomy := func(cores int64, options ...podOption) world {
		w := newWorld(having(node("n1"), 20, 20), having(node("n2"), cores, 20), having(node("n3"), cores, 20))
		return w.run(replicas("small", "n1", 4, append([]podOption{asking(1, 1), scored(1, 1)}, options...)...)...)
	}
	port := func(p *snapshot.Pod) {
		p.Rules = &snapshot.PodRules{Ports: []snapshot.HostPort{{IP: "0.0.0.0", Protocol: "TCP", Port: 80}}}
	}
	forbidden := func(p *snapshot.Pod) { p.Scheduling.Forbidden = p.Scheduling.Tolerations }
	for name, tt := range map[string]struct {
		world  world
		unsure bool
		want   int
	}{
		"no preference":                             {world: tight()},
		"a range, and preferred pod affinity":       {world: tight(prefersPods), want: 4},
		"a range, and a spread with ScheduleAnyway": {world: tight(prefersSpread), want: 4},
		"all fit, as is proved":                     {world: roomy(9, prefersPods)},
		"none fits, as is proved":                   {world: roomy(0, prefersPods)},
		"none fits if it is evicted, as is proved":  {world: roomy(0, prefersPods), unsure: true},
		"as many fit as is proved":                  {world: roomy(1, prefersPods)},
		"all fit in the orders that were tried":     {world: roomy(9, prefersPods).run(replicas("web", "n1", 1, asking(1, 1), port)...)},
		"pods that one node alone takes":            {world: tight(prefersPods, selecting("kubernetes.io/hostname", "n2"))},
		"pods that are not made":                    {world: tight().run(replicas("barred", "n1", 2, asking(1, 1), prefersPods, tolerating(exists("a", "")), forbidden)...)},
		"pods that were Pending before":             {world: tight().waiting("job", 2, asking(1, 1), scored(1, 1), prefersPods), want: 2},
		// Two of three are preempted, and chance decides which.
		"pods of a higher priority that preempt": {world: roomy(4, priority(9)).run(replicas("victim", "n2", 3, asking(1, 1), scored(1, 1), prefersPods)...).run(replicas("other", "n3", 3, asking(1, 1), scored(1, 1), priority(9))...), want: 3},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			evicted := tt.world.evictAll("n1")
			for i := range evicted {
				evicted[i].Unsure = tt.unsure
			}
			out := New(tt.world.Snapshot, gone("n1"), false).Simulate(evicted, Orders, 1)
			if len(out.Preferring) != tt.want {
				t.Errorf("preferences of %d pods are named, want %d; Pending %v, preempted %v", len(out.Preferring), tt.want, out.Pending, out.Preempted)
			}
			if both := Join(out, out); len(both.Preferring) != 2*tt.want {
				t.Errorf("two steps name %d", len(both.Preferring))
			}
		})
	}
}
