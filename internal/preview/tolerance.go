// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package preview

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/eviction"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/toleration"
)

// Tolerance is whether a workload tolerates taints: an element of workloads of kubetaint_workloads.
type Tolerance struct {
	Namespace  string           `json:"namespace"   tfsdk:"namespace"`
	Kind       string           `json:"kind"        tfsdk:"kind"`
	Name       string           `json:"name"        tfsdk:"name"`
	Pods       int              `json:"pods"        tfsdk:"pods"`
	PodsDiffer bool             `json:"pods_differ" tfsdk:"pods_differ"`
	Tolerates  bool             `json:"tolerates"   tfsdk:"tolerates"`
	ForSeconds *int64           `json:"for_seconds" tfsdk:"for_seconds"`
	Uncertain  bool             `json:"uncertain"   tfsdk:"uncertain"`
	Taints     []TaintTolerance `json:"taints"      tfsdk:"taints"`
}

// TaintTolerance is whether one taint is tolerated, and by what.
type TaintTolerance struct {
	Taint      string   `json:"taint"       tfsdk:"taint"`
	Tolerates  bool     `json:"tolerates"   tfsdk:"tolerates"`
	ForSeconds *int64   `json:"for_seconds" tfsdk:"for_seconds"`
	Uncertain  bool     `json:"uncertain"   tfsdk:"uncertain"`
	Toleration *string  `json:"toleration"  tfsdk:"toleration"`
	Shadowed   []string `json:"shadowed"    tfsdk:"shadowed"`
}

// Tolerances returns whether the workloads tolerate taints whose pods concern the caller, as eviction.Answers does.
func Tolerances(s *snapshot.Snapshot, taints []corev1.Taint, concerns func(*snapshot.Pod) bool, comparison eviction.Comparison) []Tolerance {
	out := []Tolerance{}
	for _, a := range eviction.Answers(s, taints, concerns, comparison) {
		out = append(out, ToleranceOf(a))
	}
	return out
}

// ToleranceOf returns an answer in fields.
func ToleranceOf(a eviction.WorkloadAnswer) Tolerance {
	out := Tolerance{
		Namespace: a.Namespace, Kind: a.Kind, Name: a.Name, Pods: a.Pods, PodsDiffer: a.Differ,
		Tolerates: a.Lasts != toleration.Untolerated, ForSeconds: forSeconds(a.Lasts), Uncertain: a.Uncertain,
		Taints: make([]TaintTolerance, 0, len(a.Taints)),
	}
	for _, one := range a.Taints {
		out.Taints = append(out.Taints, fromTaint(one))
	}
	return out
}

func fromTaint(a eviction.TaintAnswer) TaintTolerance {
	out := TaintTolerance{
		Taint: taint.Format(a.Taint), Tolerates: a.Lasts != toleration.Untolerated,
		ForSeconds: forSeconds(a.Lasts), Uncertain: a.Uncertain, Shadowed: texts(a.Shadowed),
	}
	if a.Toleration != nil {
		out.Toleration = orNull(taint.FormatToleration(*a.Toleration))
	}
	return out
}

// forSeconds is null forever, so that nothing else is: a condition on it alone
// must not take what is not tolerated at all for the best.
func forSeconds(lasts int64) *int64 {
	if lasts == toleration.Forever {
		return nil
	}
	seconds := max(lasts, 0)
	return &seconds
}

func texts(tolerations []corev1.Toleration) []string {
	out := make([]string, len(tolerations))
	for i, t := range tolerations {
		out[i] = taint.FormatToleration(t)
	}
	return out
}
