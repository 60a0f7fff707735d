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
	"github.com/kubetaint/terraform-provider-kubetaint/internal/testbed/modules/machineapi/healthcheck"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/testbed/modules/machineapi/kubelet"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/testbed/modules/machineapi/machine"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/testbed/modules/machineapi/machineset"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/testbed/modules/machineapi/nodelink"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/testbed/modules/machineapi/validation"
)

// home is the namespace that OpenShift's operator has its controllers watch.
const home = "openshift-machine-api"

// initializeAfter is how long a cloud controller takes to initialize a Node.
const initializeAfter = time.Second

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
	if err := prepare(ctx, cfg, scheme, o); err != nil {
		return nil, err
	}
	main, err := manager.New(cfg, manager.Options{
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
	p := &processes{main: main, cfg: cfg, faithful: o.faithful}
	return main, register(ctx, p, o)
}

// processes gives controllers their manager: one and the same, or in a faithful Machine
// API one for each process of OpenShift. Each has a cache of its own then, so that they
// know of each other's writes at different moments, and conflict.
type processes struct {
	main     manager.Manager
	cfg      *rest.Config
	faithful bool
	// caches are those that are to be filled before all is ready.
	caches []cache.Cache
}

// of returns the manager of a process, which looks at all objects again as often as
// sync says; nil is as good as never.
func (p *processes) of(name string, sync *time.Duration) (manager.Manager, error) {
	if !p.faithful {
		return p.main, nil
	}
	cfg := rest.CopyConfig(p.cfg)
	cfg.UserAgent += "/" + name
	mgr, err := manager.New(cfg, manager.Options{
		Scheme: p.main.GetScheme(),
		// pkg/operator/sync.go, newContainers: --namespace.
		Cache:                   cache.Options{SyncPeriod: sync, DefaultNamespaces: map[string]cache.Config{home: {}}},
		Metrics:                 server.Options{BindAddress: "0"},
		HealthProbeBindAddress:  "0",
		GracefulShutdownTimeout: ptr.To(time.Duration(0)),
	})
	if err != nil {
		return nil, fmt.Errorf("making the manager of %s: %w", name, err)
	}
	p.caches = append(p.caches, mgr.GetCache())
	return mgr, p.main.Add(mgr)
}

// register adds the controllers to their managers.
func register(ctx context.Context, p *processes, o options) error {
	// One for each controller: the back-off of one is not that of another.
	opts := func() controller.Options {
		return controller.Options{RateLimiter: o.rateLimiter(), SkipNameValidation: ptr.To(true)}
	}
	// cmd/machineset, cmd/vsphere, cmd/nodelink-controller and cmd/machine-healthcheck: the
	// first two alone have a sync period.
	sets, err := p.of("machineset", &o.sync)
	if err != nil {
		return err
	}
	machines, err := p.of("machine", &o.sync)
	if err != nil {
		return err
	}
	links, err := p.of("nodelink", nil)
	if err != nil {
		return err
	}
	initialize := time.Duration(0)
	if o.faithful {
		initialize, o.drain.OneAtATime = initializeAfter, true
		checks, err := p.of("machinehealthcheck", nil)
		if err != nil {
			return err
		}
		if err := healthcheck.Add(checks); err != nil {
			return err
		}
	}
	c, err := cloud.Add(p.main, initialize, opts())
	if err != nil {
		return err
	}
	if len(o.workers) > 0 {
		if err := kubelet.Add(ctx, p.main, o.controlPlane, o.workers, opts()); err != nil {
			return err
		}
	}
	return errors.Join(
		machineset.Add(sets, opts()),
		machine.Add(machines, c, o.again, opts()),
		drain.Add(machines, o.drain),
		nodelink.Add(ctx, links, opts()),
		p.main.AddReadyzCheck("caches", p.ready),
	)
}

// ready reports whether all controllers run.
func (p *processes) ready(request *http.Request) error {
	ctx, cancel := context.WithTimeout(request.Context(), time.Second)
	defer cancel()
	for _, c := range append(p.caches, p.main.GetCache()) {
		if !c.WaitForCacheSync(ctx) {
			return errors.New("the caches are not filled yet")
		}
	}
	return nil
}

// rateLimiter is controller-runtime's default, with another maximum.
func (o options) rateLimiter() workqueue.TypedRateLimiter[reconcile.Request] {
	return workqueue.NewTypedMaxOfRateLimiter(
		workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](5*time.Millisecond, o.retryMax),
		&workqueue.TypedBucketRateLimiter[reconcile.Request]{Limiter: rate.NewLimiter(rate.Limit(10), 100)},
	)
}

// prepare installs the definitions, the namespace of the cloud's books, and what else a
// faithful Machine API has.
func prepare(ctx context.Context, cfg *rest.Config, scheme *runtime.Scheme, o options) error {
	c, err := client.New(cfg, client.Options{Scheme: scheme})
	if err != nil {
		return err
	}
	if err := refuseOpenShift(ctx, c); err != nil {
		return err
	}
	if err := installCRDs(ctx, c, o.definitions(), o.crds); err != nil {
		return err
	}
	namespaces := []string{cloud.Namespace}
	if o.faithful {
		namespaces = append(namespaces, home)
	}
	for _, name := range namespaces {
		namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
		if err := c.Create(ctx, namespace); err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("making the namespace %s: %w", name, err)
		}
	}
	if !o.faithful {
		return nil
	}
	return validation.Serve(ctx, c, scheme)
}
