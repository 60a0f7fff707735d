// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package snapshot

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Quotas of BestEffort pods count by requests and limits of cpu and memory alone
// (k8s.io/kubernetes v1.37.2 pkg/apis/core/v1/helper/qos/qos.go, ComputePodQOS).
func TestQuota_Counts_podsByTheirClass(t *testing.T) {
	t.Parallel()
	scoped := func(name corev1.ResourceQuotaScope) Quota {
		return Quota{Scopes: []corev1.ScopedResourceSelectorRequirement{{ScopeName: name, Operator: corev1.ScopeSelectorOpExists}}}
	}
	best, notBest := scoped(corev1.ResourceQuotaScopeBestEffort), scoped(corev1.ResourceQuotaScopeNotBestEffort)
	kata := list("cpu", "250m", "memory", "160Mi")
	for name, tt := range map[string]struct {
		pod, defaulted string
		overhead       corev1.ResourceList
		bestEffort     bool
	}{
		"a container without requests":                            {pod: "", bestEffort: true},
		"the overhead of a RuntimeClass is no request":            {pod: "", overhead: kata, bestEffort: true},
		"overhead beside requests":                                {pod: "memory=1Gi:", overhead: kata},
		"other resources do not count":                            {pod: "ephemeral-storage=1Gi:2Gi example.com/gpu=1:1", bestEffort: true},
		"a request of nothing is none":                            {pod: "cpu=0:0 memory=0:", bestEffort: true},
		"a limit":                                                 {pod: "cpu=:1"},
		"a request of one container of two":                       {pod: ",cpu=1m:"},
		"a request of an init container":                          {pod: "init cpu=1m:,"},
		"a request of the whole pod":                              {pod: "whole memory=1Gi:,"},
		"the containers count where the whole pod sets none":      {pod: "whole ephemeral-storage=1Gi:,cpu=1:"},
		"what a LimitRange has added, where it could not be read": {pod: "cpu=1:", defaulted: "LimitRanger plugin set: cpu request for container c"},
	} {
		p := sizedPod(t, tt.pod)
		p.Spec.Overhead, p.Annotations = tt.overhead, map[string]string{LimitRangerAnnotation: tt.defaulted}
		d := DemandOf(p)
		if counts, known := best.Counts(d); counts != tt.bestEffort || !known {
			t.Errorf("%s: a quota of BestEffort pods counts it: %v, known %v", name, counts, known)
		}
		if counts, known := notBest.Counts(d); counts == tt.bestEffort || !known {
			t.Errorf("%s: a quota of NotBestEffort pods counts it: %v, known %v", name, counts, known)
		}
	}
}

// Without the LimitRange that gave an earlier pod its request, the new one is of another class.
func TestQuota_Counts_podsAsLimitRangesAdmitThem(t *testing.T) {
	t.Parallel()
	best := Quota{Scopes: []corev1.ScopedResourceSelectorRequirement{{ScopeName: corev1.ResourceQuotaScopeBestEffort, Operator: corev1.ScopeSelectorOpExists}}}
	p := sizedPod(t, "cpu=1:")
	p.Annotations = map[string]string{LimitRangerAnnotation: "LimitRanger plugin set: cpu request for container c"}
	p.Spec.Overhead = list("cpu", "250m")
	gives := []LimitRange{{Name: "r", Limits: []corev1.LimitRangeItem{item(t, corev1.LimitTypeContainer, "defaultRequest.cpu=1")}}}
	for name, tt := range map[string]struct {
		ranges []LimitRange
		want   bool
	}{"no LimitRange": {nil, true}, "one with a default": {gives, false}} {
		d, _, _ := DemandOf(p).Admit(tt.ranges)
		if counts, known := best.Counts(d); counts != tt.want || !known {
			t.Errorf("%s: counts %v, known %v", name, counts, known)
		}
	}
}

// Of scopes that cannot be judged, the others still decide where they do not match
// (k8s.io/kubernetes v1.37.2 pkg/quota/v1/evaluator/core/pods.go, podMatchesScopeFunc).
func TestQuota_Counts_podsThatMatchEachScope(t *testing.T) {
	t.Parallel()
	type scope = corev1.ScopedResourceSelectorRequirement
	affinity := scope{ScopeName: corev1.ResourceQuotaScopeCrossNamespacePodAffinity, Operator: corev1.ScopeSelectorOpExists}
	later := scope{ScopeName: "OfALaterVersion", Operator: corev1.ScopeSelectorOpExists}
	deadline := scope{ScopeName: corev1.ResourceQuotaScopeTerminating, Operator: corev1.ScopeSelectorOpExists}
	none := scope{ScopeName: corev1.ResourceQuotaScopeNotTerminating, Operator: corev1.ScopeSelectorOpExists}
	class := func(operator corev1.ScopeSelectorOperator, values ...string) scope {
		return scope{ScopeName: corev1.ResourceQuotaScopePriorityClass, Operator: operator, Values: values}
	}
	plain, high, ends, reaches := Demand{}, Demand{PriorityClass: "high"}, Demand{Deadline: true}, Demand{OtherNamespaces: true}
	for name, tt := range map[string]struct {
		pod           Demand
		scopes        []scope
		counts, known bool
	}{
		"a quota without scopes counts every pod": {plain, nil, true, true},
		"a deadline":                                      {ends, []scope{deadline}, true, true},
		"no deadline":                                     {plain, []scope{deadline}, false, true},
		"a deadline where none is wanted":                 {ends, []scope{none}, false, true},
		"no deadline where none is wanted":                {plain, []scope{none}, true, true},
		"any priority class":                              {high, []scope{class(corev1.ScopeSelectorOpExists)}, true, true},
		"no priority class where one is wanted":           {plain, []scope{class(corev1.ScopeSelectorOpExists)}, false, true},
		"a priority class where none is wanted":           {high, []scope{class(corev1.ScopeSelectorOpDoesNotExist)}, false, true},
		"no priority class where none is wanted":          {plain, []scope{class(corev1.ScopeSelectorOpDoesNotExist)}, true, true},
		"a priority class of the list":                    {high, []scope{class(corev1.ScopeSelectorOpIn, "low", "high")}, true, true},
		"a priority class that is not on the list":        {high, []scope{class(corev1.ScopeSelectorOpIn, "low")}, false, true},
		"an empty name on the list is no priority class":  {plain, []scope{class(corev1.ScopeSelectorOpIn, "")}, false, true},
		"a priority class off a list":                     {high, []scope{class(corev1.ScopeSelectorOpNotIn, "low")}, true, true},
		"a priority class that a list excludes":           {high, []scope{class(corev1.ScopeSelectorOpNotIn, "high")}, false, true},
		"an unknown operator":                             {high, []scope{class("Near", "high")}, true, false},
		"affinity to pods of other namespaces":            {reaches, []scope{affinity}, true, true},
		"no affinity to pods of other namespaces":         {plain, []scope{affinity}, false, true},
		"an unknown scope":                                {plain, []scope{later}, true, false},
		"one scope matches and one is not known":          {ends, []scope{later, deadline}, true, false},
		"one scope does not match, another is not known":  {plain, []scope{later, deadline}, false, true},
		"one of two scopes does not match":                {ends, []scope{deadline, class(corev1.ScopeSelectorOpExists)}, false, true},
		"both scopes match, the order does not matter":    {Demand{Deadline: true, PriorityClass: "high"}, []scope{class(corev1.ScopeSelectorOpExists), deadline}, true, true},
		"what is not known comes behind one that matches": {high, []scope{class(corev1.ScopeSelectorOpExists), later}, true, false},
	} {
		if counts, known := (&Quota{Scopes: tt.scopes}).Counts(&tt.pod); counts != tt.counts || known != tt.known {
			t.Errorf("%s: counts %v, known %v", name, counts, known)
		}
	}
}

// A quota of cross-namespace affinity counts every term that lists or selects namespaces
// (k8s.io/kubernetes v1.37.2 pkg/quota/v1/evaluator/core/pods.go, usesCrossNamespacePodAffinity).
func TestReachesOtherNamespaces_byTermsOfPodAffinity(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		term corev1.PodAffinityTerm
		want bool
	}{
		"no namespace is named":                  {corev1.PodAffinityTerm{TopologyKey: "zone"}, false},
		"an empty list of namespaces":            {corev1.PodAffinityTerm{Namespaces: []string{}}, false},
		"a namespace is listed":                  {corev1.PodAffinityTerm{Namespaces: []string{"other"}}, true},
		"its own namespace is listed":            {corev1.PodAffinityTerm{Namespaces: []string{"app"}}, true},
		"namespaces are selected by label":       {corev1.PodAffinityTerm{NamespaceSelector: matching("team", "red")}, true},
		"every namespace is selected":            {corev1.PodAffinityTerm{NamespaceSelector: &metav1.LabelSelector{}}, true},
		"namespaces are both listed and matched": {corev1.PodAffinityTerm{Namespaces: []string{"other"}, NamespaceSelector: &metav1.LabelSelector{}}, true},
	} {
		required := []corev1.PodAffinityTerm{{TopologyKey: "host"}, tt.term}
		preferred := []corev1.WeightedPodAffinityTerm{{Weight: 1}, {Weight: 2, PodAffinityTerm: tt.term}}
		for kind, affinity := range map[string]corev1.Affinity{
			"required affinity":       {PodAffinity: &corev1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: required}},
			"preferred affinity":      {PodAffinity: &corev1.PodAffinity{PreferredDuringSchedulingIgnoredDuringExecution: preferred}},
			"required anti-affinity":  {PodAntiAffinity: &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: required}},
			"preferred anti-affinity": {PodAntiAffinity: &corev1.PodAntiAffinity{PreferredDuringSchedulingIgnoredDuringExecution: preferred}},
		} {
			if got := DemandOf(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "app"}, Spec: corev1.PodSpec{Affinity: &affinity}}).OtherNamespaces; got != tt.want {
				t.Errorf("%s, %s: %v", name, kind, got)
			}
		}
	}
	for name, affinity := range map[string]*corev1.Affinity{"no affinity": nil, "affinity to nodes alone": {NodeAffinity: &corev1.NodeAffinity{}}} {
		if ReachesOtherNamespaces(affinity) {
			t.Errorf("%s reaches other namespaces", name)
		}
	}
}

func TestLimitsPods_byResourcesOfPods(t *testing.T) {
	t.Parallel()
	for name, want := range map[corev1.ResourceName]bool{
		"pods": true, "count/pods": true, "cpu": true, "memory": true, "ephemeral-storage": true, "requests.cpu": true, "limits.memory": true,
		"hugepages-2Mi": true, "requests.hugepages-2Mi": true, "requests.example.com/gpu": true,
		"example.com/gpu": false, "limits.example.com/gpu": false, "requests.storage": false, "services": false, "count/services": false,
	} {
		if got := LimitsPods(name); got != want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestDemand_Charges_eachResourceByItself(t *testing.T) {
	t.Parallel()
	d := &Demand{
		Asks:    Resources{MilliCPU: 1, Memory: 2, EphemeralStorage: 3, Others: []Amount{{Name: "example.com/gpu", Value: 4}}},
		Holds:   Resources{MilliCPU: 11, Memory: 12, EphemeralStorage: 13, Others: []Amount{{Name: "example.com/gpu", Value: 14}}},
		Limits:  Resources{MilliCPU: 21, Memory: 22, EphemeralStorage: 23},
		Claimed: []Amount{{Name: "example.com/claimed", Value: 31}, {Name: "example.com/other", Value: 32}},
	}
	for name, want := range map[corev1.ResourceName][2]int64{
		"pods": {1, 1}, "count/pods": {1, 1}, "cpu": {1, 11}, "requests.cpu": {1, 11}, "limits.cpu": {21, 21}, "memory": {2, 12}, "requests.memory": {2, 12}, "limits.memory": {22, 22},
		"ephemeral-storage": {3, 13}, "requests.ephemeral-storage": {3, 13}, "limits.ephemeral-storage": {23, 23},
		"requests.example.com/gpu": {4, 14}, "requests.example.com/claimed": {31, 31}, "requests.example.com/other": {32, 32}, "requests.example.com/none": {},
	} {
		if asks, holds := d.Charges(name); asks != want[0] || holds != want[1] {
			t.Errorf("%s: a new pod uses %d, one that runs %d", name, asks, holds)
		}
	}
}

func TestDemand_Lacks_whatAContainerDoesNotSet(t *testing.T) {
	t.Parallel()
	all := []corev1.ResourceName{"cpu", "memory", "requests.cpu", "requests.memory", "limits.cpu", "limits.memory", "ephemeral-storage", "pods", "requests.example.com/gpu"}
	for name, tt := range map[string]struct {
		pod  string
		want []corev1.ResourceName
	}{
		"a container without resources":      {"", all[:6]},
		"a container with requests":          {"cpu=1: memory=1Gi:", []corev1.ResourceName{"limits.cpu", "limits.memory"}},
		"a container with a request of cpu":  {"cpu=1:", []corev1.ResourceName{"memory", "requests.memory", "limits.cpu", "limits.memory"}},
		"a container with requests, limits":  {"cpu=1:1 memory=1Gi:1Gi", nil},
		"one of two containers without":      {"cpu=1:1 memory=1Gi:1Gi,", all[:6]},
		"an init container without":          {"init ,cpu=1:1 memory=1Gi:1Gi", all[:6]},
		"requests and limits of a whole pod": {"whole cpu=1:1 memory=1Gi:1Gi,", nil},
	} {
		d := DemandOf(sizedPod(t, tt.pod))
		var got []corev1.ResourceName
		for _, resource := range all {
			if d.Lacks(resource) {
				got = append(got, resource)
			}
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s: it lacks %v", name, got)
		}
	}
	if (&Demand{}).Lacks("cpu") {
		t.Error("a pod whose template is not known lacks something")
	}
}
