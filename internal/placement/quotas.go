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
	// less than nothing where a ResourceQuota was lowered. Unreleased is base while the pods that are evicted immediately
	// still count.
	base, left, unreleased []int64
	limits                 []quotaLimit
	// from leads to the first limit of a namespace's ResourceQuotas.
	from    map[string]int
	charges map[demandIn]*charge
	// unmodelled are the ResourceQuotas that may keep replacements away and cannot be judged.
	unmodelled map[string]bool
}

type quotaLimit struct {
	quota    *snapshot.Quota
	resource corev1.ResourceName
}

// charge is what a pod uses of limits: asks for a new one, holds for the one that runs.
type charge struct {
	limits      []int
	asks, holds []int64
	// refusal is that of a ResourceQuota of something that a container does not set, nil for none.
	refusal *Refusal
	// unmodelled names the ResourceQuotas that cannot be judged for the pod.
	unmodelled []string
}

// newQuotas prepares what ResourceQuotas leave once the pods that are evicted immediately are gone.
func newQuotas(s *simulation) *quotas {
	q := &quotas{from: map[string]int{}, charges: map[demandIn]*charge{}, unmodelled: map[string]bool{}}
	for namespace, all := range s.snapshot.Quotas {
		q.from[namespace] = len(q.limits)
		for i := range all {
			for _, l := range all[i].Limits {
				q.limits, q.base = append(q.limits, quotaLimit{&all[i], l.Resource}), append(q.base, l.Hard-l.Used)
			}
		}
	}
	q.left, q.unreleased = q.base, slices.Clone(q.base)
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
	key := demandIn{pod.Namespace, pod.Requests()}
	c, known := q.charges[key]
	if known {
		return c
	}
	c = &charge{}
	demand, running := s.admitted(pod).demand, pod.Requests()
	at := q.from[pod.Namespace]
	for i := range all {
		counts, certain := all[i].Counts(demand)
		for _, l := range all[i].Limits {
			lacks := demand.Lacks(l.Resource)
			holds, sure := usedOf(&all[i], running, l.Resource)
			switch {
			case !counts && sure:
				c.limits, c.asks, c.holds = append(c.limits, at), append(c.asks, 0), append(c.holds, holds)
			case !counts:
			case !certain || lacks && s.snapshot.LimitRanges == nil:
				// A LimitRange may give a new pod what it lacks.
				if lacks || l.Exceeded() {
					c.unmodelled = append(c.unmodelled, pod.Namespace+"/"+all[i].Name)
				}
			case lacks:
				c.refusal = c.refusal.with(all[i].Name, l.Resource, true)
			default:
				asks, _ := demand.Charges(l.Resource)
				c.limits, c.asks, c.holds = append(c.limits, at), append(c.asks, asks), append(c.holds, holds)
			}
			at++
		}
	}
	q.charges[key] = c
	return c
}

// usedOf returns what a running pod uses of a ResourceQuota, and whether that is known: a quota judges each pod by itself, and
// the new one may have a PriorityClass, or requests, that the running one does not
// (k8s.io/kubernetes v1.37.2 pkg/quota/v1/evaluator/core/pods.go, podMatchesScopeFunc).
func usedOf(q *snapshot.Quota, running *snapshot.Demand, name corev1.ResourceName) (used int64, known bool) {
	counts, known := q.Counts(running)
	if known && !counts {
		return 0, true
	}
	_, used = running.Charges(name)
	return used, known
}

// release gives back what a pod uses that is gone.
func (q *quotas) release(s *simulation, pod *snapshot.Pod) { q.credit(s, pod, q.left) }

// refund takes back that a new pod in the place of this one was admitted.
func (q *quotas) refund(s *simulation, pod *snapshot.Pod) {
	if c := q.of(s, pod); c != nil {
		for i, at := range c.limits {
			q.left[at] += c.asks[i]
		}
	}
}

// credit adds what a pod uses to what is left. One that was overdue does not count for most limits before.
func (q *quotas) credit(s *simulation, pod *snapshot.Pod, left []int64) {
	if c := q.of(s, pod); c != nil {
		for i, at := range c.limits {
			if !pod.Overdue || q.limits[at].resource == snapshot.CountPods {
				left[at] += c.holds[i]
			}
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
	out := c.refusal
	for i, at := range c.limits {
		if c.refusal == nil && c.asks[i] > 0 && q.left[at] < c.asks[i] {
			out = out.with(q.limits[at].quota.Name, q.limits[at].resource, false)
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

// byQuota reports whether a quota has refused the pod for lack of room. Its controller tries again
// (k8s.io/kubernetes v1.37.2 pkg/controller/replicaset/replica_set.go, syncReplicaSet).
func (r *replacement) byQuota() bool {
	return !r.created && !r.ended && r.refused != nil && r.refused.Quota != "" && !r.refused.Unset
}

// Refusal is why admission refuses a pod: its namespace, a LimitRange, a ResourceQuota, or a PriorityClass that is gone.
type Refusal struct {
	// Quota is the name of the ResourceQuota, Resources those of which it has too little left. Unset is
	// set where a container sets none of them.
	Quota     string
	Resources []string
	Unset     bool
	// LimitRange is the name of the LimitRange, and Resources its limit, such as "min cpu".
	LimitRange string
	// PriorityClass is the name of the one that does not exist.
	PriorityClass string
	// Namespace is what the namespace does not allow: a sentence without its end.
	Namespace string
}

// with adds a resource of the ResourceQuota that refuses first.
func (r *Refusal) with(quota string, name corev1.ResourceName, unset bool) *Refusal {
	if r == nil {
		r = &Refusal{Quota: quota, Unset: unset}
	}
	if r.Quota == quota && r.Unset == unset {
		r.Resources = append(r.Resources, string(name))
	}
	return r
}

// Reason words it for a sentence: quota "compute" leaves no room for it (requests.cpu).
func (r *Refusal) Reason() string {
	resources := strings.Join(r.Resources, ", ")
	switch {
	case r.Namespace != "":
		return r.Namespace
	case r.PriorityClass != "":
		return "PriorityClass \"" + r.PriorityClass + "\" does not exist"
	case r.LimitRange != "":
		return "LimitRange \"" + r.LimitRange + "\" refuses it (" + resources + ")"
	case r.Unset:
		return "quota \"" + r.Quota + "\" requires " + resources + " of each container"
	}
	return "quota \"" + r.Quota + "\" leaves no room for it (" + resources + ")"
}

// Brief words it in fewer: quota compute: requests.cpu.
func (r *Refusal) Brief() string {
	resources := strings.Join(r.Resources, ", ")
	switch {
	case r.Namespace != "":
		return "namespace forbids it"
	case r.PriorityClass != "":
		return "no PriorityClass " + r.PriorityClass
	case r.LimitRange != "":
		return "LimitRange " + r.LimitRange + ": " + resources
	case r.Unset:
		return "quota " + r.Quota + " requires " + resources
	}
	return "quota " + r.Quota + ": " + resources
}
