// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package evictionpreview_test

import (
	"context"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/admission"
)

// Features of a namespace, whose new pods differ from those that are there, or are refused.
const (
	boundedRanges      = "LimitRange with a minimum or a maximum"
	tolerationPolicies = "toleration policy"
)

// relimit replaces the LimitRange of a namespace that has one: new pods get another request than those that are there, and half
// of the LimitRanges refuse some of them.
func (p *places) relimit() {
	p.t.Helper()
	if !p.limited {
		return
	}
	item := corev1.LimitRangeItem{DefaultRequest: cores([]string{"100m", "2", "3"}[p.limits.IntN(3)])}
	if p.features != nil && p.admits.IntN(2) == 0 {
		p.bounded = true
		if p.admits.IntN(2) == 0 {
			item.DefaultRequest, item.Max = cores("100m"), cores("1500m")
		} else {
			item.DefaultRequest, item.Min = cores("2"), cores("250m")
		}
	}
	limit(p.t, p.c, p.namespace, item)
}

// admit gives one of four namespaces a policy after its pods: new ones tolerate the new taint, and may run on the
// tainted nodes. Those of pods that tolerate it for a while would be evicted and placed there without an end.
func (p *places) admit() {
	p.t.Helper()
	if p.features == nil || p.later || p.admits.IntN(4) > 0 {
		return
	}
	p.policy = true
	policy := admission.Policy{Name: p.pool, Match: admission.Match{Namespaces: []string{p.namespace}}, Tolerations: acctest.ParseTolerations(p.t, "dedicated=gpu")}
	if name := "w0"; p.admits.IntN(2) == 0 {
		policy.Match.PodSelector = "app!=" + name
	}
	objects, err := policy.Objects(admission.Mark{Owner: "test", Generation: "1"})
	p.must(err)
	all, ctx := p.c.Admin.AdmissionregistrationV1(), p.t.Context()
	p.t.Cleanup(func() {
		_ = all.MutatingAdmissionPolicyBindings().Delete(context.Background(), p.pool, metav1.DeleteOptions{})
		_ = all.MutatingAdmissionPolicies().Delete(context.Background(), p.pool, metav1.DeleteOptions{})
	})
	_, err = all.MutatingAdmissionPolicies().Create(ctx, objects.Policy, metav1.CreateOptions{})
	p.must(err)
	_, err = all.MutatingAdmissionPolicyBindings().Create(ctx, objects.Binding, metav1.CreateOptions{})
	p.must(err)
	acctest.Until(p.t, "the policy is in force", func(ctx context.Context) (bool, error) {
		asks := corev1.ResourceRequirements{Requests: cores("1"), Limits: cores("1")}
		made, err := p.c.Admin.CoreV1().Pods(p.namespace).Create(ctx, &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: "try"}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "c", Resources: asks}}},
		}, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		return err == nil && admitted(made), nil
	})
}

// admitted reports whether a policy has let a pod tolerate the new taint.
func admitted(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Spec.Tolerations, func(t corev1.Toleration) bool { return t.Key == "dedicated" && t.TolerationSeconds == nil })
}

// leaves reports whether a pod is on one of the tainted nodes and goes from there.
func (p *places) leaves(pod *corev1.Pod, tainted []string) bool {
	return slices.Contains(tainted, pod.Spec.NodeName) && !admitted(pod)
}

// scheduled makes one of three Jobs one of a CronJob, which makes no other one.
func (p *places) scheduled(job *batchv1.Job) error {
	if p.features == nil || p.admits.IntN(3) > 0 {
		return nil
	}
	p.have(job.Name, cronJobs)
	template := batchv1.JobTemplateSpec{Spec: *job.Spec.DeepCopy()}
	// Only the Job of a copy selects its pods itself, which a CronJob refuses.
	template.Spec.Selector, template.Spec.ManualSelector = nil, nil
	made, err := p.c.Admin.BatchV1().CronJobs(p.namespace).Create(p.t.Context(), &batchv1.CronJob{
		ObjectMeta: metav1.ObjectMeta{Name: job.Name}, Spec: batchv1.CronJobSpec{Schedule: "0 0 1 1 *", Suspend: new(true), JobTemplate: template},
	}, metav1.CreateOptions{})
	if err == nil {
		job.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(made, batchv1.SchemeGroupVersion.WithKind("CronJob"))}
	}
	return err
}

// podLevel has pods ask for resources as a whole, some of them for more than their containers.
func (p *places) podLevel(_ string, spec *corev1.PodSpec) {
	whole := corev1.ResourceList{}
	for name, amount := range spec.Containers[0].Resources.Requests {
		if amount = amount.DeepCopy(); name == corev1.ResourceCPU {
			amount.Add(*resource.NewMilliQuantity(250*p.features.Int64N(6), resource.DecimalSI))
		}
		whole[name] = amount
	}
	spec.Resources = &corev1.ResourceRequirements{Requests: whole}
}

// requires has pods run on some of the nodes alone: on those of one or two terms of node affinity.
func (p *places) requires(_ string, spec *corev1.PodSpec) {
	var terms []corev1.NodeSelectorTerm
	for range 1 + p.features.IntN(2) {
		zone := corev1.NodeSelectorRequirement{Key: "zone", Operator: one(p, corev1.NodeSelectorOpIn, corev1.NodeSelectorOpNotIn), Values: []string{one(p, "z0", "z1")}}
		name := corev1.NodeSelectorRequirement{Key: metav1.ObjectNameField, Operator: one(p, corev1.NodeSelectorOpIn, corev1.NodeSelectorOpNotIn), Values: []string{one(p, p.nodes...)}}
		number := corev1.NodeSelectorRequirement{Key: "number", Operator: one(p, corev1.NodeSelectorOpGt, corev1.NodeSelectorOpLt), Values: []string{one(p, "0", "1", "2")}}
		terms = append(terms, one(p,
			corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{zone}},
			corev1.NodeSelectorTerm{MatchFields: []corev1.NodeSelectorRequirement{name}},
			corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{number, {Key: "pool", Operator: corev1.NodeSelectorOpExists}}},
			corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{number}, MatchFields: []corev1.NodeSelectorRequirement{name}},
		))
	}
	require(spec, terms...)
}

// require has pods run on the nodes of one of these terms alone.
func require(spec *corev1.PodSpec, terms ...corev1.NodeSelectorTerm) {
	affinity := affinityOf(spec)
	if affinity.NodeAffinity == nil {
		affinity.NodeAffinity = &corev1.NodeAffinity{}
	}
	affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution = &corev1.NodeSelector{NodeSelectorTerms: terms}
}

// hostPorts has pods use a port of their nodes, some of them at one address or by another protocol.
func (p *places) hostPorts(_ string, spec *corev1.PodSpec) {
	spec.Containers[0].Ports = []corev1.ContainerPort{{
		ContainerPort: 80, HostPort: one[int32](p, 80, 443), HostIP: one(p, "", "0.0.0.0", "127.0.0.1", "10.0.0.1"), Protocol: one(p, corev1.ProtocolTCP, corev1.ProtocolUDP),
	}}
}
