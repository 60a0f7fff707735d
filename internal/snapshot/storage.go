// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package snapshot

import (
	"cmp"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
)

// Storage is what decides on which nodes pods fit whose claims no volume is bound to yet. It is read where pods
// that are to be placed have such claims.
type Storage struct {
	// Claims by namespace and name: those that no volume is bound to, and those that are being deleted. They are
	// nil where they could not be read.
	Claims map[string]map[string]*Claim
	// Bound leads from namespace and name of the other claims to the names of their volumes.
	Bound map[string]map[string]string
	// Templates are what StatefulSets ask for in the claims that they create, by the name of the claim template. They
	// are read where such a claim does not exist, and have no set that was not read.
	Templates map[WorkloadKey]map[string]*ClaimRequest
	// Owned are the claims of generic ephemeral volumes by the UID of their pod, bound or not.
	Owned map[types.UID][]*Claim
	// Volumes can be bound to claims, the smallest first.
	Volumes []*FreeVolume
	// Unread is set where volumes could not be read.
	Unread bool
	// Classes by name, nil where they could not be read.
	Classes map[string]*StorageClass
}

// Claim is a PersistentVolumeClaim.
type Claim struct {
	// UID is that of the object.
	Namespace, Name string
	UID             types.UID
	// Request is shared by all claims that are equal in it.
	Request *ClaimRequest
	// SelectedNode is the node that the scheduler has chosen for it, "" for none.
	SelectedNode string
	// Deleting is set once a deletion timestamp is, Lost where its volume is gone, Named where it names a volume
	// that is not bound to it.
	Deleting, Lost, Named bool
}

// ClaimRequest is what a claim asks for.
type ClaimRequest struct {
	// Class is the name of its StorageClass, "" for none.
	Class string
	// Size is in bytes.
	Size  int64
	Modes []corev1.PersistentVolumeAccessMode
	// Selector is matched against labels of volumes, nil for none.
	Selector labels.Selector
	// Block is set for the volume mode of this name, Attributes is the name of a VolumeAttributesClass.
	Block      bool
	Attributes string
}

// FreeVolume is a PersistentVolume that can be bound to a claim.
type FreeVolume struct {
	Name, Class string
	// Size is in bytes.
	Size   int64
	Modes  []corev1.PersistentVolumeAccessMode
	Labels labels.Set
	// Block and Attributes are as those of a ClaimRequest.
	Block      bool
	Attributes string
	// Affinity is its required node affinity, nil for none, shared by volumes that are equal in it.
	Affinity *corev1.NodeSelector
	// For is the namespace/name of the claim that it is reserved for, "" for none, and ForUID the UID of that, "" for
	// any claim of the name.
	For    string
	ForUID types.UID
}

// ReservedFor reports whether a volume is reserved for a claim: one of this namespace/name and UID
// (k8s.io/component-helpers v0.37.2 storage/volume/pv_helpers.go, IsVolumeBoundToClaim).
func (v *FreeVolume) ReservedFor(claim string, uid types.UID) bool {
	return v.For != "" && v.For == claim && (v.ForUID == "" || v.ForUID == uid)
}

// Suits reports whether a volume that is reserved for a claim is enough for it.
func (v *FreeVolume) Suits(r *ClaimRequest) bool {
	return v.Size >= r.Size && v.Block == r.Block && v.Attributes == r.Attributes && v.Class == r.Class
}

// Matches reports whether a volume that is reserved for no claim can be bound to one
// (k8s.io/component-helpers v0.37.2 storage/volume/pv_helpers.go, FindMatchingVolume).
func (v *FreeVolume) Matches(r *ClaimRequest) bool {
	return v.For == "" && v.Suits(r) && (r.Selector == nil || r.Selector.Matches(v.Labels)) &&
		!slices.ContainsFunc(r.Modes, func(m corev1.PersistentVolumeAccessMode) bool { return !slices.Contains(v.Modes, m) })
}

// StorageClass is how volumes of a class are made and bound.
type StorageClass struct {
	// Provisioner is its name.
	Provisioner string
	// Waits is set for volumeBindingMode WaitForFirstConsumer: a volume is bound once a pod is placed.
	Waits bool
	// Provisions is set where a provisioner makes volumes.
	Provisions bool
	// Topologies are the allowedTopologies, none for all nodes.
	Topologies []corev1.TopologySelectorTerm
	// Limited is set where the CSI driver reports the capacities of nodes, Capacities are those of the class.
	Limited    bool
	Capacities []*Capacity
	// Retains is set for the reclaimPolicy Retain: volumes stay when their claims are deleted. That of a volume may have been
	// changed since it was made.
	Retains bool
	// Default is set for the class of new claims that name none.
	Default bool
	// Unknown is set where it could not be read whether it is limited, and by which capacities.
	Unknown bool
}

// Capacity is how much a CSI driver can still provision for some nodes.
type Capacity struct {
	// Nodes selects them by their labels.
	Nodes labels.Selector
	// Total and Largest are what is left, and the largest volume that can be made, in bytes; -1 where it is not reported.
	Total, Largest int64
	// First is another one from which the same storage may be taken, nil for none: drivers report each pool once for each class.
	First *Capacity
}

// Pool returns the capacity by which all that may take the same storage are counted.
func (c *Capacity) Pool() *Capacity {
	if c.First != nil {
		return c.First
	}
	return c
}

// Holds reports whether a volume of a size can be made
// (k8s.io/kubernetes v1.37.2 pkg/scheduler/framework/plugins/volumebinding/binder.go, capacitySufficient).
func (c *Capacity) Holds(size int64) bool {
	if c.Largest >= 0 {
		return c.Largest >= size
	}
	return c.Total >= size
}

// AllowedOn reports whether volumes of the class can be made for a node with these labels
// (k8s.io/kubernetes v1.37.2 pkg/apis/core/v1/helper/helpers.go, MatchTopologySelectorTerms).
func (c *StorageClass) AllowedOn(node labels.Set) bool {
	return len(c.Topologies) == 0 || slices.ContainsFunc(c.Topologies, func(term corev1.TopologySelectorTerm) bool {
		return len(term.MatchLabelExpressions) > 0 && !slices.ContainsFunc(term.MatchLabelExpressions, func(r corev1.TopologySelectorLabelRequirement) bool {
			value, has := node[r.Key]
			return !has || !slices.Contains(r.Values, value)
		})
	})
}

// Together reports whether two nodes are equal in the keys of the allowedTopologies by which a volume is made for the first
// one, and false for known where the class has none: nothing shows then which other nodes can use the volume.
func (c *StorageClass) Together(first, other labels.Set) (equal, known bool) {
	for _, term := range c.Topologies {
		one := StorageClass{Topologies: []corev1.TopologySelectorTerm{term}}
		if one.AllowedOn(first) {
			return !slices.ContainsFunc(term.MatchLabelExpressions, func(r corev1.TopologySelectorLabelRequirement) bool {
				return !other.Has(r.Key) || first[r.Key] != other[r.Key]
			}), true
		}
	}
	return true, false
}

// State is what keeps a claim from being bound to a volume wherever its pod is placed.
type State string

// States of claims.
const (
	// Bindable: nothing but the node decides.
	Bindable State = ""
	// Unbound: no volume is bound to a claim whose class does not wait for a pod, or that names its volume.
	Unbound State = "is not bound"
	// Deleting: it is being deleted.
	Deleting State = "is being deleted"
	// Lost: its volume is gone.
	Lost State = "has lost its volume"
	// Missing: it does not exist.
	Missing State = "does not exist"
	// Unknown: what it asks for is not known, or what its class is. There is no Claim where none was read at all, and one
	// without a Request where it was not.
	Unknown State = "is not known"
)

// OpenClaim is a claim of a pod that is to be placed, while no volume is bound to it.
type OpenClaim struct {
	*Claim
	State State
	// New is set for one that is created with the pod: volumes are bound to it as soon as they can be.
	New bool
}

// Claimant returns the UID of the pod whose claims show what this one has in generic ephemeral volumes.
func (p *Pod) Claimant() types.UID { return cmp.Or(p.UID, p.Like) }

// OpenClaims returns the claims that no volume is bound to of a pod that runs on no node yet, or of the one that
// replaces it: that has new claims for its generic ephemeral volumes, and where the claim template of a
// StatefulSet makes up for claims that do not exist or are being deleted. There are none where Storage was not read.
func (s *Snapshot) OpenClaims(pod *Pod) []OpenClaim {
	if s.Storage == nil || len(pod.Claims) == 0 && !pod.Ephemeral {
		return nil
	}
	if s.Storage.Claims == nil {
		return []OpenClaim{{State: Unknown}}
	}
	var out []OpenClaim
	for i, name := range pod.Claims {
		if s.Storage.Bound[pod.Namespace][name] == "" && !slices.Contains(pod.Claims[:i], name) {
			out = append(out, s.openClaim(pod, name))
		}
	}
	if !pod.Ephemeral {
		return out
	}
	owned := s.Storage.Owned[pod.Claimant()]
	if len(owned) == 0 {
		return append(out, OpenClaim{State: Unknown})
	}
	for _, claim := range owned {
		switch {
		case pod.Node != "" || pod.UID == "":
			out = append(out, OpenClaim{Claim: claim, New: true})
		case s.Storage.Bound[claim.Namespace][claim.Name] == "":
			out = append(out, OpenClaim{Claim: claim, State: s.stateOf(claim)})
		}
	}
	return out
}

// openClaim returns a claim that a pod names, and that no volume is bound to.
func (s *Snapshot) openClaim(pod *Pod, name string) OpenClaim {
	claim, runs := s.Storage.Claims[pod.Namespace][name], pod.Node != ""
	switch {
	case claim == nil:
		return s.missingClaim(pod, name)
	case claim.Deleting && runs && s.templateOf(pod, name) != "":
		return OpenClaim{Claim: claim, New: true}
	}
	return OpenClaim{Claim: claim, State: s.stateOf(claim)}
}

// missingClaim returns a claim that does not exist. A StatefulSet creates it before a pod, and for one that is Pending
// (k8s.io/kubernetes v1.37.2 pkg/controller/statefulset/stateful_set_control.go, processReplica).
func (s *Snapshot) missingClaim(pod *Pod, name string) OpenClaim {
	out := OpenClaim{Claim: &Claim{Namespace: pod.Namespace, Name: name}, State: Missing}
	template := s.templateOf(pod, name)
	requests, read := s.Storage.Templates[WorkloadKey{pod.Namespace, s.Owner(pod)}]
	switch request := requests[template]; {
	case request != nil:
		out.Request, out.State, out.New = request, Bindable, true
	case pod.Node != "", template != "" && !read:
		// A claim is not deleted while a pod uses it: it was not read, or created after the others were.
		out.State = Unknown
	}
	return out
}

// templateOf returns the name of the claim template from which the StatefulSet of a pod creates a claim of this name, ""
// for a claim that it does not create (k8s.io/kubernetes v1.37.2 pkg/controller/statefulset/stateful_set_utils.go,
// getPersistentVolumeClaimName).
func (s *Snapshot) templateOf(pod *Pod, claim string) string {
	template, is := strings.CutSuffix(claim, "-"+pod.Name)
	if !is || !s.Owner(pod).StatefulSet() {
		return ""
	}
	return template
}

// LacksTemplate reports whether the claim template of the pod's StatefulSet, which was not read, decides about a claim
// that does not exist.
func (s *Snapshot) LacksTemplate(pod *Pod) bool {
	owner := s.Owner(pod)
	if _, read := s.Storage.Templates[WorkloadKey{pod.Namespace, owner}]; read || owner.Group != appsv1.GroupName || s.Storage.Claims == nil {
		return false
	}
	return slices.ContainsFunc(pod.Claims, func(name string) bool {
		return s.Storage.Bound[pod.Namespace][name] == "" && s.Storage.Claims[pod.Namespace][name] == nil && s.templateOf(pod, name) != ""
	})
}

// stateOf returns the state of a claim that exists
// (k8s.io/kubernetes v1.37.2 pkg/scheduler/framework/plugins/volumebinding, podHasPVCs and GetPodVolumeClaims).
func (s *Snapshot) stateOf(c *Claim) State {
	switch {
	case c.Lost:
		return Lost
	case c.Deleting:
		return Deleting
	case c.Named:
		return Unbound
	case s.Storage.Classes == nil:
		return Unknown
	}
	if class := s.Storage.Classes[c.Request.Class]; class == nil || !class.Waits {
		return Unbound
	}
	return Bindable
}
