// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package rollout

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/kube"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/workload"
)

// contract takes away what others have left behind for the sake of taints and no taint needs
// any more: tolerations of workloads, and those that policies of admission give. It does not
// wait for the pods that restart by it. Pods are looked at only where something retires. One
// object that cannot be changed keeps no other object from it.
func (r *run) contract(ctx context.Context) error {
	rest := newRun(r.cluster, Request{}, r.comparison)
	rest.retained = true
	marked, unmarked := r.cluster.MarkedAnywhere(ctx)
	if errors.Is(unmarked, kube.ErrForbidden) {
		unmarked = nil
	}
	for _, m := range marked {
		for _, path := range retiringPaths(m) {
			d := Tolerations{Ref: m.Ref, Path: path.fields, Claim: r.change.RetainedClaim, NoWait: true, Retained: true}
			d.Claim.Path = path.claim
			rest.change.Workloads = append(rest.change.Workloads, d)
		}
	}
	if len(rest.change.Workloads) > 0 && unmarked == nil {
		unmarked = r.withPods(ctx)
	}
	if unmarked != nil {
		rest.change.Workloads = nil
	}
	policies, unlisted := r.cluster.Policies(ctx)
	for _, p := range policies {
		if claim := asItIs(&p); claim != nil {
			rest.change.Policies, rest.policies[p.Name] = append(rest.change.Policies, *claim), &p
		}
	}
	rest.known, rest.pods = make([]known, len(rest.change.Workloads)), r.pods
	return errors.Join(unmarked, unlisted, rest.takeAll(ctx))
}

// takeAll takes the steps that are left, each whatever becomes of the others.
func (r *run) takeAll(ctx context.Context) error {
	var errs []error
	for i, d := range r.change.Workloads {
		w, err := d.read(ctx, r.cluster)
		if r.known[i].workload = w; err != nil {
			errs = append(errs, err)
		}
	}
	plan, err := r.plan(ctx)
	if err != nil {
		return errors.Join(append(errs, err)...)
	}
	for _, step := range plan.Steps {
		step.Retained = true
		takes(ctx, step, r.pods)
		if err := r.make(ctx, step); err != nil {
			errs = append(errs, err)
		}
		if ctx.Err() != nil {
			break
		}
	}
	return errors.Join(errs...)
}

// Retiring returns the workloads in which tolerations retire and whose pods restart
// when they go, by name and once for each list of theirs: a run takes away
// what is not needed there. Nothing is returned where there is no permission to
// look for them.
func Retiring(ctx context.Context, cluster *kube.Cluster) ([]*workload.Workload, error) {
	marked, err := cluster.MarkedRolling(ctx)
	if err != nil && !errors.Is(err, kube.ErrForbidden) {
		return nil, err
	}
	var out []*workload.Workload
	for _, m := range marked {
		for _, path := range retiringPaths(m) {
			w, err := cluster.Workload(ctx, m.Ref, path.fields)
			if kube.Gone(err) || errors.Is(err, kube.ErrForbidden) {
				continue
			}
			if err != nil {
				return nil, err
			}
			out = append(out, w)
		}
	}
	slices.SortFunc(out, func(a, b *workload.Workload) int { return strings.Compare(a.String(), b.String()) })
	return out, nil
}

type retiringPath struct {
	claim  string
	fields []string
}

// retiringPaths returns the lists of an object in which something retires.
func retiringPaths(m kube.Marked) []retiringPath {
	var out []retiringPath
	seen := map[string]bool{}
	for _, mark := range m.Record {
		if !mark.Retiring || seen[mark.Path] {
			continue
		}
		seen[mark.Path] = true
		if fields, known := pathOf(m, mark.Path); known {
			out = append(out, retiringPath{mark.Path, fields})
		}
	}
	return out
}
