// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package kube

import (
	"net/http"

	"k8s.io/client-go/discovery"
	appsv1 "k8s.io/client-go/kubernetes/typed/apps/v1"
	authorizationv1 "k8s.io/client-go/kubernetes/typed/authorization/v1"
	batchv1 "k8s.io/client-go/kubernetes/typed/batch/v1"
	corev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	policyv1 "k8s.io/client-go/kubernetes/typed/policy/v1"
	schedulingv1 "k8s.io/client-go/kubernetes/typed/scheduling/v1"
	storagev1 "k8s.io/client-go/kubernetes/typed/storage/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/flowcontrol"
)

// clients are the typed clients of the API groups that the provider uses. The client set of
// client-go makes those of all 57 groups and versions whenever a process starts.
type clients struct {
	core          *corev1.CoreV1Client
	pods          podReader
	apps          *appsv1.AppsV1Client
	batch         *batchv1.BatchV1Client
	policy        *policyv1.PolicyV1Client
	scheduling    *schedulingv1.SchedulingV1Client
	storage       *storagev1.StorageV1Client
	authorization *authorizationv1.AuthorizationV1Client
	discovery     *discovery.DiscoveryClient
}

// newClients makes the clients, which have one rate limiter, as those of client-go's client set
// (k8s.io/client-go v0.37.2 kubernetes/clientset.go, NewForConfigAndClient).
func newClients(rc *rest.Config, through *http.Client) (c clients, err error) {
	shared := *rc
	if shared.RateLimiter == nil && shared.QPS > 0 {
		shared.RateLimiter = flowcontrol.NewTokenBucketRateLimiter(shared.QPS, shared.Burst)
	}
	if c.core, err = corev1.NewForConfigAndClient(&shared, through); err != nil {
		return clients{}, err
	}
	if c.pods, err = newPodReader(&shared, through, newSlimmer()); err != nil {
		return clients{}, err
	}
	if c.apps, err = appsv1.NewForConfigAndClient(&shared, through); err != nil {
		return clients{}, err
	}
	if c.batch, err = batchv1.NewForConfigAndClient(&shared, through); err != nil {
		return clients{}, err
	}
	if c.policy, err = policyv1.NewForConfigAndClient(&shared, through); err != nil {
		return clients{}, err
	}
	if c.scheduling, err = schedulingv1.NewForConfigAndClient(&shared, through); err != nil {
		return clients{}, err
	}
	if c.storage, err = storagev1.NewForConfigAndClient(&shared, through); err != nil {
		return clients{}, err
	}
	if c.authorization, err = authorizationv1.NewForConfigAndClient(&shared, through); err != nil {
		return clients{}, err
	}
	c.discovery, err = discovery.NewDiscoveryClientForConfigAndClient(&shared, through)
	return c, err
}
