// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package faults_test

import (
	"math/rand/v2"
	"sync"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
)

// sequence is a random configuration of several resources, a random change of it and a random
// fault of the apply: all from one seed.
type sequence struct {
	*rand.Rand
	names
	resources []*instance
	machines  bool
	// timeouts are those of all resources that have some, nil for the usual ones.
	timeouts object
	// ends counts how sequences end, nil for none.
	ends *ends
	// tolerationsID is the id of the first resource, as the last plan knows it.
	tolerationsID any
}

// ends are how sequences ended, and how often an apply refused other than its plan said for a known reason.
type ends struct {
	mu sync.Mutex
	of map[string]int
}

func (e *ends) note(what string) {
	if e == nil {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.of == nil {
		e.of = map[string]int{}
	}
	e.of[what]++
}

// names are those of the objects that a sequence is about: a real cluster is shared with other tests.
type names struct{ namespace, pool, node, beside, policy, sets, set, team, extra string }

var namesOfFakes = names{namespace: "shop", pool: "x", node: "n1", beside: "n3", policy: "team", sets: "machines", set: "ms", team: "team", extra: "extra"}

// instance is a resource with its configurations: nil where it does not exist.
type instance struct {
	acctest.Instance
	before, after map[string]any
	// linked is set where tolerated_by names the resource of the tolerations.
	linked bool
}

func (r *instance) config(after bool) map[string]any {
	if after {
		return r.after
	}
	return r.before
}

func newSequence(seed uint64, of names) *sequence {
	s := &sequence{Rand: rand.New(rand.NewPCG(seed, 27)), names: of}
	s.machines = s.IntN(3) == 0
	switch {
	case s.IntN(4) == 0:
		s.add("dedicated_nodes", s.dedicated)
	default:
		s.add("workload_tolerations", s.tolerated)
		if s.machines {
			s.add("machine_set_taints", s.templated).linked = s.IntN(2) == 0
		} else {
			s.add("node_taints", s.tainted).linked = s.IntN(2) == 0
			if s.IntN(3) == 0 {
				s.add("node_taints", s.taintedBeside).linked = s.IntN(2) == 0
			}
		}
	}
	if s.IntN(3) == 0 {
		s.add("toleration_policy", s.policed)
	}
	if s.IntN(4) == 0 {
		s.add("namespace_tolerations", s.defaults)
	}
	return s
}

// add adds a resource that one of the configurations may lack.
func (s *sequence) add(typeName string, config func() map[string]any) *instance {
	r := &instance{Instance: acctest.Instance{Type: "kubetaint_" + typeName}}
	if s.IntN(4) > 0 {
		r.before = config()
	}
	if s.IntN(4) > 0 {
		r.after = config()
	}
	s.resources = append(s.resources, r)
	return r
}

func among[T any](s *sequence, of ...T) T { return of[s.IntN(len(of))] }

func (s *sequence) someTaints() []any {
	out := []any{taint(s.team, among(s, "a", "b", ""), among(s, "NoExecute", "NoExecute", "NoSchedule"))}
	if s.IntN(3) == 0 {
		out = append(out, taint(s.extra, "", among(s, "NoExecute", "NoSchedule", "PreferNoSchedule")))
	}
	return out
}

func (s *sequence) someTolerations() []any {
	out := []any{toleration(s.team, among(s, "a", "b", ""))}
	if s.IntN(3) == 0 {
		out = append(out, toleration(s.extra, ""))
	}
	return out
}

func (s *sequence) web() object {
	return object{"kind": "Deployment", "namespace": s.namespace, "name": "web"}
}

func (s *sequence) tolerated() map[string]any {
	return object{"workload": s.web(), "tolerations": s.someTolerations()}
}

func (s *sequence) tainted() map[string]any {
	return acctest.With(among(s, object{"node_selector": "pool=" + s.pool}, object{"node_name": s.node}), object{"taints": s.someTaints()})
}

// taintedBeside taints the node that is in no pool.
func (s *sequence) taintedBeside() map[string]any {
	return object{"node_name": s.beside, "taints": s.someTaints()}
}

func (s *sequence) rollout() object {
	return among(s, rollouts["in_place"], rollouts["rolling"], rollouts["surge"], rollouts["scale_to_zero"], rollouts["scale_to_zero removed"], rollouts["template_only"])
}

func (s *sequence) templated() map[string]any {
	return object{"namespace": s.sets, "name": s.set, "taints": s.someTaints(), "rollout": s.rollout()}
}

func (s *sequence) dedicated() map[string]any {
	out := object{"taints": s.someTaints(), "labels": object{"dedicated": among(s, "a", "b")}}
	if s.IntN(3) > 0 {
		out["workloads"] = []any{s.web()}
	}
	if s.machines {
		out["machine_sets"] = object{"namespace": s.sets, "name": s.set, "rollout": s.rollout()}
	} else {
		out["node_selector"] = "pool=" + s.pool
	}
	return out
}

func (s *sequence) policed() map[string]any {
	return object{"name": s.policy, "match": object{"namespaces": []any{s.namespace}}, "tolerations": s.someTolerations()}
}

func (s *sequence) defaults() map[string]any {
	return object{"namespace": s.namespace, "default": s.someTolerations()}
}
