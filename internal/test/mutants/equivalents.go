// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package main

// equivalent names a mutant that no test can catch, because the code does the same with it.
type equivalent struct {
	file, function string
	// was and becomes are those of the mutant, on one line.
	was, becomes string
	reason       string
}

// equivalents are the mutants that no test can catch. They are found by their text, so
// that they may move within their function.
var equivalents = append(placementEquivalents, []equivalent{
	{
		file: "internal/eviction/daemons.go", function: "evaluation.successor", was: "e.next[key] = s",
		reason: "a cache: without it the same value is made again",
	},
	{
		file: "internal/snapshot/snapshot.go", function: "Snapshot.PodsByWorkload", was: "if built := s.index.Load(); built != nil { return *built }",
		reason: "a cache: without it the same value is made again",
	},
	{
		file: "internal/snapshot/snapshot.go", function: "Snapshot.PodsByWorkload", was: "return *built",
		reason: "a cache: without it the same value is made again",
	},
	{
		file: "internal/snapshot/snapshot.go", function: "Snapshot.PodsByWorkload", was: "s.index.Store(&index)",
		reason: "a cache: without it the same value is made again",
	},
	{
		file: "internal/snapshot/snapshot.go", function: "Snapshot.With", was: "out.index.Store(s.index.Load())",
		reason: "a cache: without it the same value is made again",
	},
	{
		file: "internal/snapshot/amount.go", function: "Whole", was: "q.CmpInt64(mostCounted) >= 0", becomes: "q.CmpInt64(mostCounted) > 0",
		reason: "an amount of as much is counted as that much",
	},
	{
		file: "internal/snapshot/limitrange.go", function: "thousandths", was: "q.CmpInt64(apiresource.MaxMilliValue) > 0", becomes: "q.CmpInt64(apiresource.MaxMilliValue) >= 0",
		reason: "an approximation of that amount is as near as a float64 is",
	},
	{
		file: "internal/planner/nodes.go", function: "PlanNodes", was: "len(s.Kept) > 0", becomes: "len(s.Kept) >= 0",
		reason: "nothing is told of a node that keeps nothing",
	},
	{
		file: "internal/planner/order.go", function: "Tolerations.merge", was: "t.Claim.Release && len(t.Claim.Imported) > 0", becomes: "t.Claim.Release || len(t.Claim.Imported) > 0",
		reason: "a shortcut: taints change nothing where no entry is given up",
	},
	{
		file: "internal/planner/order.go", function: "Tolerations.merge", was: "len(t.Claim.Imported) > 0", becomes: "len(t.Claim.Imported) >= 0",
		reason: "a shortcut: taints change nothing where no entry is given up",
	},
	{
		file: "internal/planner/machinesets.go", function: "order.switchSets", was: "len(begin) < len(affected)", becomes: "len(begin) <= len(affected)",
		reason: "a shortcut: the same MachineSets give the same impact",
	},
	{
		file: "internal/machineset/impact.go", function: "Evaluate", was: "len(all) > len(group)", becomes: "len(all) >= len(group)",
		reason: "a shortcut: the same MachineSets give the same report",
	},
	{
		file: "internal/machineset/impact.go", function: "Evaluate", was: "len(found) > 0", becomes: "len(found) >= 0",
		reason: "a shortcut: nothing is noted of none",
	},
	{
		file: "internal/machineset/routers.go", function: "refuseRouters", was: "if len(leaving) == 0 { return nil }",
		reason: "a shortcut: no router is on none of the nodes",
	},
	{
		file: "internal/machineset/routers.go", function: "refuseRouters", was: "return nil",
		reason: "a shortcut: no router is on none of the nodes",
	},
	{
		file: "internal/machineset/marker.go", function: "Marker.String", was: `if err != nil { panic(fmt.Sprintf("a marker of strings and numbers always marshals: %v", err)) }`,
		reason: "strings and numbers always marshal",
	},
	{
		file: "internal/machineset/marker.go", function: "Marker.String", was: `panic(fmt.Sprintf("a marker of strings and numbers always marshals: %v", err))`,
		reason: "strings and numbers always marshal",
	},
	{
		file: "internal/eviction/arrivals.go", function: "evaluation.arrivals", was: "if len(nodes) == 0 || len(e.snapshot.Daemons) == 0 { return nil }",
		reason: "a shortcut: no such node or DaemonSet gives no pod",
	},
	{
		file: "internal/eviction/arrivals.go", function: "evaluation.arrivals", was: "return nil",
		reason: "a shortcut: no such node or DaemonSet gives no pod",
	},
	{
		file: "internal/eviction/arrivals.go", function: "evaluation.arrivals", was: "len(nodes) == 0 || len(e.snapshot.Daemons) == 0", becomes: "len(nodes) == 0 && len(e.snapshot.Daemons) == 0",
		reason: "a shortcut: no such node or DaemonSet gives no pod",
	},
	{
		file: "internal/eviction/arrivals.go", function: "evaluation.daemonPods", was: "pod.Compare(one) < 0", becomes: "pod.Compare(one) <= 0",
		reason: "no two pods have the same name",
	},
	{
		file: "internal/eviction/evaluate.go", function: "evaluation.mayLeave", was: "if !slices.ContainsFunc(after, func(t corev1.Taint) bool { return t.Effect == corev1.TaintEffectNoExecute }) { if len(e.change.Tolerations) == 0 { return nil } return e.replaces }",
		reason: "a shortcut: no pod is judged to leave for these taints",
	},
	{
		file: "internal/eviction/evaluate.go", function: "evaluation.mayLeave", was: "if len(e.change.Tolerations) == 0 { return nil }",
		reason: "a shortcut: no workload of the run is replaced",
	},
	{
		file: "internal/eviction/evaluate.go", function: "evaluation.mayLeave", was: "return nil",
		reason: "a shortcut: no workload of the run is replaced",
	},
	{
		file: "internal/eviction/evaluate.go", function: "evaluation.mayLeave", was: "return e.replaces",
		reason: "a shortcut: no pod is judged to leave for these taints",
	},
	{
		file: "internal/eviction/judge.go", function: "earlier", was: "off.seconds < on.seconds", becomes: "off.seconds <= on.seconds",
		reason: "the two differ there",
	},
	{
		file: "internal/eviction/planned.go", function: "PodVerdict.inAnyCase", was: "with.AfterSeconds > v.AfterSeconds", becomes: "with.AfterSeconds >= v.AfterSeconds",
		reason: "the two differ there",
	},
	{
		file: "internal/eviction/workloads.go", function: "join", was: "a.Lasts < taints[i].Lasts", becomes: "a.Lasts <= taints[i].Lasts",
		reason: "the two differ there",
	},
	{
		file: "internal/eviction/deadlocks.go", function: "noteBroken", was: "if len(held) == 0 { return }",
		reason: "a shortcut: nothing is noted of no PodDisruptionBudget",
	},
	{
		file: "internal/eviction/deadlocks.go", function: "noteBroken", was: "return",
		reason: "a shortcut: nothing is noted of no PodDisruptionBudget",
	},
	{
		file: "internal/eviction/daemons.go", function: "evaluation.daemon", was: "e.templates[key] = s",
		reason: "a cache: without it the same value is made again",
	},
	{
		file: "internal/eviction/daemons.go", function: "evaluation.dismissal", was: "e.dismissals[key] = j",
		reason: "a cache: without it the same value is made again",
	},
	{
		file: "internal/eviction/evaluate.go", function: "evaluation.judge", was: "e.judgements[key] = j",
		reason: "a cache: without it the same value is made again",
	},
	{
		file: "internal/eviction/admitted.go", function: "evaluation.made", was: "e.admitted[key] = next",
		reason: "a cache: without it the same value is made again",
	},
	{
		file: "internal/eviction/planned.go", function: "evaluation.planned", was: "e.replaced[key] = s",
		reason: "a cache: without it the same value is made again",
	},
	{
		file: "internal/eviction/pins.go", function: "Repin", was: "repinned[before] = after",
		reason: "a cache: without it the same value is made again",
	},
	{
		file: "internal/eviction/admitted.go", function: "evaluation.made", was: "if len(policies)+len(former)+len(in.Defaults)+len(in.Allowed) == 0 { return s }",
		reason: "a shortcut: what nothing is given to is made as it is",
	},
	{
		file: "internal/planner/displaced.go", function: "unpinned", was: "if len(pins.Removed) == 0 { return pod }",
		reason: "a shortcut: a copy that loses no label is judged as the pod is",
	},
	{
		file: "internal/eviction/evaluate.go", function: "evaluation.report", was: "for _, name := range names { count += len(s.Pods[name]) }",
		reason: "a capacity",
	},
	{
		file: "internal/eviction/evaluate.go", function: "evaluation.report", was: "count += len(s.Pods[name])",
		reason: "a capacity",
	},
	{
		file: "internal/eviction/evaluate.go", function: "evaluation.replaces", was: "if len(e.change.Tolerations) == 0 { return false }",
		reason: "a shortcut: an empty map has no workload",
	},
	{
		file: "internal/eviction/evaluate.go", function: "evaluation.replaces", was: "return false",
		reason: "a shortcut: an empty map has no workload",
	},
	{
		file: "internal/eviction/planned.go", function: "evaluation.planned", was: "if !ok { return nil, nil, false }", //nolint:dupword // It is code.
		reason: "a plan that changes nothing of a workload gives the verdict that there is without one",
	},
	{
		file: "internal/eviction/planned.go", function: "evaluation.planned", was: "return nil, nil, false", //nolint:dupword // It is code.
		reason: "as the one above",
	},
	{
		file: "internal/eviction/workloads.go", function: "question.workload", was: "if asked[p.Scheduling] { continue }",
		reason: "a shortcut: pods that are equal in their scheduling give equal answers",
	},
	{
		file: "internal/eviction/workloads.go", function: "question.workload", was: "continue",
		reason: "a shortcut: pods that are equal in their scheduling give equal answers",
	},
	{
		file: "internal/eviction/workloads.go", function: "question.workload", was: "asked[p.Scheduling] = true",
		reason: "a shortcut: pods that are equal in their scheduling give equal answers",
	},
	{
		file: "internal/taint/validate.go", function: "validateValue", was: `if value == "" { // Valid, and worth no regular expression: each merge asks for every owned taint. return nil }`,
		reason: "a shortcut: the regular expression takes an empty value",
	},
	{
		file: "internal/taint/validate.go", function: "validateValue", was: "return nil",
		reason: "a shortcut: the regular expression takes an empty value",
	},
	{
		file: "internal/admission/objects.go", function: "IsID", was: "at > 0", becomes: "at >= 0",
		reason: "nothing before the first character ends with a slash",
	},
	{
		file: "internal/admission/objects.go", function: "Policy.Objects", was: `if err != nil { return Objects{}, fmt.Errorf("writing the annotation %s: %w", PolicyAnnotation, err) }`,
		reason: "strings and numbers always marshal",
	},
	{
		file: "internal/admission/objects.go", function: "Policy.Objects", was: `return Objects{}, fmt.Errorf("writing the annotation %s: %w", PolicyAnnotation, err)`,
		reason: "strings and numbers always marshal",
	},
	{
		file: "internal/admission/lists.go", function: "Lists.Annotations", was: "if err != nil { return nil, err }",
		reason: "strings and numbers always marshal",
	},
	{
		file: "internal/admission/lists.go", function: "Lists.Annotations", was: "return nil, err",
		reason: "strings and numbers always marshal",
	},
	{
		file: "internal/admission/lists.go", function: "Lists.TooLarge", was: "if err != nil { return err.Error() }",
		reason: "strings and numbers always marshal",
	},
	{
		file: "internal/admission/lists.go", function: "Lists.TooLarge", was: "return err.Error()",
		reason: "strings and numbers always marshal",
	},
	{
		file: "internal/admission/policy.go", function: "Match.Means", was: "m.namespaces == nil && m.pods == nil", becomes: "m.namespaces == nil || m.pods == nil",
		reason: "selectors that are read twice are the same",
	},
	{
		file: "internal/admission/rules.go", function: "Rules.With", was: "p.Match.read()",
		reason: "a cache: without it selectors are read for each pod",
	},
	{
		file: "internal/rollout/sets.go", function: "run.allowedRollout", was: "if !(&planner.SetSwitch{Affected: sets.Affected()}).Moves() { return nil }",
		reason: "a shortcut: a template alone moves no pod, so that no limit is exceeded",
	},
	{
		file: "internal/rollout/limits.go", function: "run.approve", was: "if s, err := r.cluster.Snapshot(ctx); err != nil || s == r.checked { // Nothing has changed since the whole plan was checked. return err }",
		reason: "a shortcut: the same cluster gives the same plan, which was checked as a whole",
	},
	{
		file: "internal/planner/ordered.go", function: "Blocking", was: "if len(w.Ordered) == 0 { return nil }",
		reason: "a shortcut: an empty list has no owner",
	},
	{
		file: "internal/planner/ordered.go", function: "Blocking", was: "return nil",
		reason: "a shortcut: an empty list has no owner",
	},
	{
		file: "internal/planner/taken.go", function: "order.elsewhere", was: "if len(changes.Nodes)+len(changes.Brings) == 0 { return after }",
		reason: "a shortcut: nothing follows where no other resource changes nodes",
	},
	{
		file: "internal/planner/taken.go", function: "order.elsewhere", was: "return after",
		reason: "a shortcut: nothing follows where no other resource changes nodes",
	},
	{
		file: "internal/eviction/workloads.go", function: "question.answers", was: "q.known[s] = out",
		reason: "a cache: without it the same value is made again",
	},
	{
		file: "internal/rollout/await.go", function: "wait.end", was: `logger(ctx).InfoContext(ctx, "waiting for running pods to follow the template", "workload", s.workload.Title(), "followed", now)`,
		reason: "it is only logged",
	},
	{
		file: "internal/rollout/awaited.go", function: "draining.remember", was: `logger(ctx).WarnContext(ctx, "too many workloads to record on a node", "node", name, "workloads", len(all))`,
		reason: "it is only logged",
	},
	{
		file: "internal/rollout/awaited.go", function: "draining.remember", was: `logger(ctx).WarnContext(ctx, "no room to record what a drain waits for", "node", name, "error", err.Error())`,
		reason: "it is only logged",
	},
	{
		file: "internal/rollout/await.go", function: "wait.end", was: "told = now",
		reason: "it is only logged",
	},
	{
		file: "internal/rollout/drains.go", function: "draining.evict", was: `if one.at.IsZero() { logger(ctx).InfoContext(ctx, doing, "pod", p.Key(), "node", p.Node) }`,
		reason: "it is only logged",
	},
	{
		file: "internal/rollout/drains.go", function: "draining.evict", was: "one.at.IsZero()", becomes: "!(one.at.IsZero())",
		reason: "it is only logged",
	},
	{
		file: "internal/rollout/drains.go", function: "draining.evict", was: `logger(ctx).InfoContext(ctx, doing, "pod", p.Key(), "node", p.Node)`,
		reason: "it is only logged",
	},
	{
		file: "internal/rollout/drains.go", function: "draining.tell", was: `logger(ctx).InfoContext(ctx, "waiting for pods to terminate", "node", name, "waiting", now)`,
		reason: "it is only logged",
	},
	{
		file: "internal/rollout/machines.go", function: "machineRollout.carryOut", was: `logger(ctx).InfoContext(ctx, "writing for a rollout of machines", "machine_set", r.key, "what", string(intent.Kind), "reason", intent.Reason)`,
		reason: "it is only logged",
	},
	{
		file: "internal/rollout/machines.go", function: "machineRollout.tell", was: `logger(ctx).InfoContext(ctx, "waiting for machines", "machine_set", r.key, "waiting", now)`,
		reason: "it is only logged",
	},
	{
		file: "internal/rollout/machines.go", function: "machineRollout.restore", was: `logger(ctx).ErrorContext(ctx, "the count could not be restored", "machine_set", r.key, "error", err.Error())`,
		reason: "it is only logged",
	},
	{
		file: "internal/rollout/nodes.go", function: "switchOne", was: `if err == nil { logger(ctx).DebugContext(ctx, "node taints are in sync", "node", name) }`,
		reason: "it is only logged",
	},
	{
		file: "internal/rollout/nodes.go", function: "switchOne", was: `logger(ctx).DebugContext(ctx, "node taints are in sync", "node", name)`,
		reason: "it is only logged",
	},
	{
		file: "internal/rollout/run.go", function: "run.take", was: `logger(ctx).DebugContext(ctx, "next step", "step", step.String())`,
		reason: "it is only logged",
	},
	{
		file: "internal/rollout/setlabels.go", function: "machineRollout.label", was: `logger(ctx).InfoContext(ctx, "writing labels of machines", "machine_set", r.key, "what", string(intent.Kind), "reason", intent.Reason)`,
		reason: "it is only logged",
	},
	{
		file: "internal/rollout/sets.go", function: "run.rollOut", was: `logger(ctx).InfoContext(ctx, "waiting for another rollout to end", "machine_set", a.Set.Key(), "at_once", most)`,
		reason: "it is only logged",
	},
}...)

// equivalent reports whether a mutant is named above.
func (m mutant) equivalent() bool {
	for _, e := range equivalents {
		if e.file == m.file && e.function == m.function && e.was == m.was && e.becomes == m.becomes {
			return true
		}
	}
	return false
}
