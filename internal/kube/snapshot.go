// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package kube

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/tools/pager"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/workload"
)

// surroundings are what verdicts need beside nodes, pods and the templates of DaemonSets.
// They are read once: they change the wording of a verdict, not the verdict. What PodDisruptionBudgets, ResourceQuotas and
// LimitRanges allow is apart.
type surroundings struct {
	parents map[types.UID]snapshot.Owner
	// listed holds every controller that was looked at for it.
	listed  map[types.UID]bool
	volumes map[string]map[string]*snapshot.Volume
	// storage is what volumes are made of.
	storage storage
	// gaps report what could not be read, ownerGaps what of that concerns parents.
	gaps, ownerGaps []string
}

// builtSnapshot remembers the newest snapshot, for as long as nothing changes.
type builtSnapshot struct {
	mu       sync.Mutex
	at       moment
	snapshot *snapshot.Snapshot
}

// moment counts what has become known of each part of a snapshot.
type moment struct {
	nodes, pods, daemons, admissions int
	attachments                      *snapshot.Attachments
	stored                           *learnedStorage
	policies, jobs, allowances       int
	priorities                       *snapshot.PriorityClasses
}

// moment returns what has become known by now.
func (c *Cluster) moment() moment {
	_, allowances := c.allowances.known()
	return moment{c.nodes.at(), c.pods.at(), c.daemonsAt(), c.admissions.at(), c.attachments.Load(), c.stored.Load(), c.policies.at(), c.jobs.at(), allowances, c.priorities.known()}
}

// Snapshot returns the cluster as it is known now. The first call lists nodes,
// pods, PodDisruptionBudgets, volumes with their claims, DaemonSets, the owners of pods and
// what admission gives to them; later ones send nothing. What evicted pods need beside these is read by Judge.
func (c *Cluster) Snapshot(ctx context.Context) (*snapshot.Snapshot, error) {
	if err := parallel(
		func() error { return c.nodes.load(ctx) },
		func() error { return c.pods.load(ctx) },
		func() error { _, err := c.around(ctx); return err },
	); err != nil {
		return nil, err
	}
	around, err := c.around(ctx)
	if err != nil {
		return nil, err
	}
	return c.built.current(ctx, c, around)
}

// FreshSnapshot returns the cluster as it is now: nodes, pods and DaemonSets are listed again where they are known from earlier.
func (c *Cluster) FreshSnapshot(ctx context.Context) (*snapshot.Snapshot, error) {
	if err := c.Refresh(ctx); err != nil {
		return nil, err
	}
	return c.Snapshot(ctx)
}

// current returns the newest snapshot. It learns what it needs for it
// before any other caller gets the snapshot.
func (b *builtSnapshot) current(ctx context.Context, c *Cluster, around surroundings) (*snapshot.Snapshot, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	// Each of two hundred resources asks several times, and 150,000 pods take a while to copy.
	if b.snapshot != nil && b.at == c.moment() {
		return b.snapshot, nil
	}
	nodes, nodesAt := c.nodes.all()
	pods, podsAt := c.pods.all()
	rules, gaps, err := c.Admission(ctx, pods)
	if err != nil {
		return nil, err
	}
	allowed, allowedAt := c.allowances.known()
	at := c.moment()
	at.nodes, at.pods, at.allowances = nodesAt, podsAt, allowedAt
	// A rollout makes new ReplicaSets: without them its pods would belong to
	// no known pod.
	learned, err := c.learn(ctx, pods, around.listed)
	if err != nil {
		return nil, err
	}
	parents := around.parents
	if len(learned) > 0 {
		parents = maps.Clone(around.parents)
		maps.Copy(parents, learned)
	}
	around.parents, around.gaps = parents, slices.Concat(around.gaps, gaps)
	b.snapshot, b.at = assemble(nodes, pods, c.daemons(), around), at
	b.snapshot.Budgets, b.snapshot.Quotas, b.snapshot.LimitRanges = allowed.budgets, allowed.quotas, allowed.ranges
	b.snapshot.Admission, b.snapshot.NamespaceLabels = rules, c.admissions.namespaceLabels(pods)
	b.snapshot.Attachments, b.snapshot.Ordered, b.snapshot.Jobs = at.attachments, c.policies.all(), c.jobs.all()
	if at.priorities != nil {
		b.snapshot.PriorityClasses = *at.priorities
	}
	if at.stored != nil {
		b.snapshot.Storage = at.stored.Storage
	}
	return b.snapshot, nil
}

func assemble(nodes []*snapshot.Node, pods []*snapshot.Pod, daemons map[types.UID]*snapshot.Daemon, around surroundings) *snapshot.Snapshot {
	s := &snapshot.Snapshot{
		Nodes: make(map[string]*snapshot.Node, len(nodes)), Pods: make(map[string][]*snapshot.Pod, len(nodes)),
		Parents: around.parents, Daemons: daemons, Volumes: around.volumes, Gaps: around.gaps, OwnerGaps: around.ownerGaps,
	}
	for _, n := range nodes {
		s.Nodes[n.Name] = n
	}
	for _, p := range pods {
		if p.Node == "" {
			s.Waiting = append(s.Waiting, p)
			continue
		}
		s.Pods[p.Node] = append(s.Pods[p.Node], p)
	}
	return s
}

func (c *Cluster) around(ctx context.Context) (surroundings, error) {
	return c.context.get(ctx, func() (surroundings, error) {
		s := surroundings{parents: map[types.UID]snapshot.Owner{}, listed: map[types.UID]bool{}}
		var stored storage
		var mu sync.Mutex
		parents := func(plural, kind, top string) func() error {
			return func() error {
				return gap(&mu, c.parents(ctx, kind, &mu, &s),
					fmt.Sprintf("%s could not be read (no permission to list them): pods are counted by %s instead of by %s", plural, kind, top), &s.gaps, &s.ownerGaps)
			}
		}
		err := parallel(
			parents("ReplicaSets", "ReplicaSet", "Deployment"),
			parents("Jobs", "Job", "CronJob"),
			func() error {
				known, _ := workload.Lookup("", daemonSet)
				_, err := c.controllersOf(ctx, known)
				return gap(&mu, err,
					"DaemonSets could not be read (no permission to list them): their controller deletes pods by their templates, and only the tolerations of the pods themselves are looked at", &s.gaps)
			},
			func() error {
				return gap(&mu, c.listAllowances(ctx),
					"PodDisruptionBudgets could not be read (no permission to list them): no pod is shown as covered by one", &s.gaps)
			},
			func() error {
				err := gap(&mu, c.volumesInto(ctx, &stored),
					"PersistentVolumes could not be read (no permission to list them): volumes that bind a pod to certain nodes are not considered", &s.gaps)
				if err != nil || len(stored.volumes) == 0 {
					return err
				}
				// The owner of a volume matters for these alone.
				return gap(&mu, c.claimsInto(ctx, &stored),
					"PersistentVolumeClaims could not be read (no permission to list them): volumes that bind a pod to certain nodes are not considered", &s.gaps)
			},
		)
		s.volumes, s.storage = stored.bound(), stored
		slices.Sort(s.gaps)
		slices.Sort(s.ownerGaps)
		return s, err
	})
}

// CauseNotRecorded is the cause of a refusal by a recorded cluster (internal/recorded) that has no objects of
// a kind: rights are not what is missing.
const CauseNotRecorded metav1.CauseType = "NotRecorded"

const noPermission = "(no permission to list them)"

// gap notes in lists what there is no permission to read, or what a recorded cluster does not have; any other
// error stays one.
func gap(mu *sync.Mutex, err error, sentence string, lists ...*[]string) error {
	if !errors.Is(err, ErrForbidden) {
		return err
	}
	if apierrors.HasStatusCause(err, CauseNotRecorded) {
		sentence = strings.Replace(sentence, noPermission, "(they are not in the snapshot)", 1)
	}
	mu.Lock()
	defer mu.Unlock()
	for _, list := range lists {
		*list = append(*list, sentence)
	}
	return nil
}

// parents reads only the metadata of controllers that may be controlled
// themselves.
func (c *Cluster) parents(ctx context.Context, kind string, mu *sync.Mutex, into *surroundings) error {
	known, _ := workload.Lookup("", kind)
	found, err := c.controllersOf(ctx, known)
	if err != nil {
		return err
	}
	mu.Lock()
	defer mu.Unlock()
	maps.Copy(into.listed, found.listed)
	maps.Copy(into.parents, found.parents)
	return nil
}

// Budgets lists the PodDisruptionBudgets as they are now, by namespace: what they
// allow changes with every pod.
func (c *Cluster) Budgets(ctx context.Context) (snapshot.Budgets, error) {
	budgets := snapshot.Budgets{}
	return budgets, c.budgetsInto(ctx, budgets)
}

func (c *Cluster) budgetsInto(ctx context.Context, into snapshot.Budgets) error {
	return c.each(ctx, "poddisruptionbudgets", func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
		return c.client.policy.PodDisruptionBudgets("").List(ctx, o)
	}, func() { clear(into) }, func(o runtime.Object) error {
		pdb := o.(*policyv1.PodDisruptionBudget) //nolint:forcetypeassert // The list holds nothing else.
		selector, err := metav1.LabelSelectorAsSelector(pdb.Spec.Selector)
		if err != nil {
			// The API server validates selectors; one that does not parse here
			// covers nothing there either.
			selector = labels.Nothing()
		}
		into[pdb.Namespace] = append(into[pdb.Namespace], snapshot.Budget{
			Name: pdb.Name, Selector: selector, Allowed: allowed(pdb), Most: mostAllowed(pdb), Disrupted: disrupted(pdb),
			Failing: failing(pdb), Uncounted: pdb.Status.ObservedGeneration > 0 && observed(pdb) && pdb.Status.ExpectedPods == 0,
			CountsPods: pdb.Spec.MinAvailable != nil && pdb.Spec.MinAvailable.Type == intstr.Int,
			Healthy:    pdb.Status.CurrentHealthy, MinHealthy: pdb.Status.DesiredHealthy,
			AlwaysAllow: pdb.Spec.UnhealthyPodEvictionPolicy != nil && *pdb.Spec.UnhealthyPodEvictionPolicy == policyv1.AlwaysAllow,
		})
		return nil
	})
}

// maxDisrupted is how many evictions a PDB may have whose pods its controller has not seen go
// (k8s.io/kubernetes v1.37.2 pkg/registry/core/pod/storage/eviction.go, MaxDisruptedPodSize).
const maxDisrupted = 2000

// allowed is how many disruptions a PDB allows now: none beyond maxDisrupted.
func allowed(pdb *policyv1.PodDisruptionBudget) int32 {
	if len(pdb.Status.DisruptedPods) > maxDisrupted {
		return 0
	}
	return pdb.Status.DisruptionsAllowed
}

// disrupted returns the names of the pods whose eviction a PDB has granted, nil for none.
func disrupted(pdb *policyv1.PodDisruptionBudget) map[string]bool {
	if len(pdb.Status.DisruptedPods) == 0 {
		return nil
	}
	out := make(map[string]bool, len(pdb.Status.DisruptedPods))
	for name := range pdb.Status.DisruptedPods {
		out[name] = true
	}
	return out
}

// observed reports whether the status of a PDB is that of its newest spec.
func observed(pdb *policyv1.PodDisruptionBudget) bool {
	return pdb.Status.ObservedGeneration >= pdb.Generation
}

// failing reports whether the disruption controller cannot count the pods that there are to be.
func failing(pdb *policyv1.PodDisruptionBudget) bool {
	c := meta.FindStatusCondition(pdb.Status.Conditions, policyv1.DisruptionAllowedCondition)
	return c != nil && c.Status == metav1.ConditionFalse && c.Reason == policyv1.SyncFailedReason
}

// mostAllowed is what a PDB allows when all of its pods are healthy; nil until
// the disruption controller has worked out what it protects.
func mostAllowed(pdb *policyv1.PodDisruptionBudget) *int32 {
	if !observed(pdb) || pdb.Status.ExpectedPods == 0 {
		return nil
	}
	return new(max(pdb.Status.ExpectedPods-pdb.Status.DesiredHealthy, 0))
}

// each calls visit for each object of a list, and begin whenever it starts from the first. The objects must
// count one by one: see pages.
func (c *Cluster) each(ctx context.Context, plural string, list pager.ListPageFunc, begin func(), visit func(runtime.Object) error) error {
	return wrap("list "+plural, pages(ctx, c.patience(), true, list, begin, visit))
}

// eachOfOneMoment does so for objects of one moment, such as pods.
func (c *Cluster) eachOfOneMoment(ctx context.Context, plural string, list pager.ListPageFunc, begin func(), visit func(runtime.Object) error) error {
	return wrap("list "+plural, pages(ctx, c.patience(), false, list, begin, visit))
}

// parallel runs functions in parallel and returns the first error in their order.
func parallel(functions ...func() error) error {
	errs := make([]error, len(functions))
	var wg sync.WaitGroup
	for i, f := range functions {
		wg.Go(func() { errs[i] = f() })
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
