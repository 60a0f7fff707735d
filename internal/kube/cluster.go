// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package kube

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/machineset"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/workload"
)

var schemeGroupVersion = schema.GroupVersion{}

// Cluster is one cluster as one process sees it. All resources of a provider
// configuration share it, so that each kind of object is listed once however
// many resources there are. It is safe for concurrent use.
type Cluster struct {
	host    string
	client  clients
	meta    metadata.Interface
	dynamic dynamic.Interface
	mapper  *restmapper.DeferredDiscoveryRESTMapper
	// serves holds what the cluster serves. It is asked for once, and again where a kind that a
	// user names is not there.
	serves       discovery.CachedDiscoveryInterfaceWithContext
	rediscovered rediscovery
	nodes        *collection[*snapshot.Node]
	pods         *collection[*snapshot.Pod]
	// some are the pods of single nodes, until all are listed.
	some somePods
	// sets and machines are OpenShift's.
	sets     *collection[*machineset.Set]
	machines *collection[*machineset.Machine]

	identity   once[string]
	context    once[surroundings]
	groups     once[[]string]    // that autoscalers may add nodes to
	webhooks   once[webhookList] // that are called for new pods
	profile    once[profile]     // of OpenShift's scheduler
	claims     once[storage]
	limits     once[*nodeDrivers] // of volumes
	csiDrivers once[map[string]csiDriver]
	classes    once[map[string]*snapshot.StorageClass]
	capacity   once[map[string]*snapshot.StorageClass] // the same with capacities
	// priorities are known once evicted pods have named PriorityClasses, nil without the right to list them.
	priorities once[*snapshot.PriorityClasses]
	custom     once[[]workload.Kind]
	// statefulSets are those of all namespaces, once claims or policies have needed them.
	statefulSets once[statefulSets]
	configs      once[[]Marked]
	ancestry     ancestry
	policies     setPolicies
	jobs         evictedJobs
	families     families

	allowances  listedAllowances
	controllers listedControllers
	namespaces  namespaces
	admissions  admissions
	workloads   workloads
	templates   templates
	built       builtSnapshot
	follower    follower
	edits       edits
	// confirmations bounds what Settle reads.
	confirmations confirmations
	attachments   atomic.Pointer[snapshot.Attachments] // once a change has needed them
	stored        atomic.Pointer[learnedStorage]       // likewise
	wrote         atomic.Pointer[time.Time]            // when this process has last written
}

// New prepares the connection. It sends nothing: the first request is made
// when something is needed.
func New(cfg Config) (*Cluster, error) {
	rc, err := cfg.rest()
	if err != nil {
		return nil, err
	}
	c, err := connect(rc)
	if err != nil {
		return nil, &ConfigError{Attribute: cfg.source(), Message: "The connection cannot be made: " + err.Error()}
	}
	c.some.reading = cfg.Reading
	return c, nil
}

// Host is the address of the API server, without a password that may be in it.
func (c *Cluster) Host() string { return withoutUserinfo(c.host) }

func connect(rc *rest.Config) (*Cluster, error) {
	through, err := httpClient(rc)
	if err != nil {
		return nil, err
	}
	client, err := newClients(rc, through)
	if err != nil {
		return nil, err
	}
	metadata, err := metadata.NewForConfigAndClient(metadata.ConfigFor(rc), through)
	if err != nil {
		return nil, err
	}
	dynamic, err := dynamic.NewForConfigAndClient(dynamic.ConfigFor(rc), through)
	if err != nil {
		return nil, err
	}
	serves := memory.NewMemCacheClientWithContext(discovery.ToDiscoveryInterfaceWithContext(client.discovery))
	c := &Cluster{
		host: rc.Host, client: client, meta: metadata, dynamic: dynamic, serves: serves,
		mapper: restmapper.NewDeferredDiscoveryRESTMapperWithContext(serves),
		nodes: newCollection(kind[*snapshot.Node]{
			plural: "nodes",
			list: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
				return client.core.Nodes().List(ctx, o)
			},
			watch: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
				return client.core.Nodes().Watch(ctx, o)
			},
			slim:        slimOf(slimNode),
			key:         func(n *snapshot.Node) string { return n.Name },
			itemVersion: func(n *snapshot.Node) string { return n.ResourceVersion },
		}),
		pods: newCollection(kind[*snapshot.Pod]{
			plural: "pods",
			list:   client.pods.list,
			watch:  client.pods.watch,
			slim:   client.pods.pod,
			key:    (*snapshot.Pod).Key,
		}),
		sets:     newCollection(machineKind(dynamic, "machinesets", slimSet, (*machineset.Set).Key, func(s *machineset.Set) string { return s.ResourceVersion })),
		machines: newCollection(machineKind(dynamic, "machines", slimMachine, (*machineset.Machine).Key, func(m *machineset.Machine) string { return m.ResourceVersion })),
	}
	c.nodes.patience, c.pods.patience, c.sets.patience, c.machines.patience = c.patience, c.patience, c.patience, c.patience
	c.pods.begin, c.pods.atLeast = c.some.close, c.some.seen
	return c, nil
}

// ID returns the UID of the namespace kube-system, which tells one cluster
// from another. It is asked for once per process.
func (c *Cluster) ID(ctx context.Context) (string, error) {
	return c.identity.get(ctx, func() (string, error) {
		var uid string
		err := reading.do(ctx, bounded(func(ctx context.Context) error {
			ns, err := c.client.core.Namespaces().Get(ctx, metav1.NamespaceSystem, metav1.GetOptions{})
			if err == nil {
				uid = string(ns.UID)
			}
			return err
		}))
		return uid, wrap("get namespace kube-system", err)
	})
}

// Nodes returns all nodes, in no order.
func (c *Cluster) Nodes(ctx context.Context) ([]*snapshot.Node, error) {
	if err := c.nodes.load(ctx); err != nil {
		return nil, err
	}
	nodes, _ := c.nodes.all()
	return nodes, nil
}

// NodesByName returns all nodes by name. Errors: those of the API server.
func (c *Cluster) NodesByName(ctx context.Context) (map[string]*snapshot.Node, error) {
	if err := c.nodes.load(ctx); err != nil {
		return nil, err
	}
	return c.nodes.byKey(), nil
}

// podsBatch is how long changes of pods are gathered before they are looked at.
const podsBatch = 100 * time.Millisecond

// shelfLife is how long a data source takes what was read for something else.
const shelfLife = 10 * time.Second

// Refresh brings what has been read up to date for a data source, which may be
// read in the middle of an apply: what was listed before the last write of this
// process, or a while ago, is listed again. Nodes that are followed are current
// by themselves.
func (c *Cluster) Refresh(ctx context.Context) error {
	moment := c.staleBefore()
	c.follower.mu.Lock()
	nodes, pods := c.follower.stop != nil, c.follower.pods
	c.follower.mu.Unlock()
	return parallel(
		func() error { return freshen(ctx, c.nodes, nodes, moment) },
		func() error { return freshen(ctx, c.pods, pods, moment) },
		func() error { return c.refreshTemplates(ctx) },
		func() error { return c.refreshAllowances(ctx) },
	)
}

// RelistPods lists the pods anew, for a decision that must not wait for the
// watch.
func (c *Cluster) RelistPods(ctx context.Context) error {
	return c.pods.refresh(ctx)
}

// NextPods returns when something about pods has changed, or after a while. Many
// changes in one sweep are one.
func (c *Cluster) NextPods(ctx context.Context, atMost time.Duration) {
	bounded, cancel := context.WithTimeout(ctx, atMost)
	defer cancel()
	c.pods.next(bounded)
	pause(ctx, podsBatch)
}

// Node returns one node as it is known now; false where there is none.
func (c *Cluster) Node(name string) (*snapshot.Node, bool) {
	return c.nodes.get(name)
}

// WaitForNode returns when a node of this name is there. The cluster must be
// followed meanwhile.
func (c *Cluster) WaitForNode(ctx context.Context, name string) error {
	return c.nodes.await(ctx, func() bool {
		_, ok := c.nodes.get(name)
		return ok
	})
}

// patience is how long this process holds out against trouble of the API server when it
// reads: as long as when it writes, once it has written.
func (c *Cluster) patience() retryPolicy {
	if c.wrote.Load() != nil {
		return writing
	}
	return reading
}

// once remembers the first success for good, and a cluster out of reach for a
// while.
type once[T any] struct {
	mu       sync.Mutex
	done     bool
	value    T
	failure  error
	failedAt time.Time
}

// known returns the first success, and the zero value for none so far.
func (o *once[T]) known() T {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.value
}

func (o *once[T]) get(ctx context.Context, ask func() (T, error)) (T, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.done {
		return o.value, nil
	}
	if o.failure != nil && time.Since(o.failedAt) < failureMemory {
		var none T
		return none, o.failure
	}
	value, err := ask()
	switch {
	case err == nil:
		o.value, o.done = value, true
	case OutOfReach(err) && ctx.Err() == nil:
		o.failure, o.failedAt = err, time.Now()
	}
	return value, err
}
