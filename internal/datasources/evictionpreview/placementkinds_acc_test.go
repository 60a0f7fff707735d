// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package evictionpreview_test

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/eviction"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/placement"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

// Kinds of workloads in random clusters.
const (
	deployments = "Deployment"
	orderedSets = "StatefulSet, OrderedReady"
	parallel    = "StatefulSet, Parallel"
	jobs        = "Job"
)

// Features of Jobs.
const (
	cronJobs      = "Job of a CronJob"
	backoffLimits = "backoffLimit above 0"
)

// mostOfJobs is how many pods a Job has at most: its controller waits for twice as long for each of them that has failed, and
// tests have five minutes.
const mostOfJobs = 4

// draw chooses the kind of a workload.
func (p *places) draw(name string) string {
	p.kindOf[name] = deployments
	if p.kinds != nil {
		p.kindOf[name] = []string{deployments, deployments, deployments, orderedSets, parallel, jobs}[p.kinds.IntN(6)]
	}
	return p.kindOf[name]
}

// workload draws a workload of a random kind, and returns what creates it. That of a copy adopts the pods that are there.
func (p *places) workload(name string, replicas int32, pods *corev1.PodTemplateSpec) (create func() error) {
	p.t.Helper()
	meta, selector := metav1.ObjectMeta{Name: name}, &metav1.LabelSelector{MatchLabels: map[string]string{"app": name}}
	ctx, apps := p.t.Context(), p.c.Admin.AppsV1()
	switch class := p.draw(name); {
	case class == deployments && p.like != nil:
		// Rules of pods may compare this label.
		pods.Labels = maps.Clone(pods.Labels)
		pods.Labels[appsv1.DefaultDeploymentUniqueLabelKey] = name
		set := &appsv1.ReplicaSet{ObjectMeta: meta, Spec: appsv1.ReplicaSetSpec{Replicas: &replicas, Selector: selector, Template: *pods}}
		return func() error {
			_, err := apps.ReplicaSets(p.namespace).Create(ctx, set, metav1.CreateOptions{})
			return err
		}
	case class == deployments:
		deployment := &appsv1.Deployment{ObjectMeta: meta, Spec: appsv1.DeploymentSpec{Replicas: &replicas, Selector: selector, Template: *pods}}
		return func() error {
			_, err := apps.Deployments(p.namespace).Create(ctx, deployment, metav1.CreateOptions{})
			return err
		}
	case class == jobs:
		replicas = min(replicas, mostOfJobs)
		p.workloads[name] = replicas
		pods.Spec.RestartPolicy = corev1.RestartPolicyNever
		p.deadline(name, &pods.Spec)
		limit := p.backoff(name)
		spec := batchv1.JobSpec{Parallelism: &replicas, Completions: &replicas, Template: *pods, BackoffLimit: &limit}
		if p.like != nil {
			spec.ManualSelector, spec.Selector = new(true), selector
		}
		if p.kinds.IntN(3) > 0 && limit == 0 || p.repeated {
			// Its controller replaces evicted pods: they are no failures, and do not count towards the backoffLimit.
			spec.PodFailurePolicy = &batchv1.PodFailurePolicy{Rules: []batchv1.PodFailurePolicyRule{{
				Action: batchv1.PodFailurePolicyActionIgnore, OnPodConditions: []batchv1.PodFailurePolicyOnPodConditionsPattern{{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue}},
			}}}
		}
		p.countFailures(name, &spec)
		job := &batchv1.Job{ObjectMeta: meta, Spec: spec}
		return func() error {
			if err := p.scheduled(job); err != nil {
				return err
			}
			_, err := p.c.Admin.BatchV1().Jobs(p.namespace).Create(ctx, job, metav1.CreateOptions{})
			return err
		}
	default:
		policy := appsv1.OrderedReadyPodManagement
		if class == parallel {
			policy = appsv1.ParallelPodManagement
		}
		set := &appsv1.StatefulSet{ObjectMeta: meta, Spec: appsv1.StatefulSetSpec{Replicas: &replicas, Selector: selector, Template: *pods, PodManagementPolicy: policy, VolumeClaimTemplates: p.claims(name)}}
		// Copied pods have no revision, and are not to be updated.
		set.Spec.UpdateStrategy.Type = appsv1.OnDeleteStatefulSetStrategyType
		return func() error {
			_, err := apps.StatefulSets(p.namespace).Create(ctx, set, metav1.CreateOptions{})
			return err
		}
	}
}

// backoff returns a backoffLimit: 0, or 1 to 3 for one of three Jobs.
func (p *places) backoff(name string) int32 {
	if p.added.IntN(3) > 0 {
		return 0
	}
	p.have(name, backoffLimits)
	return 1 + p.added.Int32N(mostOfJobs-1)
}

// prefer gives some pods one or two preferred terms of node affinity: a zone or a node, with any weight.
func (p *places) prefer(spec *corev1.PodSpec) {
	if p.prefers.IntN(4) > 0 {
		return
	}
	if spec.Affinity == nil {
		spec.Affinity = &corev1.Affinity{}
	}
	spec.Affinity.NodeAffinity = &corev1.NodeAffinity{}
	for range 1 + p.prefers.IntN(2) {
		label := corev1.NodeSelectorRequirement{Key: "zone", Operator: corev1.NodeSelectorOpIn, Values: []string{fmt.Sprintf("z%d", p.prefers.IntN(2))}}
		if p.prefers.IntN(2) == 0 {
			label.Key, label.Values = corev1.LabelHostname, []string{p.nodes[p.prefers.IntN(len(p.nodes))]}
		}
		terms := &spec.Affinity.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution
		*terms = append(*terms, corev1.PreferredSchedulingTerm{Weight: 1 + p.prefers.Int32N(100), Preference: corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{label}}})
	}
}

// assist does what provisioners and kubelets do: a Job with a podFailurePolicy waits until the phase of an evicted pod is Failed.
func (p *places) assist(ctx context.Context) error {
	if p.kinds != nil {
		if err := endStopped(ctx, p.c, p.namespace); err != nil {
			return err
		}
	}
	if err := p.attach(ctx, p.nodes); err != nil {
		return err
	}
	return p.provision(ctx)
}

// lowerQuota gives some namespaces a ResourceQuota that leaves room for some of the evicted pods' replacements alone, and
// waits until it is in force.
func (p *places) lowerQuota() {
	p.t.Helper()
	if p.kinds == nil || p.repeated || p.kinds.IntN(4) > 0 {
		return
	}
	p.quota = true
	name, quotas := []corev1.ResourceName{corev1.ResourcePods, corev1.ResourceRequestsCPU}[p.kinds.IntN(2)], p.c.Admin.CoreV1().ResourceQuotas(p.namespace)
	quota := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Name: "some"}, Spec: corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{name: resource.MustParse("1k")}}}
	p.scope(&quota.Spec)
	_, err := quotas.Create(p.t.Context(), quota, metav1.CreateOptions{})
	p.must(err)
	var all *corev1.ResourceQuota
	inForce := func(hard resource.Quantity) {
		acctest.Until(p.t, "the quota is in force", func(ctx context.Context) (bool, error) {
			var err error
			if all, err = quotas.Get(ctx, "some", metav1.GetOptions{}); err != nil {
				return false, err
			}
			now := all.Status.Hard[name]
			return now.Cmp(hard) == 0, nil
		})
	}
	inForce(resource.MustParse("1k"))
	used := all.Status.Used[name]
	hard := used.DeepCopy()
	hard.Add(*resource.NewQuantity(int64(p.kinds.IntN(4)-2), resource.DecimalSI))
	if hard.Sign() < 0 {
		hard = *resource.NewQuantity(0, resource.DecimalSI)
	}
	all.Spec.Hard[name] = hard
	_, err = quotas.Update(p.t.Context(), all, metav1.UpdateOptions{})
	p.must(err)
	inForce(hard)
}

// incomplete reports whether only pods are missing that may be: of a StatefulSet that waits for another pod, of a Job that
// has failed, and those that a quota refuses.
func (p *places) incomplete(there map[string]int32) bool {
	for name, wanted := range p.workloads {
		class := p.kindOf[name]
		if there[name] > wanted || there[name] < wanted && !p.quota && !p.bounded && class != orderedSets && class != jobs {
			return false
		}
	}
	return true
}

// settledFor is how long a cluster must be unchanged: a controller tries again later and later to create a pod that a
// quota refuses, that of Jobs after a minute at the latest, and after ten seconds where a pod has failed, doubled by each other one
// (k8s.io/kubernetes v1.37.2 pkg/controller/job/job_controller.go, MaxJobApiBackOff and DefaultJobPodFailureBackOff).
// Before the change Jobs lack pods that others have preempted: only failed ones do not create them. See mostOfJobs.
func (p *places) settledFor(pending, changed bool, there map[string]int32, failed map[string]bool) time.Duration {
	missing, ofJobs := false, int32(0)
	for name, wanted := range p.workloads {
		missing = missing || there[name] < wanted
		if p.kindOf[name] == jobs && !failed[name] {
			ofJobs = max(ofJobs, wanted-there[name])
		}
	}
	switch {
	case ofJobs > 0 && changed:
		return max(time.Minute, 10*time.Second<<ofJobs) + retried
	case ofJobs > 0:
		return 10*time.Second<<min(ofJobs-1, 4) + retried
	case missing && changed:
		return 2 * retried
	case missing:
		return retried / 3
	case pending && changed:
		return retried
	default:
		return 0
	}
}

// missing returns how many pods of a workload are Pending or not created of those that there were before the change. A Job may
// have had fewer than it wants, while it waited to replace failed ones.
func (p *places) missing(name string, pending map[string]int) int {
	return max(0, pending[name]+int(p.before[name]-p.there[name]))
}

// classOf is the kind of a workload, and whether a quota limits it.
func (p *places) classOf(name string) string {
	if p.quota {
		return p.kindOf[name] + withQuota
	}
	return p.kindOf[name]
}

const withQuota = " with a quota"

// byQuota adds up the classes that no quota limits, and the others.
func (c *placed) byQuota() (free, limited *placed) {
	free, limited = &placed{}, &placed{}
	for class, one := range c.classes {
		of := free
		if strings.HasSuffix(class, withQuota) {
			of = limited
		}
		of.workloads, of.numbers = of.workloads+one.workloads, of.numbers+one.numbers
	}
	return free, limited
}

// add counts a workload in all and in its class. Pods of which all is proved are not among those of which orders agree.
func (c *placed) add(class string, w *placement.WorkloadOutcome, n int, predicted placement.Range, certain bool) {
	if c.classes == nil {
		c.classes = map[string]*placed{}
	}
	if c.classes[class] == nil {
		c.classes[class] = &placed{}
	}
	for _, t := range []*placed{c, c.classes[class]} {
		t.workloads++
		if predicted.Min == predicted.Max {
			t.numbers++
		}
		if predicted.Min == predicted.Max && !certain {
			t.pods += w.Placed.Max + predicted.Max
			t.wrong += max(n-predicted.Max, predicted.Min-n)
		}
		if n > 0 {
			t.pending++
		}
		if n < predicted.Min || n > predicted.Max {
			t.outside++
		}
	}
}

// failing notes how many pods of Jobs are predicted to be lost, evicted or deleted with their Job, and which Jobs fail if preemption
// evicts their pods.
func (p *places) failing(report *eviction.Report) {
	p.fails, p.mayFail = map[string]placement.Range{}, map[string]bool{}
	for _, w := range report.Outcome().Workloads {
		if w.Namespace == p.namespace && w.JobFails {
			p.mayFail[w.Name] = true
		}
	}
	lose := func(pod *snapshot.Pod, owner snapshot.Owner, sure bool) {
		if pod.Namespace == p.namespace {
			now := p.fails[owner.Name]
			if now.Max++; sure {
				now.Min++
			}
			p.fails[owner.Name] = now
		}
	}
	for _, v := range report.Pods {
		if v.Fails != "" || v.MayBeLost {
			lose(v.Pod, v.Owner, v.Fails != "")
		}
	}
	for _, one := range report.Ended {
		lose(one.Pod, one.Owner, !one.Unsure)
	}
}

// failed returns the Jobs that have failed.
func (p *places) failed() map[string]bool {
	p.t.Helper()
	list, err := p.c.Admin.BatchV1().Jobs(p.namespace).List(p.t.Context(), metav1.ListOptions{})
	p.must(err)
	out := map[string]bool{}
	for i := range list.Items {
		for _, condition := range list.Items[i].Status.Conditions {
			if condition.Type == batchv1.JobFailed && condition.Status == corev1.ConditionTrue {
				out[list.Items[i].Name] = true
			}
		}
	}
	return out
}

// compareJobs counts the Jobs, how many pods those lose that fail, and the Jobs of which that is outside of the range.
func (p *places) compareJobs(failed map[string]bool) {
	for name, class := range p.kindOf {
		if class != jobs || p.ended[name] {
			continue
		}
		n, predicted := 0, p.fails[name]
		if failed[name] {
			n = int(p.before[name] - p.there[name])
			p.tally.failed++
		}
		if p.mayFail[name] {
			predicted.Max = max(predicted.Max, int(p.before[name]))
		}
		p.tally.jobs++
		p.tally.lost += n
		if n < predicted.Min || n > predicted.Max {
			p.tally.wrongJobs++
			p.t.Logf("Job %s fails: %t, and loses %d pods, predicted %v", name, failed[name], n, predicted)
		}
	}
}
