// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package snapshot

import (
	"maps"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/admission"
)

func owned(name, kind string, options ...func(*Pod)) *Pod {
	p := &Pod{Namespace: "app", Name: name, Controller: &Controller{Owner: Owner{Group: "apps", Kind: kind, Name: "web"}, UID: types.UID(kind)}}
	for _, o := range options {
		o(p)
	}
	return p
}

func completed(p *Pod)   { p.Completed = true }
func terminating(p *Pod) { p.Terminating = true }
func mirror(p *Pod)      { p.Mirror = true }
func bare(p *Pod)        { p.Controller = nil }

func names(pods []*Pod) []string {
	var out []string
	for _, p := range pods {
		out = append(out, p.Name)
	}
	return out
}

func TestOwner_isTheTopmostKnown(t *testing.T) {
	t.Parallel()
	s := &Snapshot{Parents: map[types.UID]Owner{"ReplicaSet": {Group: "apps", Kind: "Deployment", Name: "web"}}}
	for name, tt := range map[string]struct {
		pod  *Pod
		want string
	}{
		"a controller with a controller":        {owned("p", "ReplicaSet"), "Deployment/web"},
		"a controller without one":              {owned("p", "StatefulSet"), "StatefulSet/web"},
		"a bare pod has none":                   {owned("p", "ReplicaSet", bare), ""},
		"a mirror pod has none: its node is it": {owned("p", "ReplicaSet", mirror), ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := s.Owner(tt.pod).String(); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestOwnerOf_makesNamesPrintable(t *testing.T) {
	t.Parallel()
	if got := OwnerOf("apps/v1", "Deploy\nment", "web\x1b"); got.Group != "apps" || !clean(got.Kind+got.Name) {
		t.Errorf("got %+q", got)
	}
	if got := OwnerOf("v1", "Node", "n1"); got != (Owner{Kind: "Node", Name: "n1"}) {
		t.Errorf("got %+v", got)
	}
}

func clean(s string) bool {
	for _, r := range s {
		if r < ' ' {
			return false
		}
	}
	return s != ""
}

func TestRunsOnEveryNode(t *testing.T) {
	t.Parallel()
	other := owned("p", "DaemonSet")
	other.Controller.Group = "apps.kruise.io"
	for name, tt := range map[string]struct {
		pod  *Pod
		want bool
	}{
		"a pod of a DaemonSet":              {owned("p", "DaemonSet"), true},
		"a completed pod of a DaemonSet":    {owned("p", "DaemonSet", completed), false},
		"a static pod":                      {owned("p", "Node", mirror), true},
		"a pod of another kind":             {owned("p", "StatefulSet"), false},
		"a pod of a namesake in a group":    {other, false},
		"a pod without a controller at all": {owned("p", "DaemonSet", bare), false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := new(Snapshot).RunsOnEveryNode(tt.pod); got != tt.want {
				t.Errorf("got %t, want %t", got, tt.want)
			}
		})
	}
}

func TestWorkloadPods_areThoseThatRunOrWillRun(t *testing.T) {
	t.Parallel()
	s := &Snapshot{
		Pods: map[string][]*Pod{
			"n1": {owned("c", "StatefulSet"), owned("done", "StatefulSet", completed), owned("going", "StatefulSet", terminating)},
			"n2": {owned("a", "StatefulSet"), owned("other", "Job")},
		},
		Waiting: []*Pod{owned("b", "StatefulSet")},
	}
	web := WorkloadKey{Namespace: "app", Owner: Owner{Group: "apps", Kind: "StatefulSet", Name: "web"}}
	for range 2 { // The second time is out of the index.
		if diff := cmp.Diff([]string{"a", "b", "c"}, names(s.WorkloadPods(web))); diff != "" {
			t.Error(diff)
		}
	}
	elsewhere := web
	elsewhere.Namespace = "prod"
	if got := s.WorkloadPods(elsewhere); len(got) > 0 {
		t.Errorf("pods of another namespace: %v", names(got))
	}
	if diff := cmp.Diff([]string{"a", "b", "c", "other"}, names(s.WorkloadPods(web, WorkloadKey{"app", Owner{"apps", "Job", "web"}}))); diff != "" {
		t.Error(diff)
	}
}

func TestCompare_byNamespaceThenName(t *testing.T) {
	t.Parallel()
	a, b := &Pod{Namespace: "a", Name: "z"}, &Pod{Namespace: "b", Name: "a"}
	c := &Pod{Namespace: "b", Name: "b"}
	if a.Compare(b) >= 0 || b.Compare(a) <= 0 || b.Compare(c) >= 0 || c.Compare(c) != 0 {
		t.Error("the order is not by namespace, then name")
	}
	if got := c.Key(); got != "b/b" {
		t.Errorf("key %q", got)
	}
}

func TestVolumesOf_oneForEachAffinity(t *testing.T) {
	t.Parallel()
	here, there := &corev1.NodeSelector{}, &corev1.NodeSelector{}
	s := &Snapshot{Volumes: map[string]map[string]*Volume{"app": {
		"a": {Name: "pv-a", Affinity: here}, "b": {Name: "pv-b", Affinity: here}, "c": {Name: "pv-c", Affinity: there},
		"d": {Name: "pv-d", Exclusive: true},
	}}}
	for name, tt := range map[string]struct {
		pod  *Pod
		want []string
	}{
		"no claims":                          {&Pod{Namespace: "app"}, nil},
		"a claim that is not bound":          {&Pod{Namespace: "app", Claims: []string{"x"}}, nil},
		"claims with one affinity":           {&Pod{Namespace: "app", Claims: []string{"a", "b"}}, []string{"pv-a"}},
		"claims with two, in their order":    {&Pod{Namespace: "app", Claims: []string{"c", "a"}}, []string{"pv-c", "pv-a"}},
		"claims of that name of a namesake":  {&Pod{Namespace: "prod", Claims: []string{"a"}}, nil},
		"a claim that one pod alone can use": {&Pod{Namespace: "app", Claims: []string{"d"}}, nil},
		"claims beside one that is not read": {&Pod{Namespace: "app", Claims: []string{"x", "a"}}, []string{"pv-a"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got []string
			for _, v := range s.VolumesOf(tt.pod) {
				got = append(got, v.Name)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestExclusiveClaims_areThoseOfTheAccessModeOfOnePod(t *testing.T) {
	t.Parallel()
	s := &Snapshot{Volumes: map[string]map[string]*Volume{"app": {"a": {Exclusive: true}, "b": {Affinity: &corev1.NodeSelector{}}, "c": {Exclusive: true}}}}
	for namespace, want := range map[string][]string{"app": {"c", "a"}, "prod": nil} {
		got := s.ExclusiveClaims(&Pod{Namespace: namespace, Claims: []string{"c", "b", "a", "c", "x"}})
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", namespace, diff)
		}
	}
}

func TestSortedNodes_byName(t *testing.T) {
	t.Parallel()
	s, want := &Snapshot{Nodes: map[string]*Node{}}, strings.Split("abcdefghijklmnopqrst", "")
	for _, name := range want {
		s.Nodes[name] = &Node{Name: name}
	}
	var got []string
	for _, n := range s.SortedNodes() {
		got = append(got, n.Name)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// A snapshot is shared by all resources of a run: what is derived from it must not change it.
func TestWith_leavesTheSnapshotAsItIs(t *testing.T) {
	t.Parallel()
	s := &Snapshot{
		Nodes: map[string]*Node{"a": {Name: "a"}, "b": {Name: "b"}}, Daemons: map[types.UID]*Daemon{"d": {}},
		Pods: map[string][]*Pod{"a": {owned("p", "StatefulSet")}}, Waiting: []*Pod{owned("w", "StatefulSet")},
		Parents: map[types.UID]Owner{"ReplicaSet": {Kind: "Deployment"}}, Budgets: Budgets{"app": nil}, Volumes: map[string]map[string]*Volume{"app": nil},
		Attachments: &Attachments{}, Storage: &Storage{}, Only: map[string]bool{"a": true}, Quotas: Quotas{"app": nil}, LimitRanges: LimitRanges{"app": nil}, PriorityClasses: PriorityClasses{"high": {}}, NamespaceLabels: map[string]labels.Set{"app": nil},
		Ordered: map[WorkloadKey]bool{{}: true}, Jobs: map[types.UID]*Job{"j": {}}, Admission: &admission.Rules{}, Others: &Others{}, Gaps: []string{"gap"}, OwnerGaps: []string{"gap"},
	}
	for field, value := range reflect.ValueOf(s).Elem().Fields() {
		if field.IsExported() && value.IsZero() {
			t.Errorf("%s is not set here, so that this test does not show that it is kept", field.Name)
		}
	}
	before := maps.Clone(s.Nodes)
	cordoned, hostNetwork := &Node{Name: "a", Unschedulable: true}, &Daemon{HostNetwork: true}
	next := s.With(map[string]*Node{"a": cordoned}, map[types.UID]*Daemon{"d": hostNetwork})
	if next.Nodes["a"] != cordoned || next.Nodes["b"] != s.Nodes["b"] || next.Daemons["d"] != hostNetwork {
		t.Error("the other nodes and templates are not there")
	}
	if diff := cmp.Diff(before, s.Nodes); diff != "" || s.Daemons["d"] == hostNetwork {
		t.Errorf("the snapshot has changed: %s", diff)
	}
	ignored := cmp.Options{cmpopts.IgnoreUnexported(Snapshot{}, admission.Rules{}), cmpopts.IgnoreFields(Snapshot{}, "Nodes", "Daemons")}
	if diff := cmp.Diff(s, next, ignored); diff != "" {
		t.Errorf("something else is not the same: %s", diff)
	}
	rules := &admission.Rules{}
	if admitting := s.Admitting(rules); admitting.Admission != rules || s.Admission == rules {
		t.Error("the rules are not those given, or they are in the shared snapshot")
	}
}

func TestCovering_byNamespaceAndSelector(t *testing.T) {
	t.Parallel()
	selector := func(s string) labels.Selector {
		out, err := labels.Parse(s)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	b := Budgets{"app": {{Name: "web", Selector: selector("app=web")}, {Name: "all", Selector: selector("")}, {Name: "db", Selector: selector("app=db")}}, "prod": {{Name: "other", Selector: selector("")}}}
	if got := BudgetNames(b.Covering(&Pod{Namespace: "app", Labels: labels.Set{"app": "web"}})); got != "web, all" {
		t.Errorf("got %q", got)
	}
	if got := b.Covering(&Pod{Namespace: "elsewhere"}); len(got) > 0 {
		t.Errorf("got %q", BudgetNames(got))
	}
}

func TestRequests_ofAPodWithoutAnyAreEmpty(t *testing.T) {
	t.Parallel()
	d := &Demand{Priority: 7}
	if (&Pod{Demand: d}).Requests() != d {
		t.Error("the pod's own demand is not returned")
	}
	if diff := cmp.Diff(&Demand{}, new(Pod).Requests()); diff != "" {
		t.Error(diff)
	}
}

func TestResources_amountsByName(t *testing.T) {
	t.Parallel()
	r := &Resources{MilliCPU: 1, Memory: 2, EphemeralStorage: 3, Pods: 4, Others: []Amount{{"example.com/fpga", 5}, {"example.com/gpu", 6}}}
	for name, want := range map[corev1.ResourceName][2]int64{
		"cpu": {1, 0}, "memory": {2, 0}, "ephemeral-storage": {3, 0}, "pods": {4, 0}, "example.com/fpga": {5, 5}, "example.com/gpu": {6, 6}, "example.com/none": {0, 0},
	} {
		if of, other := r.Of(name), r.Other(name); of != want[0] || other != want[1] {
			t.Errorf("%s: %d and %d, want %v", name, of, other, want)
		}
	}
	if got := (Resources{MilliCPU: 1500, Memory: 3 << 29}).Words(); got != "1500m cpu and 1.5Gi memory" {
		t.Errorf("got %q", got)
	}
}

func TestDaemonOf_narrowsToTheNodeThatTheTemplateNames(t *testing.T) {
	t.Parallel()
	named := corev1.NodeSelectorRequirement{Key: "metadata.name", Operator: corev1.NodeSelectorOpIn, Values: []string{"n1"}}
	disk := corev1.NodeSelectorRequirement{Key: "disk", Operator: corev1.NodeSelectorOpExists}
	required := &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: []corev1.NodeSelectorRequirement{disk}}, {}}}
	spec := corev1.PodSpec{
		NodeName: "n1", HostNetwork: true, NodeSelector: map[string]string{"pool": "gpu"}, Tolerations: []corev1.Toleration{{Key: "a"}},
		Affinity: &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: required.DeepCopy()}},
	}
	want := &Daemon{HostNetwork: true, Scheduling: Scheduling{NodeSelector: spec.NodeSelector, Tolerations: spec.Tolerations, Affinity: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{
		{MatchExpressions: []corev1.NodeSelectorRequirement{disk}, MatchFields: []corev1.NodeSelectorRequirement{named}},
		{MatchFields: []corev1.NodeSelectorRequirement{named}},
	}}}}
	if diff := cmp.Diff(want, DaemonOf(&spec)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(required, spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution); diff != "" {
		t.Errorf("the template has changed: %s", diff)
	}
	spec.Affinity = nil
	if diff := cmp.Diff([]corev1.NodeSelectorTerm{{MatchFields: []corev1.NodeSelectorRequirement{named}}}, DaemonOf(&spec).Affinity.NodeSelectorTerms); diff != "" {
		t.Error(diff)
	}
	spec.NodeName = ""
	if got := DaemonOf(&spec).Affinity; got != nil {
		t.Errorf("requires %v", got)
	}
}
