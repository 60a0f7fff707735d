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

	// inTree are the kinds of volumes whose affinity the scheduler may not read (internal/kube/volumes.go, driverOfInTree).
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

	classFields    = values("provisioner", "volumeBindingMode", "reclaimPolicy").with(tree{"allowedTopologies": {"matchLabelExpressions": values("key", "values")}})
	driverFields   = tree{"spec": values("storageCapacity", "attachRequired", "preventPodSchedulingIfMissing")}
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

// setKey names a claim template of a StatefulSet.
type setKey struct{ namespace, name, template string }

// set remembers the claim templates of a StatefulSet.
func (h *hasher) set(object *unstructured.Unstructured) {
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

// setOf remembers the claim templates that the claims of a pod are of: there may be no right to list StatefulSets.
func (h *hasher) setOf(metadata, spec map[string]any) {
	name, namespace := text(metadata["name"]), text(metadata["namespace"])
	set, _, numbered := snapshot.Ordinal(name)
	if !numbered || !ofStatefulSet(metadata) {
		return
	}
	volumes, _ := spec["volumes"].([]any)
	for _, one := range volumes {
		volume, _ := one.(map[string]any)
		source, _ := volume["persistentVolumeClaim"].(map[string]any)
		if template, is := strings.CutSuffix(text(source["claimName"]), "-"+name); is {
			h.sets[setKey{namespace, set, template}] = true
		}
	}
}

// claim returns the name of a claim as it is recorded. One that a StatefulSet creates is made of the name of the claim
// template and that of the pod, by which plans find the template (internal/snapshot/storage.go, templateOf).
func (h *hasher) claim(namespace, name string) string {
	if prefix, ordinal, numbered := snapshot.Ordinal(name); numbered {
		for at := range prefix {
			// Either part can have hyphens.
			if prefix[at] == '-' && h.sets[setKey{namespace, prefix[at+1:], prefix[:at]}] {
				return h.name(prefix[:at]) + "-" + h.name(prefix[at+1:]) + "-" + strconv.Itoa(ordinal)
			}
		}
	}
	if systemNamespace(namespace) {
		return h.kept(name)
	}
	return h.name(name)
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
