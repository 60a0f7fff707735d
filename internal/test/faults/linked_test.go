// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package faults_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/fakeapi"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/fakeapi/controllers"
	tols "github.com/kubetaint/terraform-provider-kubetaint/internal/toleration"
)

// pair is a resource of tolerations and one of taints that tolerated_by links to it. Terraform
// walks the first before the second, and destroys them the other way round.
type pair struct{ tolerations, taints acctest.Instance }

func (p *pair) at(first bool) *acctest.Instance {
	if first {
		return &p.tolerations
	}
	return &p.taints
}

// change is what becomes of the pair; nil is what is destroyed.
type change struct{ tolerations, taints map[string]any }

func (c change) of(first bool) map[string]any {
	if first {
		return c.tolerations
	}
	return c.taints
}

// order is that in which Terraform applies: what depends on the other is destroyed before it,
// and otherwise changed after it.
func (c change) order() []bool { return []bool{c.taints != nil, c.taints == nil} }

// linked is one change of a pair, and where it begins.
type linked struct {
	to      change
	start   moment
	pair    pair
	planned map[bool]acctest.Planned
	// wanted is where an undisturbed apply ends.
	wanted world
	left   string
	// gone are the beginnings from which it has gone on, and right the ends whose plans have
	// been found empty.
	gone, right map[string]bool
}

// TestFaults_aLinkedPairLeavesNothingThatRetires removes a toleration and the taint that it is for
// in one run, and kills that before each request and after each write. What was saved of the two
// states by then differs: nothing, or what was done. The next run ends as the undisturbed one.
func TestFaults_aLinkedPairLeavesNothingThatRetires(t *testing.T) {
	t.Parallel()
	acctest.TooLong(t)
	workload := object{"kind": "Deployment", "namespace": "shop", "name": "web"}
	both := object{"workload": workload, "tolerations": []any{toleration("team", "a"), toleration("spot", "b")}}
	one := object{"workload": workload, "tolerations": []any{toleration("spot", "b")}}
	for name, s := range map[string]subject{
		"node_taints": {
			typeName: "node_taints", world: shop("Deployment"),
			first: object{"node_selector": "pool=x"},
		},
		"machine_set_taints in_place": {
			typeName: "machine_set_taints", world: onMachines, kinds: controllers.MachineAPI,
			first: object{"namespace": "machines", "name": "ms", "rollout": rollouts["in_place"]},
		},
	} {
		more, fewer := []any{taint("team", "a", "NoExecute"), taint("rest", "", "PreferNoSchedule")}, []any{taint("rest", "", "PreferNoSchedule")}
		for what, tt := range map[string]struct {
			to change
			// before and after are whether tolerated_by names the resource of the tolerations, and
			// not depends_on.
			before, after bool
			left          string
		}{
			"the toleration goes":             {to: change{one, acctest.With(s.first, object{"taints": fewer})}, before: true, after: true, left: "spot=b"},
			"the toleration goes, depends_on": {to: change{one, acctest.With(s.first, object{"taints": fewer})}, left: "spot=b"},
			"its resource goes":               {to: change{nil, acctest.With(s.first, object{"taints": fewer})}, before: true},
			"its resource goes, depends_on":   {to: change{nil, acctest.With(s.first, object{"taints": fewer})}},
			"the resource of the taints goes": {to: change{one, nil}, before: true, left: "spot=b"},
			"both resources go":               {before: true},
		} {
			t.Run(name+" "+what, func(t *testing.T) {
				t.Parallel()
				l := &linked{to: tt.to, left: tt.left, gone: map[string]bool{}, right: map[string]bool{}}
				s := s
				s.first = acctest.With(s.first, object{"taints": more})
				r := l.prepare(t, s, both, tt.before, tt.after)
				if n := r.killed(t, l); n < 20 {
					t.Errorf("%d points", n)
				}
			})
		}
	}
}

// onMachines has the pods of the Deployment on the machines of the pool.
func onMachines(api *fakeapi.Server) {
	pool(api)
	fakeapi.Edit(api, "shop", "web", func(d *appsv1.Deployment) {
		d.Spec.Template.Spec.NodeSelector = map[string]string{controllers.PoolLabel: "ms"}
		d.Spec.Template.Spec.Tolerations = []corev1.Toleration{{Key: "foreign", Operator: corev1.TolerationOpExists}}
	})
}

// walked is an apply of a pair, and how many of its moments were before its second resource.
type walked struct {
	*run
	before, after int
	// half is the pair as it was between the two.
	half pair
}

// prepare brings the pair to where the change begins, and carries it out without a fault.
func (l *linked) prepare(t *testing.T, s subject, tolerations map[string]any, before, after bool) *walked {
	t.Helper()
	l.pair = pair{acctest.Instance{Type: "kubetaint_workload_tolerations"}, acctest.Instance{Type: "kubetaint_" + s.typeName}}
	bubble(t, moment{api: fakeapi.New(s.kinds...)}, func(t *testing.T, api *fakeapi.Server) {
		s.world(api)
		time.Sleep(calm)
		first := change{tolerations: tolerations, taints: s.first}
		// The id is known after the create alone.
		tf := through(api.Client())
		if d := tf.Apply(t, &l.pair.tolerations, tolerations); d.Errors() != "" {
			t.Fatal(d.Errors())
		}
		link := object{"tolerated_by": []any{tf.Attributes(t, &l.pair.tolerations)["id"]}}
		if before {
			first.taints = acctest.With(first.taints, link)
		}
		if after {
			l.to.taints = acctest.With(l.to.taints, link)
		}
		l.apply(t, api, &l.pair, first, true)
		time.Sleep(calm)
		l.planned = plans(t, through(api.Client()), &l.pair, l.to, true)
		l.start = moment{api.Clone(), time.Now()}
	})
	w := &walked{}
	bubble(t, l.start, func(t *testing.T, api *fakeapi.Server) {
		client, p := api.Client(), l.pair
		w.run = record(client, api)
		walk := through(client).Walk(t)
		for n, first := range l.to.order() {
			if n == 1 {
				w.before, w.after, w.half = len(w.run.before), len(w.run.after), p
				if marks := fakeapi.Objects[*appsv1.Deployment](api)[0].Annotations[tols.OwnedAnnotation]; strings.Contains(marks, `"retiring":true`) == first {
					t.Fatalf("between the two the marks are %s", marks)
				}
			}
			if planned := l.planned[first]; !planned.Empty {
				if d := walk.ApplyChange(p.at(first), planned, l.to.of(first)); d.Errors() != "" {
					t.Fatalf("without a fault: %s", d.Errors())
				}
			}
		}
		time.Sleep(calm)
		l.wanted = look(api)
		l.end(t, api, &p)
	})
	return w
}

// plans has one process plan both, after a refresh or without one.
func plans(t *testing.T, tf *acctest.Terraform, p *pair, to change, refresh bool) map[bool]acctest.Planned {
	t.Helper()
	walk, out := tf.Walk(t), map[bool]acctest.Planned{}
	for _, first := range []bool{true, false} {
		i, config := p.at(first), to.of(first)
		if refresh {
			if d := walk.Refresh(i); d.Errors() != "" {
				t.Fatal(d.Errors())
			}
		}
		if !i.Exists() && config == nil {
			out[first] = acctest.Planned{Empty: true}
			continue
		}
		out[first] = walk.Plan(i, config)
		if e := out[first].Diagnostics.Errors(); e != "" {
			t.Fatalf("plan: %s", e)
		}
	}
	return out
}

// apply plans and applies both, each in one process.
func (l *linked) apply(t *testing.T, api *fakeapi.Server, p *pair, to change, refresh bool) {
	t.Helper()
	planned := plans(t, through(api.Client()), p, to, refresh)
	walk := through(api.Client()).Walk(t)
	for _, first := range to.order() {
		if planned[first].Empty {
			continue
		}
		if d := walk.ApplyChange(p.at(first), planned[first], to.of(first)); d.Errors() != "" {
			t.Fatalf("applying again: %s", d.Errors())
		}
	}
}

// end checks the end, and that both plans are empty there. An end that has been found right is
// not planned for once more.
func (l *linked) end(t *testing.T, api *fakeapi.Server, p *pair) {
	t.Helper()
	time.Sleep(calm)
	if names := api.Evictions(); len(names) > 0 {
		t.Errorf("taints evicted %v", names)
	}
	if difference := l.wanted.difference(look(api)); difference != "" {
		t.Errorf("the end differs from that of an undisturbed apply:\n%s", difference)
	}
	for _, d := range fakeapi.Objects[*appsv1.Deployment](api) {
		var has []string
		for _, one := range d.Spec.Template.Spec.Tolerations {
			if one.Key != "foreign" {
				has = append(has, one.Key+"="+one.Value)
			}
		}
		marks := d.Annotations[tols.OwnedAnnotation]
		if got := strings.Join(has, " "); got != l.left || strings.Contains(marks, "retiring") || (marks == "") != (l.left == "") {
			t.Errorf("the workload has %q, and the marks %s", got, marks)
		}
	}
	for _, first := range []bool{true, false} {
		if p.at(first).Exists() != (l.to.of(first) != nil) {
			t.Errorf("%s is in the state: %t", p.at(first).Type, p.at(first).Exists())
		}
	}
	here := where(api, &p.tolerations) + where(api, &p.taints)
	if l.right[here] {
		return
	}
	for _, planned := range plans(t, through(api.Client()), p, l.to, true) {
		if !planned.Empty {
			t.Errorf("a plan is not empty: %s", planned.Diagnostics.Warnings())
		}
	}
	l.right[here] = !t.Failed()
}

// killed goes on from each moment, and returns how many there were.
func (w *walked) killed(t *testing.T, l *linked) int {
	t.Helper()
	points := 0
	for _, at := range []struct {
		name    string
		moments []moment
		half    int
	}{{killedBefore, w.run.before, w.before}, {killedAfter, w.run.after, w.after}} {
		for n, m := range at.moments {
			saved := map[string]pair{"nothing": l.pair}
			if n >= at.half {
				saved["the first"] = w.half
			}
			for what, p := range saved {
				for _, refresh := range []bool{true, false} {
					points++
					if !refresh && points%oneUnrefreshed != 0 {
						continue
					}
					l.goOn(t, fmt.Sprintf("%s request %d, saved %s, refresh=%t", at.name, n+1, what, refresh), m, p, refresh)
				}
			}
		}
	}
	return points
}

// goOn applies again from a moment. Those that are alike go on alike.
func (l *linked) goOn(t *testing.T, name string, m moment, p pair, refresh bool) {
	t.Helper()
	here := fmt.Sprint(where(m.api, &p.tolerations), where(m.api, &p.taints), refresh)
	if l.gone[here] {
		return
	}
	l.gone[here] = true
	t.Run(name, func(t *testing.T) {
		bubble(t, m, func(t *testing.T, api *fakeapi.Server) {
			l.apply(t, api, &p, l.to, refresh)
			l.end(t, api, &p)
		})
	})
}
