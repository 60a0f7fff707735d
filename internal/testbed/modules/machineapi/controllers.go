// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	"golang.org/x/time/rate"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/testbed/modules/machineapi/cloud"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/testbed/modules/machineapi/drain"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/testbed/modules/machineapi/kubelet"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/testbed/modules/machineapi/machine"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/testbed/modules/machineapi/machineset"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/testbed/modules/machineapi/nodelink"
)

// build installs what the controllers need in the cluster, and returns them
// ready to be started.
func build(ctx context.Context, cfg *rest.Config, o options) (manager.Manager, error) {
	cfg = rest.CopyConfig(cfg)
	cfg.UserAgent = "machineapi"
	// Tests with many machines are not to wait for the client.
	cfg.QPS, cfg.Burst = 1000, 2000
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), machinev1beta1.Install(scheme)); err != nil {
		return nil, err
	}
	if err := prepare(ctx, cfg, o); err != nil {
		return nil, err
	}
	mgr, err := manager.New(cfg, manager.Options{
		Scheme: scheme,
		Cache: cache.Options{
			SyncPeriod: &o.sync,
			ByObject:   map[client.Object]cache.ByObject{&corev1.ConfigMap{}: {Namespaces: map[string]cache.Config{cloud.Namespace: {}}}},
		},
		Metrics:                server.Options{BindAddress: "0"},
		HealthProbeBindAddress: o.health,
		// Its end is that of the cluster: nothing is to wait for it.
		GracefulShutdownTimeout: ptr.To(time.Duration(0)),
	})
	if err != nil {
		return nil, err
	}
	return mgr, register(ctx, mgr, o)
}

// register adds the controllers to the manager.
func register(ctx context.Context, mgr manager.Manager, o options) error {
	// One for each controller: the back-off of one is not that of another.
	opts := func() controller.Options {
		return controller.Options{RateLimiter: o.rateLimiter(), SkipNameValidation: ptr.To(true)}
	}
	c, err := cloud.Add(mgr, opts())
	if err != nil {
		return err
	}
	if len(o.workers) > 0 {
		if err := kubelet.Add(ctx, mgr, o.controlPlane, o.workers, opts()); err != nil {
			return err
		}
	}
	return errors.Join(
		machineset.Add(mgr, opts()),
		machine.Add(mgr, c, o.again, opts()),
		drain.Add(mgr, o.drain),
		nodelink.Add(ctx, mgr, opts()),
		mgr.AddReadyzCheck("caches", func(request *http.Request) error {
			ctx, cancel := context.WithTimeout(request.Context(), time.Second)
			defer cancel()
			if !mgr.GetCache().WaitForCacheSync(ctx) {
				return errors.New("the caches are not filled yet")
			}
			return nil
		}),
	)
}

// rateLimiter is controller-runtime's default, with another maximum.
func (o options) rateLimiter() workqueue.TypedRateLimiter[reconcile.Request] {
	return workqueue.NewTypedMaxOfRateLimiter(
		workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](5*time.Millisecond, o.retryMax),
		&workqueue.TypedBucketRateLimiter[reconcile.Request]{Limiter: rate.NewLimiter(rate.Limit(10), 100)},
	)
}

// prepare installs the definitions and the namespace of the cloud's books.
func prepare(ctx context.Context, cfg *rest.Config, o options) error {
	c, err := client.New(cfg, client.Options{})
	if err != nil {
		return err
	}
	if err := refuseOpenShift(ctx, c); err != nil {
		return err
	}
	if err := installCRDs(ctx, c, o.crds); err != nil {
		return err
	}
	books := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: cloud.Namespace}}
	if err := c.Create(ctx, books); err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("making the namespace %s: %w", cloud.Namespace, err)
	}
	return nil
}
