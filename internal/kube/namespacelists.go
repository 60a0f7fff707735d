// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package kube

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/admission"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
)

// NamespaceLists is a namespace and what its annotations say of tolerations.
type NamespaceLists struct {
	admission.Lists
	Name            string
	UID             types.UID
	ResourceVersion string
}

// NamespaceLists reads a namespace as it is now. Errors: ErrNotFound, those of the API
// server.
func (c *Cluster) NamespaceLists(ctx context.Context, name string) (*NamespaceLists, error) {
	var found *corev1.Namespace
	err := c.patience().do(ctx, bounded(func(ctx context.Context) error {
		var err error
		found, err = c.client.core.Namespaces().Get(ctx, name, metav1.GetOptions{})
		return err
	}))
	if err != nil {
		return nil, wrap("get namespace "+name, err)
	}
	return c.noteNamespace(found), nil
}

func (c *Cluster) noteNamespace(n *corev1.Namespace) *NamespaceLists {
	out := &NamespaceLists{Lists: admission.ObserveLists(n.Annotations), Name: n.Name, UID: n.UID, ResourceVersion: n.ResourceVersion}
	c.namespaces.forget(n.Name)
	c.admissions.keepNamespace(n.Name, listedNamespace{labels: n.Labels, defaults: out.Default, allowed: out.Allowed})
	return out
}

// EditNamespaceLists reads a namespace, lets decide return the desired lists, and
// writes that in one patch which carries the resource version: another writer's change
// between the read and the write makes the patch fail and everything begin anew. A nil
// edit writes nothing. It returns the namespace as it stands afterwards. Errors:
// ErrNotFound, those of decide and of the API server.
func (c *Cluster) EditNamespaceLists(ctx context.Context, name string, decide func(*NamespaceLists) (*admission.Lists, error)) (*NamespaceLists, error) {
	var out *NamespaceLists
	err := c.edits.inTurn(ctx, "namespaces/"+name, func(int) error {
		seen, err := c.NamespaceLists(ctx, name)
		if err != nil {
			return err
		}
		edit, err := decide(seen)
		if err != nil || edit == nil {
			out = seen
			return err
		}
		out, err = c.patchNamespace(ctx, seen, *edit)
		return err
	})
	return out, err
}

func (c *Cluster) patchNamespace(ctx context.Context, seen *NamespaceLists, lists admission.Lists) (*NamespaceLists, error) {
	annotations, err := lists.Annotations()
	if err != nil {
		return nil, err
	}
	body, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": seen.UID, "resourceVersion": seen.ResourceVersion, "annotations": annotations}})
	if err != nil {
		return nil, err
	}
	var written *corev1.Namespace
	err = writing.do(ctx, bounded(func(ctx context.Context) error {
		var err error
		written, err = c.client.core.Namespaces().Patch(ctx, seen.Name, types.MergePatchType, body, metav1.PatchOptions{})
		return err
	}))
	if err != nil {
		return nil, wrap("patch namespace "+seen.Name, err)
	}
	c.noteWrite()
	return c.noteNamespace(written), nil
}

// RestrictsTolerations finds out whether the admission plug-in PodTolerationRestriction is
// on: it gives every pod that asks for anything a toleration of memory pressure, or refuses
// one whose tolerations the namespace does not allow (k8s.io/kubernetes v1.37.1
// plugin/pkg/admission/podtolerationrestriction/admission.go). A pod is tried that is not
// made (a dry run), such as every namespace's Pod Security Standard allows. Errors: those of
// the API server; where it refuses the pod for another reason, nothing is known.
func (c *Cluster) RestrictsTolerations(ctx context.Context, namespace string) (on bool, err error) {
	no, yes, nobody := false, true, int64(65534)
	probe := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, GenerateName: "kubetaint-dry-run-"},
		Spec: corev1.PodSpec{
			AutomountServiceAccountToken: &no,
			SecurityContext:              &corev1.PodSecurityContext{RunAsNonRoot: &yes, RunAsUser: &nobody, SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault}},
			Containers: []corev1.Container{{
				Name: "none", Image: "registry.k8s.io/pause",
				Resources:       corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1m")}},
				SecurityContext: &corev1.SecurityContext{AllowPrivilegeEscalation: &no, Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}}},
			}},
		},
	}
	var made *corev1.Pod
	err = reading.do(ctx, bounded(func(ctx context.Context) error {
		var err error
		made, err = c.client.core.Pods(namespace).Create(ctx, probe, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		// The plug-in's refusal comes as an internal error, which is tried again otherwise.
		if status := apierrors.APIStatus(nil); errors.As(err, &status) && strings.Contains(status.Status().Message, "conflict with its namespace whitelist") {
			on, err = true, nil
		}
		return err
	}))
	if err != nil || on {
		return on, wrap("try a pod in namespace "+namespace, err)
	}
	pressure := admission.MemoryPressure
	if slices.ContainsFunc(made.Spec.Tolerations, func(t corev1.Toleration) bool { return t.MatchToleration(&pressure) }) {
		return true, nil
	}
	if taint.FirstMatch(made.Spec.Tolerations, corev1.Taint{Key: pressure.Key, Effect: pressure.Effect}, false) >= 0 {
		// The plug-in leaves out what another toleration covers, which a default of the namespace may be, or one of a policy.
		return false, fmt.Errorf("try a pod in namespace %s: it gets a toleration that covers %s, so that it does not show whether PodTolerationRestriction is on", namespace, taint.FormatToleration(pressure))
	}
	return false, nil
}
