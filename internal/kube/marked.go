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

// openShiftNode is a label of every node that OpenShift's machine-config operator
// sets up: github.com/openshift/machine-config-operator
// templates/worker/01-worker-kubelet/_base/units/kubelet.service.yaml, and its
// sibling for masters.
const openShiftNode = "node.openshift.io/os_id"

// onOpenShift reports whether the cluster is one of OpenShift's.
func (c *Cluster) onOpenShift(ctx context.Context) (bool, error) {
	nodes, err := c.Nodes(ctx)
	return slices.ContainsFunc(nodes, func(n *snapshot.Node) bool { _, is := n.Labels[openShiftNode]; return is }), err
}

// FindsMarks reports whether MarkedAnywhere finds objects of this kind that this process
// has not read, with these credentials.
func (c *Cluster) FindsMarks(ctx context.Context, ref workload.Ref) (bool, error) {
	switch kind, known := workload.Lookup(ref.APIVersion, ref.Kind); {
	case known && kind.Builtin:
		return true, nil
	case known:
		return c.onOpenShift(ctx)
	}
	custom, err := c.customKinds(ctx)
	group := ref.GroupVersionKind().Group
	return slices.ContainsFunc(custom, func(k workload.Kind) bool { return k.Kind == ref.Kind && k.Resource().Group == group }), err
}

// MarkedAnywhere returns the workloads that carry a record of what is owned there: those
// of the built-in kinds, of the custom kinds that the credentials' rights name, and
// OpenShift's on its clusters; others are not asked for what they do not have. Nodes show
// which cluster it is, so that this is for who reads them anyway. Metadata is listed once
// per process, ReplicaSets and Jobs together with what a snapshot needs of them; what this
// process reads or writes itself, of any kind, is known without. Beside an error that is
// ErrForbidden it returns those of the kinds that may be listed.
func (c *Cluster) MarkedAnywhere(ctx context.Context) ([]Marked, error) {
	kinds, err := c.markedKinds(ctx)
	if err != nil {
		return nil, err
	}
	return c.withConfigs(ctx, kinds)
}

// MarkedRolling returns those of MarkedAnywhere whose pods may restart when their
// tolerations change: neither CronJobs nor Jobs of
// batch/v1, which are not asked for.
func (c *Cluster) MarkedRolling(ctx context.Context) ([]Marked, error) {
	kinds, err := c.markedKinds(ctx)
	if err != nil {
		return nil, err
	}
	return c.withConfigs(ctx, slices.DeleteFunc(kinds, func(k workload.Kind) bool {
		return k.Resource().Group == batchv1.GroupName && (k.Kind == "CronJob" || k.Kind == "Job")
	}))
}

// withConfigs lists kinds for their records, beside those of OpenShift's monitoring. That is there
// where OpenShift's operators are.
func (c *Cluster) withConfigs(ctx context.Context, kinds []workload.Kind) ([]Marked, error) {
	if !slices.ContainsFunc(kinds, func(k workload.Kind) bool { return k.Kind == "IngressController" }) {
		return c.listMarked(ctx, kinds, nil)
	}
	configs, err := c.configRecords(ctx)
	if err != nil {
		return nil, err
	}
	return c.listMarked(ctx, kinds, configs)
}

// markedKinds returns the kinds of which objects may be marked.
func (c *Cluster) markedKinds(ctx context.Context) ([]workload.Kind, error) {
	custom, err := c.customKinds(ctx)
	if err != nil {
		return nil, err
	}
	kinds := slices.Concat(workload.BuiltinKinds(), custom)
	is, err := c.onOpenShift(ctx)
	if err != nil || !is {
		return kinds, err
	}
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

// listMarked lists kinds for their records, and adds others.
func (c *Cluster) listMarked(ctx context.Context, kinds []workload.Kind, others []Marked) ([]Marked, error) {
	found, refused := make([][]Marked, len(kinds)), make([]error, len(kinds))
	lists := make([]func() error, len(kinds))
	for i, kind := range kinds {
		lists[i] = func() error {
			some, err := c.controllersOf(ctx, kind)
			found[i] = some.marked
			if errors.Is(err, ErrForbidden) {
				refused[i], err = err, nil
			}
			return err
		}
	}
	if err := parallel(lists...); err != nil {
		return nil, err
	}
	return c.knownBetter(append(slices.Concat(found...), others...)), errors.Join(refused...)
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
	if m, marked := markedOf(ref, object); marked {
		out = append(out, m)
	}
	for _, one := range workload.Components(ref) {
		component := ref
		component.Component = one.Name
		if m, marked := markedOf(component, object); marked {
			out = append(out, m)
		}
	}
	return out
}

// markedOf reads the records of an object; one that cannot be read is told where
// the object itself is looked at. A Deployment's controller copies all annotations
// of it to its ReplicaSets (k8s.io/kubernetes v1.37.1
// pkg/controller/deployment/util/deployment_util.go, SetNewReplicaSetAnnotations):
// what is marked there is not theirs.
func markedOf(ref workload.Ref, object metav1.Object) (Marked, bool) {
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
