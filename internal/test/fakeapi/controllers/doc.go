// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

// Package controllers has small controllers for package fakeapi: as much of the scheduler,
// of a kubelet, of the controllers of workloads, quotas, PodDisruptionBudgets, garbage and
// taint eviction, and of OpenShift's Machine API as faults in the middle of a rollout need,
// and tests of pods that follow a template. They go one step at a time, a moment after each
// change, so that a test sees what is in between.
package controllers

import (
	"time"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/fakeapi"
)

// moment is how long after a change the controllers take their next step.
const moment = 500 * time.Millisecond

// controller takes one step. It looks at nothing but the resources that it reads: where none of them has
// changed since it began its last step, it has nothing to do until the time that this step returned, if any.
type controller struct {
	step  func(api *fakeapi.Server) (again time.Time)
	reads []schema.GroupVersionResource
}

// untimed is the step of a controller that looks at no clock.
func untimed(step func(api *fakeapi.Server)) func(api *fakeapi.Server) time.Time {
	return func(api *fakeapi.Server) (never time.Time) {
		step(api)
		return never
	}
}

var (
	nodes        = corev1.SchemeGroupVersion.WithResource("nodes")
	pods         = corev1.SchemeGroupVersion.WithResource("pods")
	quotasOfPods = corev1.SchemeGroupVersion.WithResource("resourcequotas")
	disruptions  = policyv1.SchemeGroupVersion.WithResource("poddisruptionbudgets")
	machineSets  = machinev1beta1.GroupVersion.WithResource("machinesets")
	deployments  = appsv1.SchemeGroupVersion.WithResource("deployments")
	replicaSets  = appsv1.SchemeGroupVersion.WithResource("replicasets")
	statefulSets = appsv1.SchemeGroupVersion.WithResource("statefulsets")
	daemonSets   = appsv1.SchemeGroupVersion.WithResource("daemonsets")
	jobs         = batchv1.SchemeGroupVersion.WithResource("jobs")
)

// Start runs all controllers until the server is closed.
func Start(api *fakeapi.Server) {
	failed := newPauses()
	all := []controller{
		{untimed(quotas), []schema.GroupVersionResource{quotasOfPods}},
		{untimed(machines), []schema.GroupVersionResource{machineSets, Machines, nodes, pods, disruptions}},
		{func(api *fakeapi.Server) time.Time { return workloads(api, failed) }, []schema.GroupVersionResource{deployments, replicaSets, statefulSets, daemonSets, jobs, pods, nodes, quotasOfPods}},
		{untimed(kubelet), []schema.GroupVersionResource{nodes, pods}},
		{untimed(schedule), []schema.GroupVersionResource{nodes, pods}},
		{untimed(budgets), []schema.GroupVersionResource{pods, disruptions, deployments, replicaSets, statefulSets}},
		{untimed(evict), []schema.GroupVersionResource{nodes, pods}},
	}
	seen, due := make([]int64, len(all)), make([]time.Time, len(all))
	go api.Run(moment, func() (again time.Time) {
		for i, c := range all {
			newest, timed := api.Changed(c.reads...), !due[i].IsZero() && !time.Now().Before(due[i])
			if newest > seen[i] || timed {
				seen[i] = newest
				due[i] = c.step(api)
			}
			again = earlier(again, due[i])
		}
		return again
	})
}

// earlier returns the earlier of two times, of which none that is zero counts.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}
