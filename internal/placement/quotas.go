// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package placement

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

// quotas are what ResourceQuotas leave for new pods. A controller tries again until one is created
// (k8s.io/kubernetes v1.37.2 pkg/controller/replicaset/replica_set.go, manageReplicas), so that a pod
// which gives back what it uses only once it is gone keeps no replacement away for good.
type quotas struct {
	// base is what is left of each limit at the first moment, left in the order that is being tried:
	// less than nothing where a ResourceQuota was lowered.
	base, left []int64
	limits     []quotaLimit
	// from leads to the first limit of a namespace's ResourceQuotas.
	from    map[string]int
	charges map[chargeKey]*charge
	// unmodelled are the ResourceQuotas that may keep replacements away and cannot be judged.
	unmodelled map[string]bool
}

type quotaLimit struct {
	quota    *snapshot.Quota
	resource corev1.ResourceName
}

// chargeKey is what two pods have in common that every ResourceQuota counts in the same way.
type chargeKey struct {
	namespace string
	demand    *snapshot.Demand
}

// charge is what a pod uses of limits: asks for a new one, holds for the one that runs.
type charge struct {
	limits      []int
	asks, holds []int64
	// unmodelled names the ResourceQuotas that cannot be judged for the pod.
	unmodelled []string
}

// newQuotas prepares what ResourceQuotas leave once the pods that are evicted immediately are gone.
func newQuotas(s *simulation) *quotas {
	q := &quotas{from: map[string]int{}, charges: map[chargeKey]*charge{}, unmodelled: map[string]bool{}}
	for namespace, all := range s.snapshot.Quotas {
		q.from[namespace] = len(q.limits)
		for i := range all {
			for _, l := range all[i].Limits {
				q.limits, q.base = append(q.limits, quotaLimit{&all[i], l.Resource}), append(q.base, l.Hard-l.Used)
			}
		}
	}
	q.left = q.base
	for pod, after := range s.evicted {
		if after <= 0 {
			q.release(s, pod)
		}
	}
	q.left = slices.Clone(q.base)
	return q
}

func (q *quotas) reset() { copy(q.left, q.base) }

// of returns what a pod uses, nil where no ResourceQuota limits it.
func (q *quotas) of(s *simulation, pod *snapshot.Pod) *charge {
	all := s.snapshot.Quotas[pod.Namespace]
	if len(all) == 0 {
		return nil
	}
	key := chargeKey{pod.Namespace, pod.Requests()}
	c, known := q.charges[key]
	if known {
		return c
	}
	c = &charge{}
	at := q.from[pod.Namespace]
	for i := range all {
		counts, certain := all[i].Counts(pod)
		for _, l := range all[i].Limits {
			asks, modelled := pod.Requests().Asks.Charge(l.Resource)
			holds, _ := pod.Requests().Holds.Charge(l.Resource)
			switch {
			case !counts:
			case certain && modelled && (asks > 0 || !requires(l.Resource)):
				c.limits, c.asks, c.holds = append(c.limits, at), append(c.asks, asks), append(c.holds, holds)
			case l.Exceeded() || certain && asks == 0 && requires(l.Resource):
				c.unmodelled = append(c.unmodelled, pod.Namespace+"/"+all[i].Name)
			}
			at++
		}
	}
	q.charges[key] = c
	return c
}

// requires reports whether a ResourceQuota of this resource admits no pod without a request of it
// (k8s.io/kubernetes v1.37.2 pkg/quota/v1/evaluator/core/pods.go, Constraints). A LimitRange may give
// the new pod one.
func requires(name corev1.ResourceName) bool {
	switch name {
	case corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourceRequestsCPU, corev1.ResourceRequestsMemory:
		return true
	default:
		return false
	}
}

// release gives back what a pod uses that is gone.
func (q *quotas) release(s *simulation, pod *snapshot.Pod) {
	if c := q.of(s, pod); c != nil {
		for i, at := range c.limits {
			q.left[at] += c.holds[i]
		}
	}
}

// admit charges a new pod in the place of this one, and returns the ResourceQuota that refuses it, nil
// for none. Only what the pod uses itself is checked
// (k8s.io/apiserver v0.37.2 pkg/admission/plugin/resourcequota/controller.go, CheckRequest).
func (q *quotas) admit(s *simulation, pod *snapshot.Pod) *Refusal {
	c := q.of(s, pod)
	if c == nil {
		return nil
	}
	for _, name := range c.unmodelled {
		q.unmodelled[name] = true
	}
	var out *Refusal
	for i, at := range c.limits {
		if c.asks[i] <= 0 || q.left[at] >= c.asks[i] {
			continue
		}
		if out == nil {
			out = &Refusal{Quota: q.limits[at].quota.Name}
		}
		if out.Quota == q.limits[at].quota.Name {
			out.Resources = append(out.Resources, string(q.limits[at].resource))
		}
	}
	if out != nil {
		return out
	}
	for i, at := range c.limits {
		q.left[at] -= c.asks[i]
	}
	return nil
}

// Refusal is why a ResourceQuota refuses a pod.
type Refusal struct {
	// Quota is the name of the ResourceQuota, Resources those of which it has too little left.
	Quota     string
	Resources []string
}

// Reason words it for a sentence: quota "compute" leaves no room for it (requests.cpu).
func (r *Refusal) Reason() string {
	return "quota \"" + r.Quota + "\" leaves no room for it (" + strings.Join(r.Resources, ", ") + ")"
}

// Brief words it in fewer: quota compute: requests.cpu.
func (r *Refusal) Brief() string { return "quota " + r.Quota + ": " + strings.Join(r.Resources, ", ") }
