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

	"github.com/kubetaint/terraform-provider-kubetaint/internal/printable"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

// claimTemplate is what the claims of a StatefulSet ask for.
type claimTemplate struct {
	*snapshot.ClaimRequest
	// classless is set where it names no StorageClass: the default one counts.
	classless bool
}

// claimTemplates are those of StatefulSets, by their names.
type claimTemplates map[snapshot.WorkloadKey]map[string]claimTemplate

// templatesInto adds the claim templates of StatefulSets. There are none where there is no permission to list them: a
// preview names the claims as not modelled then.
func (c *Cluster) templatesInto(ctx context.Context, into *learnedStorage) error {
	found, err := c.claimTemplates.get(ctx, func() (claimTemplates, error) { return c.listClaimTemplates(ctx) })
	into.raw, into.Templates = found, map[snapshot.WorkloadKey]map[string]*snapshot.ClaimRequest{}
	for set, templates := range found {
		into.Templates[set] = map[string]*snapshot.ClaimRequest{}
		for name, template := range templates {
			into.Templates[set][name] = template.ClaimRequest
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
		for set, templates := range l.raw {
			for template, request := range templates {
				if request.classless {
					one := *request.ClaimRequest
					one.Class = name
					l.Templates[set][template] = &one
				}
			}
		}
	}
}

func (c *Cluster) listClaimTemplates(ctx context.Context) (claimTemplates, error) {
	var out claimTemplates
	var requests openStorage
	err := c.each(ctx, "statefulsets", func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
		return c.client.apps.StatefulSets("").List(ctx, o)
	}, func() {
		out = claimTemplates{}
		requests.noClaims()
	}, func(o runtime.Object) error {
		set := o.(*appsv1.StatefulSet) //nolint:forcetypeassert // The list holds nothing else.
		templates := map[string]claimTemplate{}
		for i := range set.Spec.VolumeClaimTemplates {
			one := &set.Spec.VolumeClaimTemplates[i]
			_, old := one.Annotations[corev1.BetaStorageClassAnnotation]
			templates[one.Name] = claimTemplate{requests.request(one), one.Spec.StorageClassName == nil && !old}
		}
		owner := snapshot.Owner{Group: appsv1.GroupName, Kind: "StatefulSet", Name: printable.Line(set.Name)}
		out[snapshot.WorkloadKey{Namespace: set.Namespace, Owner: owner}] = templates
		return nil
	})
	if errors.Is(err, ErrForbidden) {
		return nil, nil
	}
	return out, err
}
