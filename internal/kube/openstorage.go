// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package kube

import (
	"cmp"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/printable"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

// Annotations of claims: that the controller has bound a volume, and the node that the scheduler has chosen for the
// volume to be made (k8s.io/component-helpers v0.37.2 storage/volume/pv_helpers.go).
const (
	bindCompleted = "pv.kubernetes.io/bind-completed"
	selectedNode  = "volume.kubernetes.io/selected-node"
)

// openStorage is claims that no volume is bound to, and volumes that can be bound to them.
type openStorage struct {
	// open are the claims by namespace and name, owned those of generic ephemeral volumes by the UID of their pod.
	open     map[string]map[string]*snapshot.Claim
	owned    map[types.UID][]*snapshot.Claim
	requests map[string]*snapshot.ClaimRequest
	free     []*snapshot.FreeVolume
	// unreadClaims and unreadVolumes are set where there is no permission to list them.
	unreadClaims, unreadVolumes bool
}

func (s *openStorage) noClaims() {
	s.open, s.owned, s.requests = map[string]map[string]*snapshot.Claim{}, map[types.UID][]*snapshot.Claim{}, map[string]*snapshot.ClaimRequest{}
}

// noteClaim notes a claim if it is of a pod's generic ephemeral volume, or if no volume is bound to it, and reports the latter.
func (s *openStorage) noteClaim(c *corev1.PersistentVolumeClaim) (open bool) {
	named := c.Spec.VolumeName != "" && c.Status.Phase == corev1.ClaimPending && !metav1.HasAnnotation(c.ObjectMeta, bindCompleted)
	open = c.Spec.VolumeName == "" || named || c.DeletionTimestamp != nil || c.Status.Phase == corev1.ClaimLost
	owner := metav1.GetControllerOf(c)
	owned := owner != nil && owner.Kind == "Pod" && owner.APIVersion == "v1"
	if !open && !owned {
		return false
	}
	one := &snapshot.Claim{
		Namespace: c.Namespace, Name: c.Name, UID: c.UID, Request: s.request(c), SelectedNode: c.Annotations[selectedNode],
		Deleting: c.DeletionTimestamp != nil, Lost: c.Status.Phase == corev1.ClaimLost, Named: named,
	}
	if owned {
		s.owned[owner.UID] = append(s.owned[owner.UID], one)
	}
	if !open {
		return false
	}
	if s.open[c.Namespace] == nil {
		s.open[c.Namespace] = map[string]*snapshot.Claim{}
	}
	s.open[c.Namespace][c.Name] = one
	return true
}

// request returns what a claim asks for, equal ones shared.
func (s *openStorage) request(c *corev1.PersistentVolumeClaim) *snapshot.ClaimRequest {
	size := c.Spec.Resources.Requests[corev1.ResourceStorage]
	r := &snapshot.ClaimRequest{
		Class: classOf(c.Annotations, nameIn(c.Spec.StorageClassName)), Size: size.Value(), Modes: c.Spec.AccessModes,
		Block: isBlock(c.Spec.VolumeMode), Attributes: nameIn(c.Spec.VolumeAttributesClassName),
	}
	if c.Spec.Selector != nil {
		var err error
		if r.Selector, err = metav1.LabelSelectorAsSelector(c.Spec.Selector); err != nil {
			// The scheduler fails at it, and so binds no volume.
			r.Selector = labels.Nothing()
		}
	}
	return shared(s.requests, fmt.Sprintf("%q %d %q %t %q %v", r.Class, r.Size, r.Modes, r.Block, r.Attributes, r.Selector), r)
}

// noteVolume notes a volume that can be bound to a claim: one that is available, or reserved for a claim.
func (s *openStorage) noteVolume(v *corev1.PersistentVolume, affinity func(*corev1.NodeSelector) *corev1.NodeSelector) {
	reserved := v.Spec.ClaimRef != nil
	waits := v.Status.Phase == corev1.VolumeAvailable || reserved && (v.Status.Phase == corev1.VolumePending || v.Status.Phase == "")
	if !waits || v.DeletionTimestamp != nil {
		return
	}
	size := v.Spec.Capacity[corev1.ResourceStorage]
	one := &snapshot.FreeVolume{
		Name: v.Name, Class: classOf(v.Annotations, v.Spec.StorageClassName), Size: size.Value(), Modes: v.Spec.AccessModes, Labels: v.Labels,
		Block: isBlock(v.Spec.VolumeMode), Attributes: nameIn(v.Spec.VolumeAttributesClassName),
	}
	if v.Spec.NodeAffinity != nil && v.Spec.NodeAffinity.Required != nil {
		one.Affinity = affinity(v.Spec.NodeAffinity.Required)
	}
	if reserved {
		one.For, one.ForUID = v.Spec.ClaimRef.Namespace+"/"+v.Spec.ClaimRef.Name, v.Spec.ClaimRef.UID
	}
	s.free = append(s.free, one)
}

func (s *openStorage) sortFree() {
	slices.SortFunc(s.free, func(a, b *snapshot.FreeVolume) int {
		return cmp.Or(cmp.Compare(a.Size, b.Size), cmp.Compare(a.Name, b.Name))
	})
}

// classOf returns the name of the StorageClass of a claim or a volume: an annotation of the past counts first
// (k8s.io/component-helpers v0.37.2 storage/volume/helpers.go, GetPersistentVolumeClaimClass).
func classOf(annotations map[string]string, class string) string {
	if old, is := annotations[corev1.BetaStorageClassAnnotation]; is {
		class = old
	}
	return printable.Line(class)
}

func isBlock(mode *corev1.PersistentVolumeMode) bool {
	return mode != nil && *mode == corev1.PersistentVolumeBlock
}

func nameIn(name *string) string {
	if name == nil {
		return ""
	}
	return *name
}
