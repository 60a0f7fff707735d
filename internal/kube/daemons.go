// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package kube

import (
	"context"
	"errors"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/workload"
)

const daemonSet = "DaemonSet"

// isDaemonSet reports whether a kind is the DaemonSet of apps/v1: other groups have kinds of
// the same name, with templates that this provider does not know (OpenKruise v1.9.1
// apis/apps/v1beta1/daemonset_types.go).
func isDaemonSet(kind workload.Kind) bool {
	return isApps(kind.APIVersion, kind.Kind, daemonSet)
}

// listsOf returns how the controllers of a kind are listed. Of DaemonSets the templates
// are needed, of all others the metadata.
func (c *Cluster) listsOf(kind workload.Kind) func(context.Context, metav1.ListOptions) (runtime.Object, error) {
	if isDaemonSet(kind) {
		return func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			return c.client.apps.DaemonSets("").List(ctx, o)
		}
	}
	return func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
		return c.meta.Resource(kind.Resource()).List(ctx, o)
	}
}

// listedDaemon is a template as it was listed.
type listedDaemon struct {
	*snapshot.Daemon
	generation int64
}

// templates are those of DaemonSets as they were listed last.
type templates struct {
	// listing is held while they are listed again, so that many simultaneous callers list once.
	listing sync.Mutex

	mu     sync.Mutex
	listed map[types.UID]listedDaemon
	at     time.Time
	// times grows with every list.
	times int
}

// daemonOf takes from a listed DaemonSet what its controller judges nodes by. Where it is being
// deleted, the controller neither creates nor deletes pods (k8s.io/kubernetes v1.37.2
// pkg/controller/daemon/daemon_controller.go, syncDaemonSet).
func daemonOf(o runtime.Object) (types.UID, listedDaemon, bool) {
	d, is := o.(*appsv1.DaemonSet)
	if !is || d.DeletionTimestamp != nil {
		return "", listedDaemon{}, false
	}
	return d.UID, listedDaemon{snapshot.DaemonOf(&d.Spec.Template.Spec), d.Generation}, true
}

// noteTemplates keeps what was listed.
func (c *Cluster) noteTemplates(listed map[types.UID]listedDaemon) {
	c.templates.mu.Lock()
	defer c.templates.mu.Unlock()
	c.templates.listed, c.templates.at = listed, time.Now()
	c.templates.times++
}

// SnapshotToDecide is Snapshot for a decision in the middle of an apply: other resources
// of the run, and other tools, may have changed the templates of DaemonSets since they
// were listed, and what PodDisruptionBudgets allow, and the ResourceQuotas and LimitRanges that were read. What was listed a
// moment ago is not listed again.
func (c *Cluster) SnapshotToDecide(ctx context.Context) (*snapshot.Snapshot, error) {
	if err := parallel(
		func() error { return c.refreshTemplates(ctx) },
		func() error { return c.refreshAllowances(ctx) },
	); err != nil {
		return nil, err
	}
	return c.Snapshot(ctx)
}

func (c *Cluster) refreshTemplates(ctx context.Context) error {
	c.templates.listing.Lock()
	defer c.templates.listing.Unlock()
	c.templates.mu.Lock()
	at := c.templates.at
	c.templates.mu.Unlock()
	if at.IsZero() || time.Since(at) < shelfLife {
		return nil
	}
	kind, _ := workload.Lookup("", daemonSet)
	_, err := c.listControllers(ctx, kind)
	if errors.Is(err, ErrForbidden) {
		return nil
	}
	return err
}

// daemonsAt grows with everything that becomes known of DaemonSets.
func (c *Cluster) daemonsAt() int {
	c.templates.mu.Lock()
	defer c.templates.mu.Unlock()
	c.workloads.mu.Lock()
	defer c.workloads.mu.Unlock()
	return c.templates.times + c.workloads.daemons
}

// daemons returns the templates of DaemonSets: those that were listed, and in their
// place what this process has read or written since.
func (c *Cluster) daemons() map[types.UID]*snapshot.Daemon {
	c.templates.mu.Lock()
	defer c.templates.mu.Unlock()
	c.workloads.mu.Lock()
	defer c.workloads.mu.Unlock()
	out := map[types.UID]*snapshot.Daemon{}
	for uid, d := range c.templates.listed {
		out[uid] = d.Daemon
	}
	for ref, object := range c.workloads.known {
		if !ref.Owner().DaemonSet() || object.GetGeneration() < c.templates.listed[object.GetUID()].generation {
			continue
		}
		if object.GetDeletionTimestamp() != nil {
			delete(out, object.GetUID())
			continue
		}
		fields, _, _ := unstructured.NestedMap(object.Object, "spec", "template", "spec")
		var spec corev1.PodSpec
		if runtime.DefaultUnstructuredConverter.FromUnstructured(fields, &spec) == nil {
			out[object.GetUID()] = snapshot.DaemonOf(&spec)
		}
	}
	return out
}
