// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package kube

import (
	"context"
	"errors"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/printable"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

// claimTemplate is what the claims of a StatefulSet ask for.
type claimTemplate struct {
	*snapshot.ClaimRequest
	// classless is set where it names no StorageClass: the default one counts.
	classless bool
}

// statefulSet is what plans need of a StatefulSet.
type statefulSet struct {
	templates map[string]claimTemplate
	// ordered is set for the podManagementPolicy OrderedReady.
	ordered bool
}

// statefulSets are StatefulSets by their names.
type statefulSets map[snapshot.WorkloadKey]statefulSet

// templatesInto adds the claim templates of StatefulSets. There are none where there is no permission to list them: a
// preview names the claims as not modelled then.
func (c *Cluster) templatesInto(ctx context.Context, into *learnedStorage) error {
	found, err := c.allSets(ctx)
	into.raw, into.Templates = found, map[snapshot.WorkloadKey]map[string]*snapshot.ClaimRequest{}
	for key, set := range found {
		into.Templates[key] = map[string]*snapshot.ClaimRequest{}
		for name, template := range set.templates {
			into.Templates[key][name] = template.ClaimRequest
		}
	}
	return err
}

// defaultClass gives the templates that name no class the default one, once classes are known: admission gives it to
// claims that are created
// (k8s.io/kubernetes v1.37.2 plugin/pkg/admission/storage/storageclass/setdefault/admission.go, Admit).
func (l *learnedStorage) defaultClass() {
	for name, class := range l.Classes {
		if !class.Default {
			continue
		}
		for key, set := range l.raw {
			for template, request := range set.templates {
				if request.classless {
					one := *request.ClaimRequest
					one.Class = name
					l.Templates[key][template] = &one
				}
			}
		}
	}
}

// allSets lists the StatefulSets of all namespaces, once per process. There are none without the right to.
func (c *Cluster) allSets(ctx context.Context) (statefulSets, error) {
	return c.statefulSets.get(ctx, func() (statefulSets, error) { return c.listSets(ctx, metav1.NamespaceAll) })
}

func (c *Cluster) listSets(ctx context.Context, namespace string) (statefulSets, error) {
	var out statefulSets
	var requests openStorage
	err := c.each(ctx, "statefulsets", func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
		return c.client.apps.StatefulSets(namespace).List(ctx, o)
	}, func() {
		out = statefulSets{}
		requests.noClaims()
	}, func(o runtime.Object) error {
		set := o.(*appsv1.StatefulSet) //nolint:forcetypeassert // The list holds nothing else.
		templates := map[string]claimTemplate{}
		for i := range set.Spec.VolumeClaimTemplates {
			one := &set.Spec.VolumeClaimTemplates[i]
			_, old := one.Annotations[corev1.BetaStorageClassAnnotation]
			templates[one.Name] = claimTemplate{requests.request(one), one.Spec.StorageClassName == nil && !old}
		}
		out[keyOfSet(set)] = statefulSet{templates, inOrder(set)}
		return nil
	})
	if errors.Is(err, ErrForbidden) {
		return nil, nil
	}
	return out, err
}

func keyOfSet(set *appsv1.StatefulSet) snapshot.WorkloadKey {
	return setKey(types.NamespacedName{Namespace: set.Namespace, Name: printable.Line(set.Name)})
}

// inOrder reports whether a StatefulSet creates its pods one after the other
// (k8s.io/kubernetes v1.37.2 pkg/controller/statefulset/stateful_set_utils.go, allowsBurst).
func inOrder(set *appsv1.StatefulSet) bool {
	return set.Spec.PodManagementPolicy != appsv1.ParallelPodManagement
}
