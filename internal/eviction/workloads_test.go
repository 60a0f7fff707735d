// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package eviction

import (
	"fmt"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/toleration"
)

// told writes a length of time and whether it is certain.
func told(lasts int64, uncertain bool) string {
	out := fmt.Sprintf("%d s", lasts)
	switch lasts {
	case toleration.Untolerated:
		out = "no"
	case toleration.Forever:
		out = "for ever"
	}
	if uncertain {
		out += "?"
	}
	return out
}

// answered writes an answer in a line: how long, by which, instead of which.
func answered(a TaintAnswer) string {
	out := taint.Format(a.Taint) + " " + told(a.Lasts, a.Uncertain)
	if a.Toleration != nil {
		out += " by " + taint.FormatToleration(*a.Toleration)
	}
	for _, s := range a.Shadowed {
		out += ", not " + taint.FormatToleration(s)
	}
	return out
}

func everyPod(*snapshot.Pod) bool { return true }

func TestAnswers_ofOneList(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name        string
		tolerations []corev1.Toleration
		taint       string
		comparison  Comparison
		want        string
	}{
		{name: "without a toleration a taint is not tolerated", taint: "a=1:NoExecute", want: "a=1:NoExecute no"},
		{name: "a toleration of another value does not match", taint: "a=1:NoExecute", tolerations: []corev1.Toleration{equal("a", "2", noEx)}, want: "a=1:NoExecute no"},
		{name: "a toleration without seconds lasts for ever", taint: "a=1:NoExecute", tolerations: []corev1.Toleration{equal("a", "1", noEx)}, want: "a=1:NoExecute for ever by a=1:NoExecute"},
		{name: "a limited one lasts for its seconds", taint: "a:NoExecute", tolerations: []corev1.Toleration{lasting(exists("a", noEx), 60)}, want: "a:NoExecute 60 s by a Exists:NoExecute for 60s"},
		{name: "zero seconds are a toleration all the same", taint: "a:NoExecute", tolerations: []corev1.Toleration{lasting(exists("a", noEx), 0)}, want: "a:NoExecute 0 s by a Exists:NoExecute for 0s"},
		{name: "less than zero is zero", taint: "a:NoExecute", tolerations: []corev1.Toleration{lasting(exists("a", noEx), -5)}, want: "a:NoExecute 0 s by a Exists:NoExecute for -5s"},
		{
			// The controller counts in nanoseconds, where this turns negative: for ever.
			name: "more seconds than the controller can count are for ever", taint: "a:NoExecute",
			tolerations: []corev1.Toleration{lasting(exists("a", noEx), math.MaxInt64), exists("a", noEx)},
			want:        fmt.Sprintf("a:NoExecute for ever by a Exists:NoExecute for %ds", int64(math.MaxInt64)),
		},
		{
			name: "the first match decides, and later ones that would last longer are shadowed", taint: "a=1:NoExecute",
			tolerations: []corev1.Toleration{lasting(equal("b", "1", noEx), 9), lasting(exists("a", noEx), 60), lasting(equal("a", "1", noEx), 30), lasting(equal("a", "1", noEx), 90), equal("a", "2", noEx), exists("", "")},
			want:        "a=1:NoExecute 60 s by a Exists:NoExecute for 60s, not a=1:NoExecute for 90s, not Exists",
		},
		{name: "the same twice is shadowed once", taint: "a:NoExecute", tolerations: []corev1.Toleration{lasting(exists("a", noEx), 1), exists("a", noEx), exists("a", noEx)}, want: "a:NoExecute 1 s by a Exists:NoExecute for 1s, not a Exists:NoExecute"},
		{name: "zero and less last equally long", taint: "a:NoExecute", tolerations: []corev1.Toleration{lasting(exists("a", noEx), -5), lasting(exists("a", noEx), 0)}, want: "a:NoExecute 0 s by a Exists:NoExecute for -5s"},
		{name: "nothing is shadowed by what lasts for ever", taint: "a:NoExecute", tolerations: []corev1.Toleration{exists("a", noEx), exists("", "")}, want: "a:NoExecute for ever by a Exists:NoExecute"},
		{name: "NoSchedule is tolerated for ever or not at all", taint: "a:NoSchedule", tolerations: []corev1.Toleration{lasting(exists("a", noEx), 60), exists("a", "")}, want: "a:NoSchedule for ever by a Exists"},
		{name: "PreferNoSchedule is a taint like the others", taint: "a:PreferNoSchedule", want: "a:PreferNoSchedule no"},
		{name: "where the gate is off, Lt matches nothing", taint: "a=5:NoExecute", comparison: ComparisonOff, tolerations: []corev1.Toleration{lessThan("a", "9")}, want: "a=5:NoExecute no"},
		{name: "where the gate is on, Lt matches", taint: "a=5:NoExecute", comparison: ComparisonOn, tolerations: []corev1.Toleration{lessThan("a", "9")}, want: "a=5:NoExecute for ever by a<9:NoExecute"},
		{name: "where nothing is known of the gate, the answer is uncertain and the worse one", taint: "a=5:NoExecute", tolerations: []corev1.Toleration{lessThan("a", "9")}, want: "a=5:NoExecute no?"},
		{
			name: "the worse answer may be that of the gate that is on", taint: "a=5:NoExecute",
			tolerations: []corev1.Toleration{lasting(greaterThan("a", "1"), 10), exists("a", noEx)},
			want:        "a=5:NoExecute 10 s? by a>1:NoExecute for 10s, not a Exists:NoExecute",
		},
		{name: "a comparison that makes no difference leaves the answer certain", taint: "a=5:NoExecute", tolerations: []corev1.Toleration{lessThan("a", "2"), exists("a", noEx)}, want: "a=5:NoExecute for ever by a Exists:NoExecute"},
		{name: "a comparison that only changes which one decides leaves it certain, too", taint: "a=5:NoExecute", tolerations: []corev1.Toleration{lessThan("a", "9"), exists("a", noEx)}, want: "a=5:NoExecute for ever by a Exists:NoExecute"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld().run(pod("p", "n", tolerating(tt.tolerations...)))
			got := Answers(w.Snapshot, taintsOf(tt.taint), everyPod, tt.comparison)
			if len(got) != 1 || len(got[0].Taints) != 1 {
				t.Fatalf("got %v, want one answer", got)
			}
			if diff := cmp.Diff(tt.want, answered(got[0].Taints[0])); diff != "" {
				t.Error(diff)
			}
			if one := got[0].Taints[0]; got[0].Lasts != one.Lasts || got[0].Uncertain != one.Uncertain {
				t.Errorf("the whole is %s, but its only taint %s", told(got[0].Lasts, got[0].Uncertain), told(one.Lasts, one.Uncertain))
			}
		})
	}
}

func TestAnswers_rolledUp(t *testing.T) {
	t.Parallel()
	later := lasting(exists("a", noEx), 60)
	waits := func(p *snapshot.Pod) { p.Node = "" }
	in := func(namespace string) podOption { return func(p *snapshot.Pod) { p.Namespace = namespace } }
	tests := []struct {
		name   string
		pods   []*snapshot.Pod
		taints []string
		// want has a line for each workload: who, how many pods, and the whole;
		// then its taints.
		want []string
	}{
		{
			name: "pods are rolled up to the top owner, sorted by namespace, kind and name", taints: []string{"a:NoExecute"},
			pods: []*snapshot.Pod{
				pod("z", "n1", bare), pod("w1", "n1", tolerating(later)), pod("w2", "n2", tolerating(later)), pod("d", "n1", ownedBy("DaemonSet", "d")),
				pod("b", "n1", bare), pod("s", "n1", in("aaa"), ownedBy("StatefulSet", "s")), pod("static", "n1", ownedBy("Node", "n1"), tolerating(exists("", noEx))),
			},
			want: []string{
				"aaa StatefulSet/s 1: no; a:NoExecute no",
				"app DaemonSet/d 1: no; a:NoExecute no",
				"app Deployment/web 2: 60 s; a:NoExecute 60 s by a Exists:NoExecute for 60s",
				"app Node/n1 1: for ever; a:NoExecute for ever by Exists:NoExecute",
				"app Pod/b 1: no; a:NoExecute no",
				"app Pod/z 1: no; a:NoExecute no",
			},
		},
		{
			name: "pods that wait for a node count, those that leave or have ended do not", taints: []string{"a:NoExecute"},
			pods: []*snapshot.Pod{pod("p1", "n1"), pod("p2", "", waits), pod("p3", "n1", terminating), pod("p4", "n1", completed), pod("p5", "n1", bare, completed)},
			want: []string{"app Deployment/web 2: no; a:NoExecute no"},
		},
		{
			name: "the whole is the least over all taints", taints: []string{"a:NoExecute", "b:NoExecute", "c:NoSchedule"},
			pods: []*snapshot.Pod{
				pod("p", "n1", bare, tolerating(later, lasting(exists("b", noEx), 30), exists("c", ""))),
				pod("q", "n1", bare, tolerating(later, exists("b", noEx))),
				pod("r", "n1", bare, tolerating(exists("", ""))),
			},
			want: []string{
				"app Pod/p 1: 30 s; a:NoExecute 60 s by a Exists:NoExecute for 60s; b:NoExecute 30 s by b Exists:NoExecute for 30s; c:NoSchedule for ever by c Exists",
				"app Pod/q 1: no; a:NoExecute 60 s by a Exists:NoExecute for 60s; b:NoExecute for ever by b Exists:NoExecute; c:NoSchedule no",
				"app Pod/r 1: for ever; a:NoExecute for ever by Exists; b:NoExecute for ever by Exists; c:NoSchedule for ever by Exists",
			},
		},
		{
			name: "of each taint the least tolerant pod answers", taints: []string{"a:NoExecute", "b:NoExecute"},
			pods: []*snapshot.Pod{
				pod("p1", "n1", tolerating(exists("a", noEx), lasting(exists("b", noEx), 5))),
				pod("p2", "n1", tolerating(lasting(exists("a", noEx), 60), exists("a", noEx), exists("b", noEx))),
			},
			want: []string{"app Deployment/web 2, that differ: 5 s; a:NoExecute 60 s by a Exists:NoExecute for 60s, not a Exists:NoExecute; b:NoExecute 5 s by b Exists:NoExecute for 5s"},
		},
		{
			name: "pods that tolerate equally long by different tolerations differ, and the first by name is told", taints: []string{"a=1:NoExecute"},
			pods: []*snapshot.Pod{pod("p2", "n1", tolerating(exists("a", noEx))), pod("p1", "n2", tolerating(equal("a", "1", noEx)))},
			want: []string{"app Deployment/web 2, that differ: for ever; a=1:NoExecute for ever by a=1:NoExecute"},
		},
		{
			name: "pods that differ in what does not matter here do not differ", taints: []string{"a:NoExecute"},
			pods: []*snapshot.Pod{pod("p1", "n1", tolerating(later)), pod("p2", "n1", tolerating(exists("b", ""), later), selecting("x", "y"))},
			want: []string{"app Deployment/web 2: 60 s; a:NoExecute 60 s by a Exists:NoExecute for 60s"},
		},
		{
			// b is not tolerated, whatever the gate.
			name: "the whole is certain where another taint decides it", taints: []string{"a=5:NoExecute", "b:NoExecute"},
			pods: []*snapshot.Pod{pod("p", "n1", tolerating(lessThan("a", "9")))},
			want: []string{"app Deployment/web 1: no; a=5:NoExecute no?; b:NoExecute no"},
		},
		{
			// p2 is without any toleration, so that the gate makes no difference.
			name: "an answer is certain where another pod decides it", taints: []string{"a=5:NoExecute"},
			pods: []*snapshot.Pod{pod("p1", "n1", tolerating(lessThan("a", "9"))), pod("p2", "n1")},
			want: []string{"app Deployment/web 2, that differ: no; a=5:NoExecute no"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld()
			w.Parents["rs-web"] = snapshot.Owner{Group: "apps", Kind: "Deployment", Name: "web"}
			for _, p := range tt.pods {
				if p.Node == "" {
					w.Waiting = append(w.Waiting, p)
				} else {
					w.run(p)
				}
			}
			var got []string
			for _, a := range Answers(w.Snapshot, taintsOf(tt.taints...), everyPod, ComparisonUnknown) {
				line := fmt.Sprintf("%s %s %d", a.Namespace, a.Owner, a.Pods)
				if a.Differ {
					line += ", that differ"
				}
				line += ": " + told(a.Lasts, a.Uncertain)
				for _, one := range a.Taints {
					line += "; " + answered(one)
				}
				got = append(got, line)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestAnswers_asksOnlyPodsThatConcernTheCaller(t *testing.T) {
	t.Parallel()
	w := newWorld().run(pod("p1", "n1"), pod("p2", "n1"), pod("q", "n1", bare))
	got := Answers(w.Snapshot, taintsOf("a:NoExecute"), func(p *snapshot.Pod) bool { return p.Name == "p2" }, ComparisonOff)
	if len(got) != 1 || got[0].Pods != 1 || got[0].String() != "ReplicaSet/web-5d" {
		t.Errorf("got %v, want the one pod of ReplicaSet/web-5d", got)
	}
}
