// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package snapshot

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// sized makes a container of words such as cpu=100m:200m, its request and its limit.
func sized(t *testing.T, name, words string) corev1.Container {
	t.Helper()
	c := corev1.Container{Name: name, Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{}, Limits: corev1.ResourceList{}}}
	for word := range strings.FieldsSeq(words) {
		kind, amounts, _ := strings.Cut(word, "=")
		request, limit, _ := strings.Cut(amounts, ":")
		if request != "" {
			c.Resources.Requests[corev1.ResourceName(kind)] = resource.MustParse(request)
		}
		if limit != "" {
			c.Resources.Limits[corev1.ResourceName(kind)] = resource.MustParse(limit)
		}
	}
	return c
}

// sizedPod makes a pod of containers separated by commas: init ones begin with init, sidecars with sidecar,
// and what is for the whole pod with whole.
func sizedPod(t *testing.T, text string) *corev1.Pod {
	t.Helper()
	p, always := &corev1.Pod{}, corev1.ContainerRestartPolicyAlways
	for part := range strings.SplitSeq(text, ",") {
		part = strings.TrimSpace(part)
		switch kind, words, _ := strings.Cut(part, " "); kind {
		case "init", "sidecar":
			c := sized(t, "i", words)
			if kind == "sidecar" {
				c.RestartPolicy = &always
			}
			p.Spec.InitContainers = append(p.Spec.InitContainers, c)
		case "whole":
			p.Spec.Resources = new(sized(t, "", words).Resources)
		default:
			p.Spec.Containers = append(p.Spec.Containers, sized(t, "c", part))
		}
	}
	return p
}

// item makes a limit of words such as min.cpu=50m.
func item(t *testing.T, kind corev1.LimitType, words string) corev1.LimitRangeItem {
	t.Helper()
	out := corev1.LimitRangeItem{Type: kind}
	lists := map[string]*corev1.ResourceList{"min": &out.Min, "max": &out.Max, "default": &out.Default, "defaultRequest": &out.DefaultRequest, "ratio": &out.MaxLimitRequestRatio}
	for word := range strings.FieldsSeq(words) {
		at, amount, _ := strings.Cut(word, "=")
		list, name, _ := strings.Cut(at, ".")
		if *lists[list] == nil {
			*lists[list] = corev1.ResourceList{}
		}
		(*lists[list])[corev1.ResourceName(name)] = resource.MustParse(amount)
	}
	return out
}

// TestDemand_Admit_refusals: cases like those of k8s.io/kubernetes v1.37.2
// plugin/pkg/admission/limitranger/admission_test.go, TestPodLimitFunc.
func TestDemand_Admit_refusals(t *testing.T) {
	t.Parallel()
	const container, pod = corev1.LimitTypeContainer, corev1.LimitTypePod
	for _, tt := range []struct {
		kind             corev1.LimitType
		limits, pod, why string
	}{
		{container, "min.cpu=50m", "cpu=100m:", ""},
		{container, "min.cpu=50m", "cpu=50m:", ""},
		{container, "min.cpu=50m", "cpu=40m:", "min cpu"},
		{container, "min.cpu=50m", "memory=1Gi:", "min cpu"},
		{container, "min.cpu=50m", "cpu=60m:40m", "min cpu"},
		{container, "min.cpu=50m", "cpu=60m:50m", ""},
		{container, "min.memory=50Mi", "memory=60Mi:100Mi", ""},
		{container, "min.memory=50Mi", "memory=60Mi:, memory=10Mi:", "min memory"},
		{container, "min.memory=50Mi", "init memory=10Mi:, memory=60Mi:", "min memory"},
		{container, "max.cpu=2", "cpu=1:2", ""},
		{container, "max.cpu=2", "cpu=1:", "max cpu"},
		{container, "max.cpu=2", "cpu=1:2500m", "max cpu"},
		{container, "max.cpu=2", "cpu=3:", "max cpu"},
		{container, "max.cpu=2", "init cpu=1:3, cpu=1:2", "max cpu"},
		{container, "max.memory=1Gi", "memory=:1Gi", ""},
		{container, "ratio.cpu=1500m", "cpu=1:1500m", ""},
		{container, "ratio.cpu=1500m", "cpu=1:1600m", "maxLimitRequestRatio cpu"},
		{container, "ratio.cpu=11", "cpu=100m:1100m", ""},
		{container, "ratio.cpu=2", "cpu=1:", "maxLimitRequestRatio cpu"},
		{container, "ratio.cpu=2", "cpu=:1", "maxLimitRequestRatio cpu"},
		{container, "ratio.cpu=2", "cpu=0:1", "maxLimitRequestRatio cpu"},
		{container, "ratio.memory=2", "memory=1P:10P", "maxLimitRequestRatio memory"},
		{container, "ratio.memory=11", "memory=1P:10P", ""},
		{container, "ratio.memory=10P", "memory=1Gi:2Gi", ""},
		{container, "min.ephemeral-storage=50Mi", "ephemeral-storage=10Mi:", "min ephemeral-storage"},
		{container, "max.ephemeral-storage=1Gi", "ephemeral-storage=:1Gi", ""},
		{pod, "min.cpu=100m", "cpu=60m:, cpu=60m:", ""},
		{pod, "min.cpu=100m", "cpu=60m:", "min cpu"},
		{pod, "min.memory=100Mi", "memory=60Mi:, memory=60Mi:", ""},
		{pod, "min.memory=100Mi", "init memory=200Mi:, memory=60Mi:", ""},
		{pod, "max.cpu=2", "cpu=:1, cpu=:1", ""},
		{pod, "max.cpu=2", "cpu=:1, cpu=:2", "max cpu"},
		{pod, "max.cpu=2", "init cpu=:3, cpu=:1", "max cpu"},
		{pod, "max.cpu=2", "sidecar cpu=:1500m, cpu=:1", "max cpu"},
		{pod, "max.cpu=2", "init cpu=:1500m, cpu=:1", ""},
		{pod, "max.memory=1Gi", "memory=1Gi:", "max memory"},
		{pod, "ratio.memory=1500m", "memory=1Gi:1536Mi", ""},
		{pod, "ratio.memory=1500m", "memory=1Gi:2Gi", "maxLimitRequestRatio memory"},
		{pod, "max.cpu=400m max.memory=200Mi", "whole cpu=200m:400m memory=100Mi:200Mi, cpu=100m:200m", ""},
		{pod, "min.cpu=160m", "whole cpu=100m:, cpu=100m:", "min cpu"},
		{pod, "max.cpu=160m", "whole cpu=:200m, cpu=:100m", "max cpu"},
		{container, "defaultRequest.cpu=800m", "whole cpu=1:1, memory=1Gi:, memory=1Gi:", "defaultRequest cpu"},
		{container, "defaultRequest.cpu=400m", "whole cpu=1:1, memory=1Gi:, memory=1Gi:", ""},
		{container, "defaultRequest.cpu=500m", "whole cpu=1:1, memory=1Gi:, memory=1Gi:", ""},
		{container, "default.cpu=2", "whole cpu=1:1, memory=1Gi:", "default cpu"},
		{container, "default.cpu=1", "whole cpu=1:1, memory=1Gi:", ""},
		{container, "default.cpu=2", "whole memory=1Gi:1Gi, memory=1Gi:", ""},
		{corev1.LimitTypePersistentVolumeClaim, "max.cpu=1m", "cpu=1:1", ""},
	} {
		_, refusal, _ := DemandOf(sizedPod(t, tt.pod)).Admit([]LimitRange{{Name: "sizes", Limits: []corev1.LimitRangeItem{item(t, tt.kind, tt.limits)}}})
		why := ""
		if refusal != nil {
			if why = refusal.Limit; refusal.Name != "sizes" {
				t.Errorf("%s refuses", refusal.Name)
			}
		}
		if why != tt.why {
			t.Errorf("%s %s: %s is refused because of %q, want %q", tt.kind, tt.limits, tt.pod, why, tt.why)
		}
	}
}

// TestDemand_Admit: what a new pod asks for, where the pod that it replaces was created under other
// LimitRanges.
func TestDemand_Admit(t *testing.T) {
	t.Parallel()
	const cpu = "LimitRanger plugin set: cpu request for container c"
	for name, tt := range map[string]struct {
		pod, defaulted string
		ranges         []string
		// cpu is the request of the new pod, limit its limit, in thousandths.
		cpu, limit int64
		refused    string
		differing  []string
	}{
		"a request of the template stays":                       {pod: "cpu=100m:", ranges: []string{"defaultRequest.cpu=1"}, cpu: 100},
		"a container without a request gets the default":        {pod: "memory=1Gi:", ranges: []string{"defaultRequest.cpu=1"}, cpu: 1000},
		"each container gets it":                                {pod: "memory=1Gi:, cpu=200m:", ranges: []string{"defaultRequest.cpu=1"}, cpu: 1200},
		"an init container gets it":                             {pod: "init memory=1Gi:, cpu=200m:", ranges: []string{"defaultRequest.cpu=1"}, cpu: 1000},
		"an earlier default is replaced":                        {pod: "cpu=100m:", defaulted: cpu, ranges: []string{"defaultRequest.cpu=1"}, cpu: 1000},
		"an earlier default is gone without a LimitRange":       {pod: "cpu=100m:", defaulted: cpu},
		"that of another container stays":                       {pod: "cpu=100m:", defaulted: "LimitRanger plugin set: cpu request for container x", cpu: 100},
		"that of an init container of the same name stays":      {pod: "cpu=100m:", defaulted: "LimitRanger plugin set: cpu request for init container c", cpu: 100},
		"text that LimitRanger does not write changes nothing":  {pod: "cpu=100m:", defaulted: "cpu request for container c", cpu: 100},
		"a default limit is set":                                {pod: "cpu=100m:", ranges: []string{"default.cpu=2"}, cpu: 100, limit: 2000},
		"a default limit below the request refuses the pod":     {pod: "cpu=3:", ranges: []string{"default.cpu=2"}, cpu: 3000, limit: 2000, refused: "default cpu"},
		"a default limit of as much as the request":             {pod: "cpu=2:", ranges: []string{"default.cpu=2"}, cpu: 2000, limit: 2000},
		"a default fulfils the minimum":                         {pod: "memory=1Gi:", ranges: []string{"min.cpu=50m defaultRequest.cpu=50m"}, cpu: 50},
		"two with the same default are certain":                 {pod: "memory=1Gi:", ranges: []string{"defaultRequest.cpu=1", "defaultRequest.cpu=1000m"}, cpu: 1000},
		"of two with different defaults it is not known":        {pod: "memory=1Gi:", ranges: []string{"defaultRequest.cpu=1", "defaultRequest.cpu=2"}, cpu: 1000, differing: []string{"r1"}},
		"each of two adds what it has":                          {pod: "memory=1Gi:", ranges: []string{"defaultRequest.cpu=1", "default.cpu=4"}, cpu: 1000, limit: 4000},
		"an earlier limit is replaced as well":                  {pod: "cpu=100m:1", defaulted: "LimitRanger plugin set: cpu limit for container c", ranges: []string{"default.cpu=2"}, cpu: 100, limit: 2000},
		"the sum for the whole pod is made anew":                {pod: "whole cpu=100m: memory=1Gi:, cpu=100m:", defaulted: cpu, ranges: []string{"defaultRequest.cpu=1"}, cpu: 1000},
		"another request of the whole pod stays":                {pod: "whole cpu=1500m: memory=1Gi:, cpu=100m:", defaulted: cpu, ranges: []string{"defaultRequest.cpu=1"}, cpu: 1500},
		"a request of the whole pod below the default":          {pod: "whole cpu=200m: memory=1Gi:, cpu=100m:", defaulted: cpu, ranges: []string{"defaultRequest.cpu=1"}, cpu: 200, refused: "defaultRequest cpu"},
		"the limit of the whole pod is made anew":               {pod: "whole cpu=100m:1 memory=1Gi:, cpu=100m:1", defaulted: "LimitRanger plugin set: cpu limit for container c", ranges: []string{"default.cpu=2"}, cpu: 100, limit: 2000},
		"another limit of the whole pod stays":                  {pod: "whole cpu=100m:3 memory=1Gi:, cpu=100m:1", defaulted: "LimitRanger plugin set: cpu limit for container c", ranges: []string{"default.cpu=2"}, cpu: 100, limit: 3000},
		"a limit of the whole pod below the default":            {pod: "whole cpu=100m:1500m memory=1Gi:, cpu=100m:1", defaulted: "LimitRanger plugin set: cpu limit for container c", ranges: []string{"default.cpu=2"}, cpu: 100, limit: 1500, refused: "default cpu"},
		"the sum for the whole pod grows by a new default":      {pod: "whole cpu=100m: memory=2Gi:, cpu=100m:, memory=1Gi:", ranges: []string{"defaultRequest.cpu=1"}, cpu: 1100},
		"a sum without a default stays":                         {pod: "whole cpu=100m: memory=1Gi:, cpu=100m:", ranges: []string{"defaultRequest.cpu=1"}, cpu: 100},
		"several resources and containers are read from a list": {pod: "cpu=100m:1 memory=1Gi:2Gi", defaulted: "LimitRanger plugin set: cpu, memory request for container c; cpu, memory limit for container c", ranges: []string{"defaultRequest.cpu=1"}, cpu: 1000},
	} {
		p := sizedPod(t, tt.pod)
		p.Annotations = map[string]string{LimitRangerAnnotation: tt.defaulted}
		var ranges []LimitRange
		for i, limits := range tt.ranges {
			ranges = append(ranges, LimitRange{Name: "r" + string(rune('0'+i)), Limits: []corev1.LimitRangeItem{item(t, corev1.LimitTypeContainer, limits)}})
		}
		before := DemandOf(p)
		template := before.Template.DeepCopy()
		got, refusal, differing := before.Admit(ranges)
		refused := ""
		if refusal != nil {
			refused = refusal.Limit
		}
		if got.Asks.MilliCPU != tt.cpu || got.Limits.MilliCPU != tt.limit || refused != tt.refused || !slices.Equal(differing, tt.differing) {
			t.Errorf("%s: asks for %dm, limit %dm, refused because of %q, unsure %q", name, got.Asks.MilliCPU, got.Limits.MilliCPU, refused, differing)
		}
		if again := DemandOf(p); again.Asks.MilliCPU != before.Asks.MilliCPU || got.Holds.MilliCPU != before.Holds.MilliCPU {
			t.Errorf("%s: the pod itself is changed", name)
		}
		if diff := cmp.Diff(template, before.Template); diff != "" {
			t.Errorf("%s: its template is changed: %s", name, diff)
		}
	}
}

// TestDemand_Admit_limitsOfTheWholePodStay: the overhead is added to a copy, whatever the form of an amount.
func TestDemand_Admit_limitsOfTheWholePodStay(t *testing.T) {
	t.Parallel()
	p := sizedPod(t, "whole memory=1.5Gi:1.5Gi, cpu=1:")
	p.Spec.Overhead = corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("512Mi")}
	d := DemandOf(p)
	for range 3 {
		admitted, refusal, _ := d.Admit([]LimitRange{{Name: "r", Limits: []corev1.LimitRangeItem{item(t, corev1.LimitTypePod, "max.memory=1.5Gi")}}})
		if refusal != nil || admitted.Limits.Memory != 2<<30 {
			t.Errorf("refused %+v, limits %d, want %d", refusal, admitted.Limits.Memory, 2<<30)
		}
	}
}

// TestDemand_Admit_withoutATemplate: what was asked for is not known where devices are claimed for it.
func TestDemand_Admit_withoutATemplate(t *testing.T) {
	t.Parallel()
	d := &Demand{Asks: Resources{MilliCPU: 100}, Defaulted: true}
	ranges := []LimitRange{{Name: "r", Limits: []corev1.LimitRangeItem{item(t, corev1.LimitTypeContainer, "defaultRequest.cpu=1 max.cpu=1m")}}}
	if got, refusal, differing := d.Admit(ranges); got != d || refusal != nil || differing != nil {
		t.Errorf("asks for %+v, refused %v, unsure %q", got.Asks, refusal, differing)
	}
}

// TestDemand_Admit_devicesOfAClass: they are claimed, and not counted on nodes.
func TestDemand_Admit_devicesOfAClass(t *testing.T) {
	t.Parallel()
	const nic = "deviceclass.resource.kubernetes.io/nic"
	d := DemandOf(sizedPod(t, "example.com/gpu=1:1 "+nic+"=1:1"))
	got, _, _ := d.Admit([]LimitRange{{Name: "r", Limits: []corev1.LimitRangeItem{item(t, corev1.LimitTypeContainer, "defaultRequest.cpu=1")}}})
	if got.Asks.MilliCPU != 1000 || got.Asks.Other(nic) != 0 || got.Asks.Other("example.com/gpu") != 1 || !got.Requests(nic) {
		t.Errorf("asks for %+v, claims %v", got.Asks, got.Claimed)
	}
}

// TestDemand_Charges_devices: what devices are claimed for is requested all the same.
func TestDemand_Charges_devices(t *testing.T) {
	t.Parallel()
	p := sizedPod(t, "example.com/gpu=2:2")
	p.Status.ExtendedResourceClaimStatus = &corev1.PodExtendedResourceClaimStatus{RequestMappings: []corev1.ContainerExtendedResourceRequest{{ContainerName: "c", ResourceName: "example.com/gpu"}}}
	d := DemandOf(p)
	if d.Requests("example.com/fpga") {
		t.Error("it requests what it does not list")
	}
	if asks, holds := d.Charges("requests.example.com/gpu"); asks != 2 || holds != 2 || !d.Requests("example.com/gpu") || d.Asks.Other("example.com/gpu") != 0 {
		t.Errorf("asks %d, holds %d, requests it %t, and for nodes %d", asks, holds, d.Requests("example.com/gpu"), d.Asks.Other("example.com/gpu"))
	}
}

// TestQuota_Counts_scopes follows k8s.io/kubernetes v1.37.2 pkg/quota/v1/evaluator/core/pods_test.go.
func TestQuota_Counts_scopes(t *testing.T) {
	t.Parallel()
	high := &Demand{PriorityClass: "high"}
	for _, tt := range []struct {
		scope    corev1.ResourceQuotaScope
		operator corev1.ScopeSelectorOperator
		values   []string
		of       *Demand
		want     bool
	}{
		{corev1.ResourceQuotaScopePriorityClass, corev1.ScopeSelectorOpExists, nil, high, true},
		{corev1.ResourceQuotaScopePriorityClass, corev1.ScopeSelectorOpExists, nil, &Demand{}, false},
		{corev1.ResourceQuotaScopePriorityClass, corev1.ScopeSelectorOpDoesNotExist, nil, high, false},
		{corev1.ResourceQuotaScopePriorityClass, corev1.ScopeSelectorOpDoesNotExist, nil, &Demand{}, true},
		{corev1.ResourceQuotaScopePriorityClass, corev1.ScopeSelectorOpIn, []string{"low", "high"}, high, true},
		{corev1.ResourceQuotaScopePriorityClass, corev1.ScopeSelectorOpIn, []string{"low"}, high, false},
		{corev1.ResourceQuotaScopePriorityClass, corev1.ScopeSelectorOpIn, []string{""}, &Demand{}, false},
		{corev1.ResourceQuotaScopePriorityClass, corev1.ScopeSelectorOpNotIn, []string{"high"}, high, false},
		{corev1.ResourceQuotaScopePriorityClass, corev1.ScopeSelectorOpNotIn, []string{"low"}, high, true},
		{corev1.ResourceQuotaScopePriorityClass, corev1.ScopeSelectorOpNotIn, []string{"low"}, &Demand{}, true},
		{corev1.ResourceQuotaScopeTerminating, corev1.ScopeSelectorOpExists, nil, &Demand{Deadline: true}, true},
		{corev1.ResourceQuotaScopeTerminating, corev1.ScopeSelectorOpExists, nil, &Demand{}, false},
		{corev1.ResourceQuotaScopeNotTerminating, corev1.ScopeSelectorOpExists, nil, &Demand{Deadline: true}, false},
		{corev1.ResourceQuotaScopeNotTerminating, corev1.ScopeSelectorOpExists, nil, &Demand{}, true},
	} {
		q := Quota{Scopes: []corev1.ScopedResourceSelectorRequirement{{ScopeName: tt.scope, Operator: tt.operator, Values: tt.values}}}
		if counts, known := q.Counts(tt.of); counts != tt.want || !known {
			t.Errorf("%s %s %q: counts %+v %t, known %t", tt.scope, tt.operator, tt.values, *tt.of, counts, known)
		}
	}
}

// TestDemand_Lacks: a quota of CPU or memory wants it from each container, unless the pod as a whole has
// some (k8s.io/kubernetes v1.37.2 pkg/quota/v1/evaluator/core/pods_test.go, TestPodConstraintsFunc).
func TestDemand_Lacks(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		resource corev1.ResourceName
		pod      string
		want     bool
	}{
		{"requests.cpu", "cpu=1:", false},
		{"cpu", "cpu=1:", false},
		{"requests.cpu", "cpu=1:, memory=1Gi:", true},
		{"requests.memory", "cpu=1:", true},
		{"memory", "init cpu=1:, memory=1Gi:", true},
		{"limits.cpu", "cpu=1:", true},
		{"limits.cpu", "cpu=1:2", false},
		{"limits.memory", "memory=1Gi:", true},
		{"requests.cpu", "whole cpu=1:, memory=1Gi:", false},
		{"requests.ephemeral-storage", "cpu=1:", false},
		{"limits.ephemeral-storage", "cpu=1:", false},
		{"requests.example.com/gpu", "cpu=1:", false},
		{"pods", "cpu=1:", false},
	} {
		if got := DemandOf(sizedPod(t, tt.pod)).Lacks(tt.resource); got != tt.want {
			t.Errorf("%s of %s: lacks it %t", tt.resource, tt.pod, got)
		}
	}
}

func TestFormatDefaulted_writesAsLimitRanger(t *testing.T) {
	t.Parallel()
	const text = "LimitRanger plugin set: cpu, memory request for container web; cpu limit for init container setup"
	if got := FormatDefaulted(ParseDefaulted(text)); got != text {
		t.Errorf("got %q", got)
	}
}

// FuzzParseDefaulted: others can write the annotation. What is read is written again as it was read.
func FuzzParseDefaulted(f *testing.F) {
	f.Add("LimitRanger plugin set: cpu, memory request for container web; cpu limit for init container setup")
	f.Add("LimitRanger plugin set: ; for ; request for container ; x for y")
	f.Fuzz(func(t *testing.T, annotation string) {
		all := ParseDefaulted(annotation)
		kept := slices.DeleteFunc(slices.Clone(all), func(d Defaulted) bool { return len(d.Requests)+len(d.Limits) == 0 })
		if again := ParseDefaulted(FormatDefaulted(kept)); FormatDefaulted(again) != FormatDefaulted(kept) {
			t.Errorf("%q becomes %q", FormatDefaulted(kept), FormatDefaulted(again))
		}
	})
}
