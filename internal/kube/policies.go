// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package kube

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	admissionregistrationv1beta1 "k8s.io/api/admissionregistration/v1beta1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/admission"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/workload"
)

// ErrNoPolicies reports that the API server does not have MutatingAdmissionPolicies:
// v1beta1 came with Kubernetes 1.34, where it must be switched on, and v1 with 1.36
// (KEP-3962).
var ErrNoPolicies = errors.New("the cluster does not serve MutatingAdmissionPolicies of admissionregistration.k8s.io/v1 or v1beta1")

// policyVersions are those that are understood, the best first. Their fields are the same.
var policyVersions = []schema.GroupVersion{admissionregistrationv1.SchemeGroupVersion, admissionregistrationv1beta1.SchemeGroupVersion}

const (
	policyPlural  = "mutatingadmissionpolicies"
	bindingPlural = "mutatingadmissionpolicybindings"
)

// inForce is how long it takes at most until every API server gives to pods what a policy
// says: they look for changes once a second (k8s.io/apiserver v0.37.1
// pkg/admission/plugin/policy/generic/policy_source.go), and compile what they find.
// Nothing in the API shows it.
const inForce = 3 * time.Second

// policyVersion finds out in which version the cluster serves policies.
func (c *Cluster) policyVersion() (schema.GroupVersion, error) {
	for _, version := range policyVersions {
		_, err := c.mapper.RESTMapping(schema.GroupKind{Group: version.Group, Kind: admission.PolicyKind}, version.Version)
		if meta.IsNoMatchError(err) || apierrors.IsNotFound(err) {
			continue
		}
		return version, wrap("find out about "+admission.PolicyKind, err)
	}
	return schema.GroupVersion{}, ErrNoPolicies
}

// PoliciesServed returns ErrNoPolicies where the cluster does not serve policies.
func (c *Cluster) PoliciesServed() error {
	_, err := c.policyVersion()
	return err
}

// withdrawn reports whether no version of their group has policies any more, as where a feature
// gate has been switched off. Every cluster serves the group, for its webhooks: an answer without
// the group is not believed.
func (c *Cluster) withdrawn(ctx context.Context) (bool, error) {
	groups, err := c.serves.ServerGroupsWithContext(ctx)
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, wrap("find out what the cluster serves", err)
	}
	at := slices.IndexFunc(groups.Groups, func(g metav1.APIGroup) bool { return g.Name == admissionregistrationv1.GroupName })
	if at < 0 {
		return false, nil
	}
	for _, version := range groups.Groups[at].Versions {
		served, err := c.isServed(ctx, workload.Kind{APIVersion: version.GroupVersion, Plural: policyPlural})
		if served || err != nil {
			return false, err
		}
	}
	return true, nil
}

// Policy reads a policy and its binding, nil where there is neither, or where the cluster does
// not serve the kind any more: nothing is given to pods then. Errors: ErrNoPolicies where it serves
// them in another version alone, those of the API server.
func (c *Cluster) Policy(ctx context.Context, name string) (*admission.Observed, error) {
	version, err := c.policyVersion()
	if errors.Is(err, ErrNoPolicies) {
		gone, why := c.withdrawn(ctx)
		if gone {
			c.admissions.keep(name, nil)
		}
		if gone || why != nil {
			return nil, why
		}
	}
	if err != nil {
		return nil, err
	}
	var found admission.Objects
	policy, err := readObject[admissionregistrationv1.MutatingAdmissionPolicy](ctx, c, version.WithResource(policyPlural), name)
	if err != nil {
		return nil, err
	}
	binding, err := readObject[admissionregistrationv1.MutatingAdmissionPolicyBinding](ctx, c, version.WithResource(bindingPlural), name)
	if err != nil {
		return nil, err
	}
	if found.Policy, found.Binding = policy, binding; policy == nil && binding == nil {
		c.admissions.keep(name, nil)
		return nil, nil
	}
	observed := admission.Observe(found)
	c.admissions.keep(name, &observed)
	return &observed, nil
}

// readObject reads an object of the cluster, nil where there is none.
func readObject[T any](ctx context.Context, c *Cluster, resource schema.GroupVersionResource, name string) (*T, error) {
	var object *unstructured.Unstructured
	err := c.patience().do(ctx, bounded(func(ctx context.Context) error {
		var err error
		object, err = c.dynamic.Resource(resource).Get(ctx, name, metav1.GetOptions{})
		return err
	}))
	if err = wrap("get "+resource.Resource+" "+name, err); errors.Is(err, ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return typed[T](object)
}

func typed[T any](object *unstructured.Unstructured) (*T, error) {
	out := new(T)
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, out); err != nil {
		return nil, fmt.Errorf("reading %s %s: %w", object.GetKind(), object.GetName(), err)
	}
	return out, nil
}

// EditPolicy reads a policy, lets decide return its desired state, and writes that, each object
// only as it was read: another writer's change in between makes everything begin anew. A nil
// edit writes nothing, and one that is empty deletes what is there. It returns the policy
// as it stands afterwards, nil for none, once that is in force. Errors: those of Policy, of decide, and of the API
// server.
func (c *Cluster) EditPolicy(ctx context.Context, name string, decide func(*admission.Observed) (*admission.Objects, error)) (*admission.Observed, error) {
	var out *admission.Observed
	err := c.edits.inTurn(ctx, policyPlural+"/"+name, func(int) error {
		seen, err := c.Policy(ctx, name)
		if err != nil {
			return err
		}
		wanted, err := decide(seen)
		if err != nil || wanted == nil {
			out = seen
			return err
		}
		if wanted.Policy == nil {
			out, err = nil, c.deletePolicy(ctx, seen)
		} else {
			out, err = c.writePolicy(ctx, seen, *wanted, false)
		}
		if err == nil {
			pause(ctx, inForce)
		}
		return err
	})
	return out, err
}

// TryPolicy asks the API server whether it would take a policy, without making it: it
// compiles the expressions. Errors: those of EditPolicy, ErrInvalid among them.
func (c *Cluster) TryPolicy(ctx context.Context, seen *admission.Observed, wanted admission.Objects) error {
	_, err := c.writePolicy(ctx, seen, wanted, true)
	return err
}

// writePolicy makes the objects of a policy as they are wanted, those that were seen being
// changed in place. The binding comes last: it is what puts the policy in force.
func (c *Cluster) writePolicy(ctx context.Context, seen *admission.Observed, wanted admission.Objects, dry bool) (*admission.Observed, error) {
	version, err := c.policyVersion()
	if err != nil {
		return nil, err
	}
	w := policyWriter{cluster: c, dry: dry, version: version}
	var old admission.Objects
	if seen != nil {
		old = seen.Objects
	}
	policy, err := writeObject(ctx, w, policyPlural, old.Policy, wanted.Policy)
	if err != nil {
		return nil, err
	}
	// A binding may be tried before its policy is there: it names it, no more.
	binding, err := writeObject(ctx, w, bindingPlural, old.Binding, wanted.Binding)
	if err != nil {
		return nil, err
	}
	observed := admission.Observe(admission.Objects{Policy: policy, Binding: binding})
	if !dry {
		c.noteWrite()
		c.admissions.keep(observed.Name, &observed)
	}
	return &observed, nil
}

type policyWriter struct {
	cluster *Cluster
	version schema.GroupVersion
	dry     bool
}

func (w policyWriter) objects(plural string) dynamic.ResourceInterface {
	return w.cluster.dynamic.Resource(w.version.WithResource(plural))
}

// writeObject creates an object, or puts what is wanted into the one that was seen and keeps
// what others have written beside it.
func writeObject[T any](ctx context.Context, w policyWriter, plural string, seen, wanted *T) (*T, error) {
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(wanted)
	if err != nil {
		return nil, err
	}
	object := &unstructured.Unstructured{Object: fields}
	object.SetAPIVersion(w.version.String())
	var dryRun []string
	patience := writing
	if w.dry {
		dryRun, patience = []string{metav1.DryRunAll}, reading
	}
	verb, request := "create ", func(ctx context.Context) (*unstructured.Unstructured, error) {
		return w.objects(plural).Create(ctx, object, metav1.CreateOptions{DryRun: dryRun})
	}
	if seen != nil {
		before, err := runtime.DefaultUnstructuredConverter.ToUnstructured(seen)
		if err != nil {
			return nil, err
		}
		old := &unstructured.Unstructured{Object: before}
		if object = merged(old.DeepCopy(), object); apiequality.Semantic.DeepEqual(old.Object["spec"], object.Object["spec"]) &&
			maps.Equal(old.GetLabels(), object.GetLabels()) && maps.Equal(old.GetAnnotations(), object.GetAnnotations()) {
			return seen, nil
		}
		verb, request = "update ", func(ctx context.Context) (*unstructured.Unstructured, error) {
			return w.objects(plural).Update(ctx, object, metav1.UpdateOptions{DryRun: dryRun})
		}
	}
	var written *unstructured.Unstructured
	err = patience.do(ctx, bounded(func(ctx context.Context) error {
		var err error
		written, err = request(ctx)
		return err
	}))
	if err != nil {
		return nil, wrap(verb+plural+" "+object.GetName(), err)
	}
	return typed[T](written)
}

// merged is an object with another one's spec, and with its labels and annotations beside
// those that are there. It carries the resource version of what was read.
func merged(seen, wanted *unstructured.Unstructured) *unstructured.Unstructured {
	seen.SetAPIVersion(wanted.GetAPIVersion())
	seen.SetKind(wanted.GetKind())
	seen.Object["spec"] = wanted.Object["spec"]
	with := func(all, ours map[string]string) map[string]string {
		out := map[string]string{}
		maps.Copy(out, all)
		maps.Copy(out, ours)
		return out
	}
	seen.SetLabels(with(seen.GetLabels(), wanted.GetLabels()))
	seen.SetAnnotations(with(seen.GetAnnotations(), wanted.GetAnnotations()))
	return seen
}

// deletePolicy deletes a policy that was seen: the binding first, so that one which is only
// half gone gives nothing any more.
func (c *Cluster) deletePolicy(ctx context.Context, seen *admission.Observed) error {
	version, err := c.policyVersion()
	if err != nil {
		return err
	}
	for _, one := range []struct {
		plural string
		meta   *metav1.ObjectMeta
	}{{bindingPlural, metaOf(seen.Objects.Binding)}, {policyPlural, metaOf(seen.Objects.Policy)}} {
		if one.meta == nil {
			continue
		}
		err := writing.do(ctx, bounded(func(ctx context.Context) error {
			return c.dynamic.Resource(version.WithResource(one.plural)).Delete(ctx, one.meta.Name, metav1.DeleteOptions{
				Preconditions: &metav1.Preconditions{UID: &one.meta.UID, ResourceVersion: &one.meta.ResourceVersion},
			})
		}))
		if err = wrap("delete "+one.plural+" "+one.meta.Name, err); err != nil && !errors.Is(err, ErrNotFound) {
			return err
		}
		c.noteWrite()
	}
	c.admissions.keep(seen.Name, nil)
	return nil
}

func metaOf(object any) *metav1.ObjectMeta {
	switch o := object.(type) {
	case *admissionregistrationv1.MutatingAdmissionPolicy:
		if o != nil {
			return &o.ObjectMeta
		}
	case *admissionregistrationv1.MutatingAdmissionPolicyBinding:
		if o != nil {
			return &o.ObjectMeta
		}
	}
	return nil
}
