// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package evictionpreview_test

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/eviction"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/kube"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/placement"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

// still is how often a cluster is found unchanged before it counts as settled, retried for how long if pods are Pending:
// the scheduler tries a pod again ten seconds after what lets it fit, at the latest
// (k8s.io/kubernetes v1.37.2 pkg/scheduler/backend/queue/scheduling_queue.go, DefaultPodMaxBackoffDuration).
const (
	still   = 8
	retried = 11 * time.Second
)

// TestAccPlacements makes random crowded clusters of Deployments, StatefulSets and Jobs, some with a DaemonSet or a
// ResourceQuota, and one of three workloads with a rarer field of pods. It
// simulates where the replacements go of the pods that a taint evicts, taints the nodes, and compares the simulation with
// what the real controllers and the real scheduler come to: how many pods of each workload stay Pending or are not
// created. A proof must hold.
// 30 orders are not all that can happen: placementshares_test.go has how many may differ from the prediction. 80 % of the
// workloads have a number, and half of those with a quota.
func TestAccPlacements(t *testing.T) {
	t.Parallel()
	c := acctest.Connect(t)
	acctest.NeedKwok(t, "nodes of a chosen size")
	tally := placed{outsideOf: map[string]int{}}
	eachSeed(t, everySeed, func(t *testing.T, seed int) {
		p := newPlaces(t, c, seed, &tally)
		out, pending := p.run()
		p.compare(out, pending)
		p.compareVictims(out)
	})
	t.Cleanup(func() {
		tally.expect(t)
		tally.expectFeatures(t)
		t.Logf("%d of %d Jobs fail, and lose %d pods", tally.failed, tally.jobs, tally.lost)
		t.Logf("%d clusters with PodDisruptionBudgets, which decide in %d whose pods are preempted; of %d workloads there others are than predicted", tally.guarded, tally.decisive, tally.unlike)
		free, limited := tally.byQuota()
		expectShares(t, tally.clusters, share{what: "Jobs that lose other pods than predicted", n: tally.wrongJobs, of: tally.jobs, perMille: mostOutside, class: true},
			free.unnumbered("without a quota", mostUnnumbered, 4), limited.unnumbered("with a quota", mostCrowded, 5))
		if tally.clusters >= fewSeeds && tally.pending*4 < tally.workloads {
			t.Errorf("%d of %d workloads have Pending pods: the test shows little", tally.pending, tally.workloads)
		}
		if tally.clusters >= enoughClusters && tally.proved == 0 {
			t.Error("nothing is proved of any workload: the test shows nothing about proofs")
		}
	})
}

// placed counts workloads: all, those of which the simulation gives a number, those with Pending
// pods, and those that are outside of their range.
type placed struct {
	mu                                   sync.Mutex
	workloads, numbers, pending, outside int
	// proved are the workloads of which something is proved: how many pods are Pending at least, or exactly.
	proved int
	// pods are those of the workloads with a number of which not all is proved, wrong are as many of them as that is off by.
	pods, wrong int
	// victims are the preempted pods of other nodes, wrongVictims the clusters in which their number
	// is outside of the range, and far those in which the middle of the range of all Pending pods is off by more than two.
	clusters, victims, wrongVictims, far int
	// guarded counts clusters with PodDisruptionBudgets, decisive those in which others are preempted without these, and
	// unlike workloads of them of which others are preempted than predicted.
	guarded, decisive, unlike int
	// classes are the same by the kinds of workloads. failed are the Jobs that fail, lost the pods that they had, and
	// wrongJobs those of all Jobs of which the number of lost pods is outside of the range.
	classes                       map[string]*placed
	jobs, failed, lost, wrongJobs int
	// features counts the workloads with evicted pods by their features, outsideOf those that are outside of their range.
	features, outsideOf map[string]int
}

// places is a random cluster: a pool of nodes that no other test uses, and Deployments on it.
type places struct {
	move
	r *rand.Rand
	// limits decides about LimitRanges, limited is set where the namespace has one.
	limits  *rand.Rand
	limited bool
	// volumes decides about volumes, nil for none.
	volumes *rand.Rand
	// drivers decides whether volumes are attached.
	drivers *rand.Rand
	// soft decides about PreferNoSchedule taints and who tolerates them.
	soft *rand.Rand
	// prefers decides about preferred node affinity.
	prefers *rand.Rand
	// kinds decides about the kinds of workloads and about a ResourceQuota, nil for Deployments without one.
	kinds *rand.Rand
	// graces decides about grace periods, and whether pods take them to end.
	graces *rand.Rand
	// features decides about rarer fields of pods, a DaemonSet and the scope of a ResourceQuota, nil for none. featureOf is
	// that of each workload. later is set where pods tolerate the new taint for a while, scoped where the quota has a scope.
	features      *rand.Rand
	featureOf     map[string]string
	later, scoped bool
	// also are further features of workloads, added decides about those that came later than the streams above.
	also  map[string][]string
	added *rand.Rand
	// admits decides what admission does to new pods, and who made a Job. bounded is set where a LimitRange refuses some of them,
	// and policy where they are given a toleration of the new taint.
	admits *rand.Rand
	// nodesOf decides about cordons and zones, and about further fields of pods, nil for none. zoned is set where nodes have zones,
	// cordoned is a node that is cordoned before the change, ofPods is set where the scope of the quota is one of further fields.
	nodesOf *rand.Rand
	// near decides what pods prefer of other pods, nil for nothing. Zonal decides about volumes of zones.
	near, zonal     *rand.Rand
	zoned, ofPods   bool
	cordoned        string
	bounded, policy bool
	// repeated is set where the change is made in copies as well: no ResourceQuota is lowered, and Jobs go on
	// when their pods are evicted.
	repeated bool
	// guards decides about PodDisruptionBudgets, protected is set where there are some. urgents counts the workloads
	// that preempt others.
	guards    *rand.Rand
	protected bool
	urgents   int
	// rivals is set for a crowded cluster of small nodes with pods of three priorities.
	rivals bool
	// kindOf is the kind of each workload, quota is set where the namespace has one.
	kindOf map[string]string
	quota  bool
	// ended are the Jobs that have failed before the change, fails how many pods are predicted to be lost with theirs,
	// mayFail those that fail if preemption evicts their pods.
	// there is how many pods each workload had when the cluster settled last, before is that of the time before the change.
	ended, mayFail map[string]bool
	fails          map[string]placement.Range
	there, before  map[string]int32
	// onHost is set where provisioners make volumes that one node can use.
	onHost    bool
	nodes     []string
	workloads map[string]int32
	tally     *placed
	// elsewhere are the workloads of the pods on the nodes that are not tainted, by UID.
	elsewhere map[string]string
	// like is the cluster whose pods this one begins with, on the same nodes; nil for none. copies are their workloads.
	like   *places
	copies []copied
	// on leads from workloads to their pods before the change, and to the nodes of these.
	on map[string]map[string]int
}

// newPlaces returns the random cluster of a seed.
func newPlaces(t *testing.T, c *acctest.Cluster, seed int, tally *placed) *places {
	t.Helper()
	source := func(stream uint64) *rand.Rand { return rand.New(rand.NewPCG(uint64(seed), stream)) }
	return &places{move: move{t: t, c: c, pool: acctest.Name(t, "pool"), namespace: c.Namespace(t)}, r: source(29), limits: source(30), volumes: source(31), soft: source(32), kinds: source(33), graces: source(34), prefers: source(35), guards: source(36), tally: tally, kindOf: map[string]string{}, fails: map[string]placement.Range{}, features: source(37), admits: source(38), drivers: source(39), added: source(40), nodesOf: source(41), near: source(42), zonal: source(43), featureOf: map[string]string{}, also: map[string][]string{}}
}

// run makes the cluster and the change, and returns what was predicted, and how many pods of each workload are Pending.
func (p *places) run() (*placement.Outcome, map[string]int) {
	p.t.Helper()
	if p.volumes != nil && p.drivers.IntN(2) == 0 {
		p.mounts()
	}
	for i := range 3 + p.r.IntN(4) {
		name := fmt.Sprintf("%s-%d", p.pool, i)
		p.nodes = append(p.nodes, name)
		p.c.Node(p.t, acctest.Node{
			Name: name, Labels: p.zones(map[string]string{"pool": p.pool, corev1.LabelHostname: name, "zone": fmt.Sprintf("z%d", i%2), "number": fmt.Sprint(i), p.rack(): fmt.Sprintf("r%d", i%3)}, i), Taints: p.softTaints(),
			Allocatable: p.gpus(corev1.ResourceList{
				"cpu": resource.MustParse(fmt.Sprint(p.sizeOfNode(2 + p.r.IntN(6)))), "memory": resource.MustParse(fmt.Sprintf("%dGi", p.sizeOfNode(2+p.r.IntN(6)))),
				"pods": resource.MustParse(fmt.Sprint(p.podsOfNode(4 + p.r.IntN(8)))),
			}),
		})
		if p.volumes != nil {
			p.attaches(name, p.volumes.Int32N(3))
		}
	}
	urgent := p.urgent("0", corev1.PreemptLowerPriority)
	if p.rivals {
		urgent = p.rival(urgent)
	}
	if p.limits.IntN(2) == 0 {
		limit(p.t, p.c, p.namespace, corev1.LimitRangeItem{DefaultRequest: cores("100m")})
		p.limited = true
	}
	if p.volumes != nil {
		p.classes()
	}
	p.daemons()
	p.workloads = map[string]int32{}
	for i := range p.workloadsOf(2 + p.r.IntN(4)) {
		name := fmt.Sprintf("w%d", i)
		p.workloads[name] = int32(1 + p.r.IntN(6))
		p.deploy(name, p.workloads[name], urgent)
	}
	p.copy()
	p.settle(nil)
	p.ended = p.failed()
	p.relimit()
	p.admit()
	p.lowerQuota()
	p.protect()
	tainted := p.nodes[:1+p.r.IntN(len(p.nodes)/2)]
	p.cordon(tainted)
	p.on = p.where()
	p.cameUp(tainted)
	p.elsewhere = p.podsElsewhere(tainted)
	out := p.simulate(tainted)
	for _, name := range tainted {
		p.evict(name)
	}
	return out, p.settle(tainted)
}

// deploy makes a workload of a random size with a random rule.
func (p *places) deploy(name string, replicas int32, urgent func(*corev1.PodSpec)) {
	p.t.Helper()
	labels := map[string]string{"app": name}
	spec := corev1.PodSpec{
		NodeSelector: map[string]string{"pool": p.pool},
		Containers:   []corev1.Container{{Name: "main", Image: "registry.k8s.io/pause:3.10.2"}},
	}
	if p.r.IntN(4) == 0 || p.rivals {
		p.urgents++
		urgent(&spec)
	}
	spec.Containers[0].Resources.Requests = corev1.ResourceList{
		"cpu": *resource.NewMilliQuantity(int64(p.r.IntN(9))*250, resource.DecimalSI), "memory": *resource.NewQuantity(int64(p.r.IntN(9))<<28, resource.BinarySI),
	}
	if p.limited && p.limits.IntN(2) == 0 {
		delete(spec.Containers[0].Resources.Requests, corev1.ResourceCPU)
	}
	term := []corev1.PodAffinityTerm{{TopologyKey: []string{corev1.LabelHostname, "zone"}[p.r.IntN(2)], LabelSelector: &metav1.LabelSelector{MatchLabels: labels}}}
	switch p.r.IntN(9) {
	case 0:
		spec.Affinity = &corev1.Affinity{PodAffinity: &corev1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: term}}
	case 1:
		spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: term}}
	case 2, 3:
		policy := []corev1.NodeInclusionPolicy{corev1.NodeInclusionPolicyHonor, corev1.NodeInclusionPolicyIgnore}[p.r.IntN(2)]
		spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{
			MaxSkew: 1, TopologyKey: term[0].TopologyKey, WhenUnsatisfiable: corev1.DoNotSchedule, LabelSelector: term[0].LabelSelector, NodeTaintsPolicy: &policy,
		}}
	case 4:
		spec.Containers[0].Ports = []corev1.ContainerPort{{ContainerPort: 80, HostPort: 80}}
	}
	if p.soft.IntN(3) == 0 {
		spec.Tolerations = []corev1.Toleration{{Key: "soft", Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectPreferNoSchedule}}
	}
	p.further(name, &spec)
	p.prefer(&spec)
	p.store(name, &spec)
	p.feature(name, &spec)
	p.includes(name, &spec)
	p.neighbours(name, &spec)
	template := corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: spec}
	p.end(&template)
	create := p.workload(name, replicas, &template)
	if p.like != nil {
		p.copies = append(p.copies, copied{name, template, create})
		return
	}
	p.must(create())
}

// softTaints are those of a node that only some pods tolerate, and that keep none away.
func (p *places) softTaints() []corev1.Taint {
	if p.soft.IntN(3) > 0 {
		return nil
	}
	return acctest.Parse(p.t, "soft:PreferNoSchedule")
}

// settle waits until every pod runs away from the tainted nodes or is Pending, and nothing changes
// any more. It returns how many pods of each workload are Pending.
func (p *places) settle(tainted []string) map[string]int {
	p.t.Helper()
	pending, before, unchanged, changed := map[string]int{}, map[string]string{}, 0, time.Now()
	acctest.Until(p.t, "the cluster has settled", func(ctx context.Context) (bool, error) {
		if err := p.assist(ctx); err != nil {
			return false, err
		}
		pods, err := p.c.Admin.CoreV1().Pods(p.namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			return false, err
		}
		pending = map[string]int{}
		now, there, done := map[string]string{}, map[string]int32{}, true
		for i := range pods.Items {
			one := &pods.Items[i]
			now[one.Name] = one.Spec.NodeName
			there[one.Labels["app"]]++
			unschedulable := one.Spec.NodeName == "" && condition(one, corev1.PodScheduled).Status == corev1.ConditionFalse
			if unschedulable {
				pending[one.Labels["app"]]++
			}
			done = done && one.DeletionTimestamp == nil && one.Status.NominatedNodeName == "" && !p.leaves(one, tainted) && (unschedulable || one.Status.Phase == corev1.PodRunning)
		}
		done = p.daemonsThere(there, tainted) && done
		if done && (maps.Equal(there, p.workloads) || p.incomplete(there)) && maps.Equal(now, before) {
			unchanged++
		} else {
			unchanged, changed = 0, time.Now()
		}
		before, p.there = now, there
		return unchanged >= still && time.Since(changed) >= p.settledFor(len(pending) > 0, tainted != nil, there, p.failed()), nil
	})
	return pending
}

func (p *places) simulate(tainted []string) *placement.Outcome {
	p.t.Helper()
	cluster, err := kube.New(kube.Config{Host: p.c.REST.Host, Token: p.c.Token(p.t), ClusterCACertificate: p.c.CA(p.t)})
	p.must(err)
	s, err := cluster.Snapshot(p.t.Context())
	p.must(err)
	change := eviction.Scenario{Taints: map[string][]corev1.Taint{}}
	for _, name := range tainted {
		change.Taints[name] = append(slices.Clone(s.Nodes[name].Taints), p.change()...)
	}
	var report *eviction.Report
	judged := s
	_, err = cluster.Judge(p.t.Context(), s, func(s *snapshot.Snapshot) kube.Needs {
		judged, report = s, eviction.Evaluate(s, change, eviction.ComparisonOff)
		return kube.Needs{Evicted: report.Judged()}
	})
	p.must(err)
	p.failing(report)
	out := report.Outcome()
	p.decides(judged, change, out)
	return out
}

// compare counts the workloads that are outside of their range, and fails against a proof.
func (p *places) compare(out *placement.Outcome, pending map[string]int) {
	p.t.Helper()
	failed := p.failed()
	p.tally.mu.Lock()
	defer p.tally.mu.Unlock()
	p.tally.clusters++
	total, said := 0, 0
	for i := range out.Workloads {
		w := &out.Workloads[i]
		if w.Namespace != p.namespace || failed[w.Name] {
			continue
		}
		n, predicted := p.missing(w.Name, pending), w.AllMissing
		total, said = total+n, said+predicted.Min+predicted.Max
		p.tally.add(p.classOf(w.Name), w, n, predicted, out.Certain)
		if out.Certain || w.Proved > 0 {
			p.tally.proved++
		}
		if n < predicted.Min || n > predicted.Max {
			for _, feature := range p.featuresOf(w.Name) {
				p.tally.outsideOf[feature]++
			}
			p.t.Logf("%s: %d pods stay Pending or are not created, predicted %v: %s", p.named(w.Name), n, predicted, w.Reason)
			if out.Certain {
				p.t.Errorf("%s: %d pods stay Pending or are not created, and it was proved that %d do", w.Name, n, predicted.Max)
			}
		}
		if n < w.Proved {
			p.t.Errorf("%s: %d pods stay Pending, and %d were proved to: %s", w.Name, n, w.Proved, w.Reason)
		}
	}
	if off := 2*total - said; off > 4 || off < -4 {
		p.tally.far++
		p.t.Logf("%d pods stay Pending in all, the middle of the predictions is %.1f", total, float64(said)/2)
	}
	p.compareJobs(failed)
}
