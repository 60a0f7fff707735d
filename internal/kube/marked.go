// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package kube

import (
	"context"
	"errors"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/discovery/cached/memory"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/label"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/toleration"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/workload"
)

// Marked is an object that carries a record of owned tolerations, or of owned
// entries of its template's node selector.
type Marked struct {
	workload.Ref
	// Labels are those of the object itself.
	Labels map[string]string
	Record toleration.Record
	Pins   label.Record
}

// FindsMarks reports whether MarkedAnywhere finds objects of this kind that this process
// has not read, with these credentials.
func (c *Cluster) FindsMarks(ctx context.Context, ref workload.Ref) (bool, error) {
	switch kind, known := workload.Lookup(ref.APIVersion, ref.Kind); {
	case known && kind.Builtin:
		return true, nil
	case known:
		found, _, err := c.listKinds(ctx, rolling(workload.BuiltinKinds()))
		if err != nil {
			return false, err
		}
		_, is, err := c.onOpenShift(ctx, found)
		return is, err
	}
	custom, err := c.customKinds(ctx)
	group := ref.GroupVersionKind().Group
	return slices.ContainsFunc(custom, func(k workload.Kind) bool { return k.Kind == ref.Kind && k.Resource().Group == group }), err
}

// MarkedAnywhere returns the workloads that carry a record of what is owned there: those
// of the built-in kinds, of the custom kinds that the credentials' rights name, and
// OpenShift's on its clusters; others are not asked for what they do not have. Nodes and workloads show
// which cluster it is, so that this is for who reads nodes anyway. Metadata is listed once
// per process, ReplicaSets and Jobs together with what a snapshot needs of them; what this
// process reads or writes itself, of any kind, is known without. Beside an error that is
// ErrForbidden it returns those of the kinds that may be listed.
func (c *Cluster) MarkedAnywhere(ctx context.Context) ([]Marked, error) {
	return c.markedOf(ctx, workload.BuiltinKinds())
}

// MarkedRolling returns those of MarkedAnywhere whose pods may restart when their
// tolerations change: neither CronJobs nor Jobs of
// batch/v1, which are not asked for.
func (c *Cluster) MarkedRolling(ctx context.Context) ([]Marked, error) {
	return c.markedOf(ctx, rolling(workload.BuiltinKinds()))
}

// rolling returns the kinds whose objects replace their pods.
func rolling(kinds []workload.Kind) []workload.Kind {
	return slices.DeleteFunc(kinds, func(k workload.Kind) bool {
		return k.Resource().Group == batchv1.GroupName && (k.Kind == "CronJob" || k.Kind == "Job")
	})
}

// markedOf returns the marked objects of built-in kinds, custom ones and those of OpenShift.
func (c *Cluster) markedOf(ctx context.Context, builtin []workload.Kind) ([]Marked, error) {
	custom, err := c.customKinds(ctx)
	if err != nil {
		return nil, err
	}
	found, refused, err := c.listKinds(ctx, slices.Concat(builtin, custom))
	if err != nil {
		return nil, err
	}
	namespaces, is, err := c.onOpenShift(ctx, found)
	if err != nil {
		return nil, err
	}
	var marked []Marked
	if is {
		more, configs, alsoRefused, err := c.ofOpenShift(ctx, namespaces)
		if err != nil {
			return nil, err
		}
		found, marked, refused = append(found, more...), configs, errors.Join(refused, alsoRefused)
	}
	for _, some := range found {
		marked = append(marked, some.marked...)
	}
	return c.knownBetter(marked), refused
}

// ofOpenShift lists the kinds of OpenShift, and reads the records of its monitoring, which is there where its
// operators are.
func (c *Cluster) ofOpenShift(ctx context.Context, namespaces openShiftNamespaces) (found []controllers, configs []Marked, refused, err error) {
	kinds, err := c.openShiftKinds(ctx)
	if err != nil {
		return nil, nil, nil, err
	}
	if found, refused, err = c.listKinds(ctx, kinds); err != nil {
		return nil, nil, nil, err
	}
	if namespaces.monitoring() && slices.ContainsFunc(kinds, func(k workload.Kind) bool { return k.Kind == "IngressController" }) {
		configs, err = c.configRecords(ctx)
	}
	return found, configs, refused, err
}

// openShiftKinds returns the kinds of OpenShift that the cluster serves.
func (c *Cluster) openShiftKinds(ctx context.Context) ([]workload.Kind, error) {
	var kinds []workload.Kind
	for _, kind := range workload.OpenShiftKinds() {
		served, err := c.isServed(ctx, kind)
		if err != nil {
			return nil, err
		}
		if served {
			kinds = append(kinds, kind)
		}
	}
	return kinds, nil
}

// isServed reports whether the cluster serves a kind. One whose API server is out of reach
// counts as served: a request for its objects is answered so.
func (c *Cluster) isServed(ctx context.Context, kind workload.Kind) (bool, error) {
	// From memory, unless it has not been asked for yet.
	err := reading.do(ctx, bounded(func(ctx context.Context) error {
		_, err := c.serves.ServerGroupsWithContext(ctx)
		return err
	}))
	if err != nil {
		return false, wrap("find out what the cluster serves", err)
	}
	switch list, err := c.serves.ServerResourcesForGroupVersionWithContext(ctx, kind.APIVersion); {
	case errors.Is(err, memory.ErrCacheNotFound) || apierrors.IsNotFound(err):
		return false, nil
	case list == nil:
		return true, nil
	default:
		return slices.ContainsFunc(list.APIResources, func(r metav1.APIResource) bool { return r.Name == kind.Plural }), nil
	}
}

// listKinds lists kinds side by side. The error refused is ErrForbidden where some may not be listed: there is nothing
// known of these.
func (c *Cluster) listKinds(ctx context.Context, kinds []workload.Kind) (found []controllers, refused, err error) {
	found = make([]controllers, len(kinds))
	refusals, lists := make([]error, len(kinds)), make([]func() error, len(kinds))
	for i, kind := range kinds {
		lists[i] = func() (err error) {
			if found[i], err = c.controllersOf(ctx, kind); errors.Is(err, ErrForbidden) {
				found[i].openShift, refusals[i], err = unknownNamespaces, err, nil
			}
			return err
		}
	}
	if err := parallel(lists...); err != nil {
		return nil, nil, err
	}
	return found, errors.Join(refusals...), nil
}

// knownBetter puts what this process has read or written since in the place of what
// was listed.
func (c *Cluster) knownBetter(listed []Marked) []Marked {
	c.workloads.mu.Lock()
	defer c.workloads.mu.Unlock()
	var out []Marked
	for _, m := range listed {
		if _, newer := c.workloads.known[m.Whole()]; !newer {
			out = append(out, m)
		}
	}
	for ref, object := range c.workloads.known {
		out = append(out, marksOf(ref, object)...)
	}
	return out
}

// marksOf reads the records of an object: one of its own, or one of each component.
func marksOf(ref workload.Ref, object metav1.Object) []Marked {
	var out []Marked
	if m, marked := recordsOn(ref, object); marked {
		out = append(out, m)
	}
	for _, one := range workload.Components(ref) {
		component := ref
		component.Component = one.Name
		if m, marked := recordsOn(component, object); marked {
			out = append(out, m)
		}
	}
	return out
}

// recordsOn reads the records of an object; one that cannot be read is told where
// the object itself is looked at. A Deployment's controller copies all annotations
// of it to its ReplicaSets (k8s.io/kubernetes v1.37.1
// pkg/controller/deployment/util/deployment_util.go, SetNewReplicaSetAnnotations):
// what is marked there is not theirs.
func recordsOn(ref workload.Ref, object metav1.Object) (Marked, bool) {
	m := Marked{Ref: ref, Labels: object.GetLabels()}
	if owner := metav1.GetControllerOfNoCopy(object); owner != nil && isApps(owner.APIVersion, owner.Kind, "Deployment") && isApps(ref.APIVersion, ref.Kind, "ReplicaSet") {
		return m, false
	}
	m.Record, _ = toleration.ParseRecord(object.GetAnnotations()[ref.Annotation(toleration.OwnedAnnotation)])
	m.Pins, _ = label.ParseRecord(object.GetAnnotations()[ref.Annotation(label.OwnedAnnotation)])
	return m, len(m.Record)+len(m.Pins) > 0
}

// isApps reports whether a kind is that of apps/v1 with a name, which other groups may have too.
func isApps(apiVersion, kind, name string) bool {
	return snapshot.OwnerOf(apiVersion, kind, "") == snapshot.Owner{Group: appsv1.GroupName, Kind: name}
}
