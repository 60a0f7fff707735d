// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package placement

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/upstream"
)

// affinityCase is what a pod requires, and a node that it fits or does not fit.
type affinityCase struct {
	name     string
	selector map[string]string
	terms    []corev1.NodeSelectorTerm
	labels   map[string]string
	node     string
	fits     bool
}

func want(key string, operator corev1.NodeSelectorOperator, values ...string) corev1.NodeSelectorRequirement {
	return corev1.NodeSelectorRequirement{Key: key, Operator: operator, Values: values}
}

func onNames(names ...string) corev1.NodeSelectorRequirement {
	return want("metadata.name", corev1.NodeSelectorOpIn, names...)
}

func byLabels(requirements ...corev1.NodeSelectorRequirement) corev1.NodeSelectorTerm {
	return corev1.NodeSelectorTerm{MatchExpressions: requirements}
}

func byFields(requirements ...corev1.NodeSelectorRequirement) corev1.NodeSelectorTerm {
	return corev1.NodeSelectorTerm{MatchFields: requirements}
}

func byBoth(field, label corev1.NodeSelectorRequirement) corev1.NodeSelectorTerm {
	return corev1.NodeSelectorTerm{MatchFields: []corev1.NodeSelectorRequirement{field}, MatchExpressions: []corev1.NodeSelectorRequirement{label}}
}

// nodeAffinityCases are the facts of TestNodeAffinity and Test_isSchedulableAfterNodeChange
// in k8s.io/kubernetes v1.37.2
// pkg/scheduler/framework/plugins/nodeaffinity/node_affinity_test.go, most of which are also in
// k8s.io/component-helpers v0.37.2 scheduling/corev1/nodeaffinity/nodeaffinity_test.go.
func nodeAffinityCases() []affinityCase {
	type labels = map[string]string
	type terms = []corev1.NodeSelectorTerm
	const in, notIn, present = corev1.NodeSelectorOpIn, corev1.NodeSelectorOpNotIn, corev1.NodeSelectorOpExists
	bar, gpu, foo := labels{"foo": "bar"}, labels{"GPU": "NVIDIA-GRID-K1"}, want("foo", in, "bar")
	return []affinityCase{
		{name: "no selector", fits: true},
		{name: "selector, no labels", selector: bar},
		{name: "selector, the same labels", selector: bar, labels: bar, fits: true},
		{name: "selector, more labels", selector: bar, labels: labels{"foo": "bar", "baz": "blah"}, fits: true},
		{name: "selector, fewer labels", selector: labels{"foo": "bar", "baz": "blah"}, labels: bar},
		{name: "In", terms: terms{byLabels(want("foo", in, "bar", "value2"))}, labels: bar, fits: true},
		{name: "Gt", terms: terms{byLabels(want("kernel-version", corev1.NodeSelectorOpGt, "0204"))}, labels: labels{"kernel-version": "0206"}, fits: true},
		{name: "NotIn", terms: terms{byLabels(want("mem-type", notIn, "DDR", "DDR2"))}, labels: labels{"mem-type": "DDR3"}, fits: true},
		{name: "Exists", terms: terms{byLabels(want("GPU", present))}, labels: gpu, fits: true},
		{name: "In, other values", terms: terms{byLabels(want("foo", in, "value1", "value2"))}, labels: bar},
		{name: "an empty term", terms: terms{{}}, labels: bar},
		{name: "an affinity without terms", terms: terms{}, labels: bar},
		{name: "no affinity", labels: bar, fits: true},
		{name: "an affinity that requires nothing", labels: bar, fits: true},
		{name: "two requirements, both met", terms: terms{byLabels(want("GPU", present), want("GPU", notIn, "AMD", "INTER"))}, labels: gpu, fits: true},
		{name: "two requirements, one met", terms: terms{byLabels(want("GPU", present), want("GPU", in, "AMD", "INTER"))}, labels: gpu},
		{name: "two terms, one met", terms: terms{byLabels(want("foo", in, "bar", "value2")), byLabels(want("diffkey", in, "wrong", "value2"))}, labels: bar, fits: true},
		{name: "affinity and selector met", selector: bar, terms: terms{byLabels(want("foo", present))}, labels: bar, fits: true},
		{name: "affinity met, selector not", selector: bar, terms: terms{byLabels(want("foo", present))}, labels: labels{"foo": "barrrrrr"}},
		{name: "an invalid value", terms: terms{byLabels(want("foo", notIn, "invalid value: ___@#$%^"))}, labels: bar},
		{name: "the node's name", terms: terms{byFields(onNames("node1"))}, node: "node1", fits: true},
		{name: "another name", terms: terms{byFields(onNames("node1"))}, node: "node2"},
		{name: "two terms, two names in the one, labels in the other", terms: terms{byFields(onNames("node1"), onNames("node2")), byLabels(foo)}, node: "node2", labels: bar, fits: true},
		{name: "two terms, another name or the labels", terms: terms{byFields(onNames("node1")), byLabels(foo)}, node: "node2", labels: bar, fits: true},
		{name: "one term, another name and the labels", terms: terms{byBoth(onNames("node1"), foo)}, node: "node2", labels: bar},
		{name: "one term, the name and the labels", terms: terms{byBoth(onNames("node1"), foo)}, node: "node1", labels: bar, fits: true},
		{name: "two terms, another name and other labels", terms: terms{byFields(onNames("node1")), byLabels(want("foo", in, "not-match-to-bar"))}, node: "node2", labels: bar},
		{name: "two terms, a name in each", terms: terms{byFields(onNames("node1")), byFields(onNames("node2"))}, node: "node2", fits: true},
		{name: "one term, two names that exclude each other", terms: terms{byFields(onNames("node1"), onNames("node2"))}, node: "node2", labels: bar},
		{name: "the pod's part beside an affinity of the scheduler, met", terms: terms{byLabels(want("zone", in, "foo"))}, node: "node2", labels: labels{"zone": "foo"}, fits: true},
		{name: "the pod's part beside an affinity of the scheduler, not met", terms: terms{byLabels(want("zone", in, "bar"))}, node: "node2", labels: labels{"zone": "foo"}},
		{name: "selector without PreFilter", selector: bar, labels: bar, fits: true},
		{name: "affinity without PreFilter", terms: terms{byLabels(want("GPU", present), want("GPU", notIn, "AMD", "INTER"))}, labels: gpu, fits: true},

		{name: "added node, other labels", terms: terms{byLabels(foo)}},
		{name: "added node, the labels", terms: terms{byLabels(foo)}, labels: bar, fits: true},
		{name: "a change without labels", terms: terms{byLabels(foo)}},
		{name: "a change of other labels", terms: terms{byLabels(foo)}, labels: labels{"k": "v"}},
		{name: "a change that takes the labels away", terms: terms{byLabels(foo)}, labels: labels{"k": "v"}},
		{name: "a change that adds the labels", terms: terms{byLabels(foo)}, labels: bar, fits: true},
		{name: "a change of other fields", terms: terms{byLabels(foo)}, labels: bar, fits: true},
		{name: "added node, the labels, with an affinity of the scheduler", terms: terms{byLabels(foo)}, labels: bar, fits: true},
		{name: "added node, other labels, with an affinity of the scheduler", terms: terms{byLabels(foo)}},
	}
}

func runAffinity(t *testing.T, rows *upstream.Rows, cases []affinityCase) {
	t.Helper()
	for _, tt := range cases {
		rows.Run(t, tt.name, func(t *testing.T) {
			t.Parallel()
			s := &snapshot.Scheduling{NodeSelector: tt.selector}
			if tt.terms != nil {
				s.Affinity = &corev1.NodeSelector{NodeSelectorTerms: tt.terms}
			}
			before := s.Affinity.DeepCopy()
			if fits := New(newWorld().Snapshot, Scenario{}, false).Selects(s, tt.node, tt.labels); fits != tt.fits {
				t.Errorf("fits %t, want %t", fits, tt.fits)
			}
			if diff := cmp.Diff(before, s.Affinity); diff != "" {
				t.Errorf("the affinity is changed: %s", diff)
			}
		})
	}
}

func TestUpstream_nodeAffinity(t *testing.T) {
	t.Parallel()
	runAffinity(t, upstream.Cases(t), nodeAffinityCases())
}

// TestUpstream_nodeSelectorTerms has the facts of TestMatchNodeSelectorTerms and
// TestMatchNodeSelectorTermsStateless in k8s.io/component-helpers v0.37.2
// scheduling/corev1/helpers_test.go. No selector at all fits here, as a pod without one.
func TestUpstream_nodeSelectorTerms(t *testing.T) {
	t.Parallel()
	type terms = []corev1.NodeSelectorTerm
	const in = corev1.NodeSelectorOpIn
	label, named := want("label_1", in, "label_1_val"), want("metadata.name", in, "host_1")
	has, other := map[string]string{"label_1": "label_1_val"}, map[string]string{"label_1": "label_1_val-failed"}
	cases := []affinityCase{
		{name: "the label", terms: terms{byLabels(label)}, labels: has, fits: true},
		{name: "the name", terms: terms{byFields(named)}, node: "host_1", fits: true},
		{name: "a field with two values is invalid", terms: terms{byFields(onNames("host_1", "host_2"))}, node: "host_1"},
		{name: "a field is no label", terms: terms{byFields(named)}, node: "not_host_1", labels: map[string]string{"metadata.name": "host_1"}},
		{name: "a label is no field", terms: terms{byLabels(named)}, node: "host_1"},
		{name: "label and name, name alone", terms: terms{byBoth(named, label)}, node: "host_1"},
		{name: "label and name, both", terms: terms{byBoth(named, label)}, node: "host_1", labels: has, fits: true},
		{name: "label and name, another label", terms: terms{byBoth(named, label)}, node: "host_1", labels: other},
		{name: "label or name, another label", terms: terms{byLabels(label), byFields(named)}, node: "host_1", labels: other, fits: true},
	}
	// TestNodeSelectorMatch in nodeaffinity/nodeaffinity_test.go there, beside those above. What the API
	// server rejects selects nothing.
	cases = append(cases, []affinityCase{
		{name: "no terms and no node", terms: terms{}},
		{name: "terms that are invalid", terms: terms{byFields(onNames("host_1", "host_2")), byBoth(named, label), byLabels(want("invalid key", in, "label_value"))}, node: "host_1"},
	}...)
	// TestNodeSelectorRequirementsAsSelector there.
	foo := want("foo", in, "bar", "baz")
	cases = append(cases, []affinityCase{
		{name: "no requirements", terms: terms{byLabels()}, labels: map[string]string{"foo": "bar"}},
		{name: "In, the first value", terms: terms{byLabels(foo)}, labels: map[string]string{"foo": "bar"}, fits: true},
		{name: "In, the second value", terms: terms{byLabels(foo)}, labels: map[string]string{"foo": "baz"}, fits: true},
		{name: "In, another value", terms: terms{byLabels(foo)}, labels: map[string]string{"foo": "qux"}},
		{name: "Exists with values is invalid", terms: terms{byLabels(want("foo", corev1.NodeSelectorOpExists, "bar", "baz"))}, labels: map[string]string{"foo": "bar"}},
		{name: "Gt, more", terms: terms{byLabels(want("foo", corev1.NodeSelectorOpGt, "1"))}, labels: map[string]string{"foo": "2"}, fits: true},
		{name: "Gt, the same", terms: terms{byLabels(want("foo", corev1.NodeSelectorOpGt, "1"))}, labels: map[string]string{"foo": "1"}},
		{name: "Lt, less", terms: terms{byLabels(want("bar", corev1.NodeSelectorOpLt, "7"))}, labels: map[string]string{"bar": "6"}, fits: true},
		{name: "Lt, the same", terms: terms{byLabels(want("bar", corev1.NodeSelectorOpLt, "7"))}, labels: map[string]string{"bar": "7"}},
		{name: "an operator that is none", terms: terms{byLabels(want("baz", "invalid", "5"))}, labels: map[string]string{"baz": "5"}},
	}...)
	// The second test: the order of values stays.
	for _, values := range [][]string{{"label_1_val", "label_2_val"}, {"label_2_val", "label_1_val"}} {
		ordered := want("label_1", in, values...)
		cases = append(cases, affinityCase{name: "stateless: label in " + values[0] + " and more", terms: terms{byLabels(ordered)}, labels: has, fits: true})
		for _, hosts := range [][]string{{"host_1", "host_2"}, {"host_2", "host_1"}} {
			cases = append(cases, affinityCase{name: "stateless: label in " + values[0] + " and name in " + hosts[0], terms: terms{byBoth(onNames(hosts...), ordered)}, node: "host_1", labels: has})
		}
	}
	for _, hosts := range [][]string{{"host_1", "host_2"}, {"host_2", "host_1"}} {
		cases = append(cases, affinityCase{name: "stateless: name in " + hosts[0] + " and more", terms: terms{byFields(onNames(hosts...))}, node: "host_1"})
	}
	runAffinity(t, upstream.Cases(t), cases)
}
