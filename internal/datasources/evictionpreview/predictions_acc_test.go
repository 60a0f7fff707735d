// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package evictionpreview_test

import (
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
)

const (
	// fewSeeds is how many random clusters "make test" tries, and manySeeds how many it
	// takes until every kind of pod must have come up.
	fewSeeds, manySeeds = 8, 40

	// window is how long a cluster is watched after the change, at least.
	// Tolerations that last longer must not have run out by then.
	window = 7 * time.Second

	// patience is how much longer it is watched where pods that were predicted to
	// leave within the window are still there.
	patience = time.Minute

	// slack is how far a deletion may be from the moment that was predicted,
	// counted from the write: the controller's queue, not the verdict. What all
	// pods of a cluster are late by does not count: that is a busy machine.
	slack = 3 * time.Second
)

// TestAccPredictions makes random clusters, asks the data source what a change
// of taints will do, makes the change with the resource, and watches what the
// real taint-eviction controller then does. A seed is replayed with
// make test-predictions SEED=17.
func TestAccPredictions(t *testing.T) {
	t.Parallel()
	c := acctest.Connect(t)
	acctest.NeedKwok(t, "thousands of pods, in phases of the test's choice")
	var mu sync.Mutex
	tally, clusters := map[string]int{}, 0
	eachSeed(t, everySeed, func(t *testing.T, seed int) {
		w := newWorld(t, c, uint64(seed))
		counts := w.predictAndWatch()
		mu.Lock()
		defer mu.Unlock()
		clusters++
		for what, n := range counts {
			tally[what] += n
		}
	})
	t.Cleanup(func() {
		t.Logf("%d clusters: %v", clusters, tally)
		if clusters < manySeeds || t.Failed() {
			return
		}
		verdicts := []string{"stays", "evicted_now", "evicted_after"}
		pods := tally["unknown"]
		for _, verdict := range verdicts {
			pods += tally[verdict]
		}
		for _, what := range slices.Concat(verdicts, kinds) {
			if tally[what] == 0 {
				t.Errorf("%q never came up: the test shows nothing about it", what)
			}
		}
		if pods < 15*clusters || tally["unknown"]*4 > pods {
			t.Errorf("%d of %d pods in %d clusters were not predicted: the test shows little", tally["unknown"], pods, clusters)
		}
	})
}

// chosenSeeds returns the seeds to try: those of KUBETAINT_SEEDS, such as 40-80, which
// leaves out 80, or a fixed part of them.
func chosenSeeds(t *testing.T) (first, end int) {
	t.Helper()
	if given := os.Getenv("KUBETAINT_SEEDS"); given != "" {
		if n, err := fmt.Sscanf(given, "%d-%d", &first, &end); n != 2 || first >= end {
			t.Fatalf("KUBETAINT_SEEDS is %q, want a range such as 0-40: %v", given, err)
		}
		return first, end
	}
	if acctest.All() {
		return 0, manySeeds
	}
	return 0, fewSeeds
}

// everySeed has eachSeed leave out none of those that are chosen.
const everySeed = math.MaxInt32

// eachSeed runs a test for each of the seeds that are chosen, of so many at most, in parallel.
func eachSeed(t *testing.T, most int, test func(t *testing.T, seed int)) {
	t.Helper()
	first, end := chosenSeeds(t)
	t.Run("seeds", func(t *testing.T) {
		t.Parallel()
		for n := range min(end-first, most) {
			seed := first + n
			t.Run(fmt.Sprintf("seed_%d", seed), func(t *testing.T) {
				t.Parallel()
				test(t, seed)
			})
		}
	})
}

// kinds is what comes up in the random clusters, each of which the controller treats
// in a way of its own.
var kinds = []string{
	"several NoExecute taints at once", "another value of a taint that stands", "a taint that comes while a countdown runs",
	"pods of DaemonSets", "pods of DaemonSets with another template", "completed pods", "pods that are going already", "mirror pods",
	"tolerationSeconds below zero", "tolerationSeconds zero", "tolerationSeconds that end meanwhile", "tolerationSeconds that do not", "no tolerationSeconds",
	"Exists without a key", "an empty effect", "several tolerations for one taint",
}

// prediction is what the data source said of a pod.
type prediction struct {
	verdict string
	after   time.Duration
	reason  string
}

// predictAndWatch is the test of one world. It returns how many pods got each verdict,
// and how often each of the kinds came up.
func (w *world) predictAndWatch() map[string]int {
	w.t.Helper()
	w.settle()
	provider := w.c.Provider(w.t)
	tf := &acctest.Terraform{Provider: provider}
	selector, change := "world="+w.label, w.change()
	for _, name := range w.nodes {
		current := w.c.Get(w.t, name).Spec.Taints
		w.unchanged[name] = !slices.ContainsFunc(change, func(one any) bool {
			object := one.(map[string]any)
			at := taint.Find(current, taint.ID{Key: fmt.Sprint(object["key"]), Effect: corev1.TaintEffect(fmt.Sprint(object["effect"]))})
			return at < 0 || current[at].Value != object["value"]
		})
	}
	counts := w.count(change)
	// Pods of a DaemonSet come and go: those that the preview saw were there
	// right before it or are right after it.
	w.before = w.noteLimited()
	noted := w.followLimited()
	predicted := w.predict(tf, selector, change)
	noted()
	w.noteLimited()
	w.compareReadings(selector, change)
	counts["plans for a node that say nothing"] = w.silent
	deletions := w.watch()
	config := map[string]any{"node_selector": selector, "taints": change, "on_conflict": "adopt", "evictions": map[string]any{"stranded": "evict"}}
	i := &acctest.Instance{Type: "kubetaint_node_taints"}
	planned := tf.Plan(w.t, i, config)
	if e := planned.Diagnostics.Errors(); e != "" {
		w.t.Fatal(e)
	}
	w.wantTold(planned.Diagnostics, predicted)
	start := time.Now()
	if d := tf.Carry(w.t, i, planned, config); d.Errors() != "" {
		w.t.Fatal(d.Errors())
	}
	// The write is somewhere between: a busy machine may need a while for it.
	written := time.Now()
	seen := deletions(written.Add(window), w.expected(predicted))
	watched := time.Since(written)
	late := w.sharedLag(predicted, seen, written)
	for name, p := range predicted {
		counts[p.verdict]++
		deleted, gone := seen[name]
		after := departure{sinceBefore: deleted.Sub(start), sinceWritten: deleted.Sub(written), shared: late, watched: watched}
		switch p.verdict {
		case "stays":
			counting := w.limited[name] && strings.Contains(p.reason, "that countdown has started: this change does not affect it")
			if gone && !counting {
				w.t.Errorf("pod %s was predicted to stay (%s), and was deleted after %s", name, p.reason, after.sinceWritten)
			}
		case "evicted_now", "evicted_after":
			w.expectDeleted(name, p, gone, after)
		case "unknown":
			if !w.limited[name] {
				w.t.Errorf("pod %s got the verdict unknown (%s), and no toleration of it for a NoExecute taint that was on its node before is limited", name, p.reason)
			}
		default:
			w.t.Errorf("pod %s got the verdict %q", name, p.verdict)
		}
	}
	for name := range seen {
		if _, ok := predicted[name]; !ok && w.before[name] && !w.unchanged[w.nodeOf(name)] {
			w.t.Errorf("pod %s was deleted and is not in the preview", name)
		}
	}
	return counts
}

// noteLimited notes which pods tolerate a taint of their node for a limited
// time, where the first toleration that matches decides. It returns the names of
// all pods that are there.
func (w *world) noteLimited() map[string]bool {
	w.t.Helper()
	pods, err := w.c.Admin.CoreV1().Pods(w.namespace).List(w.t.Context(), metav1.ListOptions{})
	if err != nil {
		w.t.Fatal(err)
	}
	taints, there := w.standing(), map[string]bool{}
	for i := range pods.Items {
		there[pods.Items[i].Name] = true
		w.note(&pods.Items[i], taints)
	}
	return there
}

// standing returns the taints of the nodes.
func (w *world) standing() map[string][]corev1.Taint {
	w.t.Helper()
	taints := map[string][]corev1.Taint{}
	for _, name := range w.nodes {
		taints[name] = w.c.Get(w.t, name).Spec.Taints
	}
	return taints
}

func (w *world) note(p *corev1.Pod, taints map[string][]corev1.Taint) {
	for _, one := range taints[p.Spec.NodeName] {
		at := taint.FirstMatch(p.Spec.Tolerations, one, false)
		if one.Effect == corev1.TaintEffectNoExecute && at >= 0 && p.Spec.Tolerations[at].TolerationSeconds != nil {
			w.limited[p.Name] = true
		}
	}
}

// followLimited does the same for pods that come meanwhile, until the function that it
// returns is called: one that a DaemonSet's controller makes, and that is evicted
// immediately, may be in the preview alone.
func (w *world) followLimited() func() {
	w.t.Helper()
	taints := w.standing()
	watcher, err := w.c.Admin.CoreV1().Pods(w.namespace).Watch(w.t.Context(), metav1.ListOptions{})
	if err != nil {
		w.t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for event := range watcher.ResultChan() {
			if p, ok := event.Object.(*corev1.Pod); ok {
				w.note(p, taints)
			}
		}
	}()
	return func() {
		watcher.Stop()
		<-ended
	}
}

// expected names the pods that must leave while the cluster is watched.
func (w *world) expected(predicted map[string]prediction) []string {
	var names []string
	for name, p := range predicted {
		if p.leaves() && !w.endedBefore(name) {
			names = append(names, name)
		}
	}
	return names
}

// leaves reports that a pod was predicted to leave within the window.
func (p prediction) leaves() bool {
	return (p.verdict == "evicted_now" || p.verdict == "evicted_after") && p.after <= window-slack
}

// endedBefore reports that an old countdown of a pod ended between the preview and the
// change.
func (w *world) endedBefore(name string) bool {
	return !w.there[name] && w.limited[name]
}

// sharedLag returns what the evicted pods were late by at least. Pods whose old
// countdown may have ended first say nothing about it. That the answer to the change
// took a while, so that all seem to be early, excuses none.
func (w *world) sharedLag(predicted map[string]prediction, seen map[string]time.Time, written time.Time) time.Duration {
	var lags []time.Duration
	for name, p := range predicted {
		if deleted, gone := seen[name]; gone && p.leaves() && !w.limited[name] {
			lags = append(lags, deleted.Sub(written)-p.after)
		}
	}
	if len(lags) == 0 {
		return 0
	}
	return max(slices.Min(lags), 0)
}

// departure is when a pod was gone, counted from before the change was written and
// from when it surely was, what all pods were late by, and how long they were watched.
type departure struct {
	sinceBefore, sinceWritten, shared, watched time.Duration
}

// expectDeleted holds a pod that was predicted to leave against when it left.
func (w *world) expectDeleted(name string, p prediction, gone bool, after departure) {
	w.t.Helper()
	if !p.leaves() {
		if gone {
			w.t.Errorf("pod %s was predicted to leave after %s, and left after %s", name, p.after, after.sinceWritten)
		}
		return
	}
	if w.endedBefore(name) {
		return
	}
	if !gone {
		w.t.Errorf("pod %s was predicted %s after %s (%s), and is still there after %s", name, p.verdict, p.after, p.reason, after.watched)
	} else if after.sinceWritten-after.shared > p.after+slack || after.sinceBefore < p.after-time.Second/2 && !w.limited[name] {
		// An old countdown may end first.
		w.t.Errorf("pod %s was predicted to leave after %s, and left %s after the write began and %s after it was done, where all left %s late", name, p.after, after.sinceBefore, after.sinceWritten, after.shared)
	}
}

// change returns the taints to write, one to three of them.
func (w *world) change() []any {
	var out []any
	for _, one := range w.taints(1 + w.r.IntN(3)) {
		out = append(out, map[string]any{"key": one.Key, "value": one.Value, "effect": string(one.Effect)})
	}
	return out
}

// predict asks the data source.
func (w *world) predict(tf *acctest.Terraform, selector string, change []any) map[string]prediction {
	w.t.Helper()
	preview, d := tf.Data(w.t, "kubetaint_eviction_preview", map[string]any{"node_selector": selector, "taints": change, "include_unaffected": true})
	if d.Errors() != "" {
		w.t.Fatal(d.Errors())
	}
	out := map[string]prediction{}
	for _, one := range preview["pods"].([]any) {
		pod := one.(map[string]any)
		p := prediction{verdict: fmt.Sprint(pod["verdict"]), reason: fmt.Sprint(pod["reason"])}
		if seconds, ok := pod["after_seconds"].(int64); ok {
			p.after = time.Duration(seconds) * time.Second
		}
		out[fmt.Sprint(pod["name"])] = p
	}
	return out
}
