// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package planner

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/toleration"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/workload"
)

// tol reads a toleration as taint.FormatToleration writes it.
func tol(t *testing.T, s string) corev1.Toleration {
	t.Helper()
	var out corev1.Toleration
	head, seconds, limited := strings.Cut(s, " for ")
	if key, effect, exists := strings.Cut(head, "Exists"); exists {
		out = corev1.Toleration{Key: strings.TrimSpace(key), Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffect(strings.TrimPrefix(effect, ":"))}
	} else {
		out = taint.TolerationFor(taintsOf(t, head)[0])
	}
	if limited {
		n, err := strconv.ParseInt(strings.TrimSuffix(seconds, "s"), 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		out.TolerationSeconds = &n
	}
	if written := taint.FormatToleration(out); written != s {
		t.Fatalf("%q is read as %q", s, written)
	}
	return out
}

func tols(t *testing.T, notations ...string) []corev1.Toleration {
	t.Helper()
	var out []corev1.Toleration
	for _, n := range notations {
		out = append(out, tol(t, n))
	}
	return out
}

// aWorkload has tolerations; those after a "*" are marked as of generation g2,
// those after a "!" as another owner's. Those after a "~" retire, left by others, and those
// after a "*~" by generation g2.
func aWorkload(t *testing.T, kind, name string, notations ...string) *workload.Workload {
	t.Helper()
	known, ok := workload.Lookup("", kind)
	if !ok {
		t.Fatalf("%s is not known", kind)
	}
	w := &workload.Workload{
		Ref:  workload.Ref{APIVersion: known.APIVersion, Kind: kind, Namespace: "shop", Name: name},
		Path: known.Path, Observed: true, Rolling: workload.Rolling{Later: kind == "CronJob"},
	}
	w.Pods = []snapshot.WorkloadKey{w.Owner()}
	for _, s := range notations {
		x := tol(t, strings.TrimLeft(s, "*!~"))
		w.Tolerations = append(w.Tolerations, x)
		mark := toleration.Mark{Key: x.Key, Operator: x.Operator, Value: x.Value, Effect: x.Effect, Seconds: x.TolerationSeconds, Owner: "me", Generation: "g2"}
		switch s[0] {
		case '!':
			mark.Owner, mark.Generation = "other", "g9"
		case '~':
			mark.Owner, mark.Generation, mark.Retiring = "gone", "g1", true
		case '*':
			mark.Retiring = strings.HasPrefix(s, "*~")
		default:
			continue
		}
		w.Record = append(w.Record, mark)
	}
	return w
}

// aPod runs on a node, or waits for one, with the tolerations of its workload's
// template, or with others.
func aPod(t *testing.T, w *workload.Workload, name, node string, notations ...string) *snapshot.Pod {
	t.Helper()
	p := &snapshot.Pod{
		Namespace: w.Namespace, Name: name, Node: node, Controller: &snapshot.Controller{Owner: w.Owner().Owner},
		Scheduling: &snapshot.Scheduling{Tolerations: w.Tolerations},
	}
	if len(notations) > 0 {
		p.Scheduling.Tolerations = tols(t, notations...)
	}
	w.Wants++
	return p
}

func aSnapshot(nodes []*snapshot.Node, pods ...*snapshot.Pod) *snapshot.Snapshot {
	s := &snapshot.Snapshot{Nodes: map[string]*snapshot.Node{}, Pods: map[string][]*snapshot.Pod{}}
	for _, n := range nodes {
		s.Nodes[n.Name] = n
	}
	for _, p := range pods {
		if p.Node == "" {
			s.Waiting = append(s.Waiting, p)
		} else {
			s.Pods[p.Node] = append(s.Pods[p.Node], p)
		}
	}
	return s
}

// tolerate is a claim of generation g2 on a workload.
func tolerate(t *testing.T, w *workload.Workload, notations ...string) Tolerations {
	t.Helper()
	return Tolerations{Workload: w, Claim: toleration.Claim{Owner: "me", Generation: "g2", Tolerations: tols(t, notations...)}}
}

// write writes a step for a reader: what stands there after it, with "~" before
// what retires, and the pods that it concerns.
func write(step Step) string {
	var pods, list []string
	for _, p := range step.Pods {
		pods = append(pods, p.Name)
	}
	for _, x := range toleration.Sort(slices.Clone(step.Merged.Tolerations)) {
		s := taint.FormatToleration(x)
		if slices.ContainsFunc(step.Merged.Record, func(m toleration.Mark) bool { return m.Retiring && toleration.Equal(m.Toleration(), x) }) {
			s = "~" + s
		}
		list = append(list, s)
	}
	switch step.Kind {
	case ApplyTaints:
		return "switch " + strings.Join(steps(step.Nodes), "; ")
	case Wait:
		if step.Missing > 0 {
			pods = append(pods, fmt.Sprintf("and %d missing", step.Missing))
		}
		return strings.TrimSpace(fmt.Sprintf("wait for %s: %s", step.Workload.Name, strings.Join(pods, " ")))
	case Expand, Contract:
	}
	out := strings.TrimSpace(fmt.Sprintf("%s %s: %s", step.Kind, step.Workload.Name, strings.Join(list, ", ")))
	if len(pods) > 0 {
		out += ", restarts " + strings.Join(pods, " ")
	}
	return out
}

func writeSteps(plan Plan) []string {
	var out []string
	for _, step := range plan.Steps {
		out = append(out, write(step))
	}
	return out
}

// verdicts writes what switches do to pods that do not plainly stay.
func verdicts(plan Plan) []string {
	var out []string
	for _, step := range plan.Steps {
		if step.Report == nil {
			continue
		}
		for _, v := range step.Report.Pods {
			s := v.Pod.Name + " " + string(v.Verdict)
			if v.Stranded {
				s += " stranded"
			}
			if v.Misscheduled {
				s += " misscheduled"
			}
			if !v.Plain() {
				out = append(out, s)
			}
		}
	}
	return out
}
