// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package eviction

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/placement"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

// Verdict is the predicted outcome for a pod.
type Verdict string

// The five verdicts.
const (
	// Stays: the change does not evict the pod.
	Stays Verdict = "stays"
	// EvictedNow: the taint-eviction controller, or the DaemonSet controller, deletes
	// it immediately.
	EvictedNow Verdict = "evicted_now"
	// EvictedAfter: it is deleted when its toleration has run out.
	EvictedAfter Verdict = "evicted_after"
	// Drained: it is evicted because its node is drained.
	Drained Verdict = "drained"
	// Unknown: the API does not show what decides; the reason names it.
	Unknown Verdict = "unknown"
)

// Scenario is what nodes will look like.
type Scenario struct {
	// Taints holds, by node, the whole list as it will be.
	Taints map[string][]corev1.Taint
	// Labels holds, by node, all labels as they will be.
	Labels map[string]map[string]string
	// Drains holds the nodes that are cordoned, and whose pods are evicted through the eviction API.
	Drains map[string]bool
	// Undrained holds those of them whose pods are killed with their machine.
	Undrained map[string]bool
	// Selects reports whether the drains consider a pod: others stay. Nil means all pods.
	Selects func(*snapshot.Pod) bool
	// Deletes is set where the drains delete pods in place of evictions: PodDisruptionBudgets are bypassed.
	Deletes bool
	// Closed holds the nodes that are deleted, drained before or not: they take no pods.
	Closed map[string]bool
	// Turns holds, by node, after how many turns of a rollout it is drained, none for the first turn.
	Turns map[string]int
	// Comes are the nodes that the change brings, one for each kind.
	Comes []placement.Coming
	// Tolerations holds, by workload, the changes of tolerations in the same run.
	Tolerations map[snapshot.WorkloadKey]Planned
}

// Comparison is what is known of the cluster's feature gate
// TaintTolerationComparisonOperators, which the API does not show.
type Comparison int

// The states of the gate. Where it is not known and would make a
// difference, the verdict is Unknown.
const (
	ComparisonUnknown Comparison = iota
	ComparisonOff
	ComparisonOn
)

// Doubt is why a verdict is Unknown by the taints themselves.
type Doubt int

// The doubts that the API leaves: when a countdown began that runs already, and whether the feature gate of
// comparisons is on.
const (
	_ Doubt = iota
	DoubtCountdown
	DoubtGate
)

// PodVerdict is the verdict for one pod, with its reasons.
type PodVerdict struct {
	Pod     *snapshot.Pod
	Owner   snapshot.Owner
	Verdict Verdict
	// AfterSeconds is the delay in seconds, for EvictedAfter.
	AfterSeconds int64
	// Taint is the taint that decided, nil where none did.
	Taint *corev1.Taint
	// Toleration is the pod's toleration that decided, nil where none did.
	Toleration *corev1.Toleration
	// Reason explains the verdict in a sentence.
	Reason string
	// Doubt is what the API does not show, for Unknown.
	Doubt Doubt
	// Lost is set for an evicted pod that no controller recreates.
	Lost bool
	// Fails is what fails so that a Job does not make it again, "" for none, and OtherPods how many more pods the Job
	// then deletes.
	Fails     string
	OtherPods int
	// MayBeLost is set for an evicted pod that its controller may not recreate, and
	// Perhaps is why, in a few words.
	MayBeLost bool
	Perhaps   string
	// NoPlace is set where it takes no simulation to know that nothing runs in the place of the
	// pod: it stays and no node would take it again, its DaemonSet does not recreate it, or its
	// namespace does not let its controller do that.
	NoPlace bool
	// OtherNodes is set for a pod that stays and could not be scheduled on its node again, as far as
	// is known of what admission gives to new pods: other nodes decide on NoPlace, or there is
	// nothing to tell as that was so before.
	OtherNodes bool
	// Misscheduled is set for a DaemonSet's pod that stays where its DaemonSet
	// would no longer put it.
	Misscheduled bool
	// Remains is set for a pod of the change's own workloads that stays on a node whose new labels its template
	// does not select: it goes to another node once it is recreated.
	Remains bool
	// Stranded is set for a pod that tolerates a taint which goes and not the one
	// which comes in its place: it was meant to be on the node.
	Stranded bool
	// OrderDependent is set where tolerations that the same run gives the pod's workload
	// would make another verdict, and may be written after the taints. The verdict is
	// Unknown where they decide whether the pod is evicted. SavedByTolerations is set
	// beside Stranded where they would keep the pod from being stranded.
	OrderDependent, SavedByTolerations bool
	// Budget names the PodDisruptionBudget that covers an evicted pod, and how far it
	// protects the pod from this kind of eviction. Empty without one.
	Budget string
	// Beyond is set where the change evicts more pods of the PodDisruptionBudget than it allows.
	Beyond *Beyond
}

// Beyond is a PodDisruptionBudget that allows fewer disruptions than pods are evicted.
type Beyond struct {
	Name    string
	Allowed int
	// Obeyed is set where a drain waits for the PodDisruptionBudget; taint eviction and deletion bypass it.
	Obeyed bool
}

// Leaves reports whether the pod is deleted.
func (v PodVerdict) Leaves() bool {
	return v.Verdict == EvictedNow || v.Verdict == EvictedAfter || v.Verdict == Drained
}

// Rejected reports whether the pod is evicted and its namespace does not let its controller create another one.
func (v PodVerdict) Rejected() bool { return v.Leaves() && v.NoPlace && !v.Owner.DaemonSet() }

// Plain reports whether a message has nothing to add about the pod.
func (v PodVerdict) Plain() bool {
	return v.Verdict == Stays && !v.NoPlace && !v.Misscheduled && !v.Remains && !v.Stranded && !v.OrderDependent && !v.Pod.Terminating
}
