// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package recorded

import (
	"context"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

const storageGroup = "storage.k8s.io"

// These fields of storage decide on which nodes pods fit whose claims no volume is bound to, and how many volumes nodes
// can attach (internal/kube/volumes.go, openstorage.go, claimtemplates.go, storageclasses.go and attachments.go). Parameters
// and mount options of classes, and attributes of volumes, can hold credentials, and are none of them.
var (
	requestedFields = values("volumeName", "storageClassName", "volumeMode", "volumeAttributesClassName", "accessModes").
			with(tree{"resources": {"requests": amounts}, "selector": labelSelector})
	claimFields         = tree{"spec": requestedFields, "status": values("phase")}
	claimTemplateFields = tree{"metadata": values("name").with(tree{"annotations": values(corev1.BetaStorageClassAnnotation)}), "spec": requestedFields}

	// inTree are the kinds of volumes whose affinity the scheduler may not read (internal/kube/volumes.go, migrated).
	inTree = tree{
		"awsElasticBlockStore": presence, "gcePersistentDisk": presence, "azureDisk": presence, "azureFile": presence,
		"cinder": presence, "vsphereVolume": presence, "portworxVolume": presence,
	}
	persistentVolumeFields = tree{
		"spec": inTree.with(values("storageClassName", "volumeMode", "volumeAttributesClassName", "accessModes")).with(tree{
			"capacity": amounts, "claimRef": values("namespace", "name", "uid"), "nodeAffinity": {"required": nodeTerms}, "csi": values("driver", volumeHandle),
		}),
		"status": values("phase"),
	}

	classFields    = values("provisioner", "volumeBindingMode").with(tree{"allowedTopologies": {"matchLabelExpressions": values("key", "values")}})
	driverFields   = tree{"spec": values("storageCapacity")}
	driversOfNode  = tree{"spec": {"drivers": values("name").with(tree{"allocatable": values("count")})}}
	capacityFields = values("storageClassName").with(tree{"nodeTopology": labelSelector, "capacity": amount, "maximumVolumeSize": amount})
)

var (
	volumeResource = schema.GroupResource{Resource: "persistentvolumes"}
	claimResource  = schema.GroupResource{Resource: "persistentvolumeclaims"}
)

const volumeHandle = "volumeHandle"

// handle replaces the handle of a CSI volume by its hash: it can have the address of a server. Volumes with equal handles
// count once against the limit of a node, so that their hashes are equal too.
func (h *hasher) handle(volume map[string]any) {
	spec, _ := volume["spec"].(map[string]any)
	csi, _ := spec["csi"].(map[string]any)
	if csi[volumeHandle] != nil {
		csi[volumeHandle] = h.name(text(csi[volumeHandle]))
	}
}

// setKey names a StatefulSet, or a claim template of it.
type setKey struct{ namespace, name, template string }

// set remembers a StatefulSet with its claim templates.
func (h *hasher) set(object *unstructured.Unstructured) {
	h.sets[setKey{object.GetNamespace(), object.GetName(), ""}] = true
	templates, _, _ := unstructured.NestedSlice(object.Object, "spec", "volumeClaimTemplates")
	for _, one := range templates {
		template, _ := one.(map[string]any)
		metadata, _ := template["metadata"].(map[string]any)
		h.sets[setKey{object.GetNamespace(), object.GetName(), text(metadata["name"])}] = true
	}
}

// sets has the hasher learn the names of which those of claims are made, before any of these is recorded.
func (r *recording) sets(ctx context.Context) error {
	for _, group := range []string{statefulSets.Group, "apps.kruise.io"} {
		k, is := r.serves.first(group, func(s ServedResource) bool { return s.Kind == "StatefulSet" })
		if !is {
			continue
		}
		err := r.source.EachObject(ctx, k.gvr(), func() error { return nil }, func(object *unstructured.Unstructured) error {
			r.hasher.set(object)
			return nil
		})
		if _, known := missing(err); !known {
			return err
		}
	}
	return nil
}

// claim returns the name of a claim as it is recorded. One that a StatefulSet creates is made of the name of the claim
// template and that of the pod, by which plans find the template (internal/snapshot/storage.go, templateOf).
func (h *hasher) claim(namespace, name string) string {
	if prefix, ordinal, numbered := snapshot.Ordinal(name); numbered {
		if template, set := h.partsOf(namespace, prefix); set != "" {
			return h.name(template) + "-" + h.name(set) + "-" + strconv.Itoa(ordinal)
		}
	}
	if systemNamespace(namespace) {
		return h.kept(name)
	}
	return h.name(name)
}

// partsOf returns the claim template and the StatefulSet of which a name is made, "" for none. Either can have hyphens:
// a template that exists counts first, and then the longest name of a StatefulSet.
func (h *hasher) partsOf(namespace, name string) (template, set string) {
	for at, c := range name {
		if c != '-' || at == 0 {
			continue
		}
		before, after := name[:at], name[at+1:]
		if h.sets[setKey{namespace, after, before}] {
			return before, after
		}
		if set == "" && h.sets[setKey{namespace, after, ""}] {
			template, set = before, after
		}
	}
	return template, set
}

// storageAnnotation returns the value of an annotation of claims, volumes and classes as it is recorded, and false for
// another annotation.
func (h *hasher) storageAnnotation(name, value string) (string, bool) {
	switch {
	case name == corev1.BetaStorageClassAnnotation, name == selectedNode, name == bindCompleted:
		return h.name(value), true
	case strings.HasSuffix(name, isDefaultClass):
		if value != "true" {
			value = h.name(value)
		}
		return value, true
	}
	return "", false
}

// Annotations of storage, and the provisioner of classes that have none (internal/kube/openstorage.go and
// storageclasses.go).
const (
	noProvisioner  = "kubernetes.io/no-provisioner"
	bindCompleted  = "pv.kubernetes.io/bind-completed"
	selectedNode   = "volume.kubernetes.io/selected-node"
	isDefaultClass = "/is-default-class"
)
