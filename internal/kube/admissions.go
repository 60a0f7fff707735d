// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package kube

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/admission"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
)

// admissions is what is known of what the API server gives to new pods: what was listed
// once, and in its place what this process has read or written since.
type admissions struct {
	// listing is held while it is listed.
	listing sync.Mutex

	mu         sync.Mutex
	listed     bool
	policies   map[string]admission.Observed
	namespaces map[string]listedNamespace
	gaps       []string
	// times grows with everything that becomes known.
	times int
}

type listedNamespace struct {
	labels            labels.Set
	defaults, allowed []corev1.Toleration
}

// keep notes a policy as it is now, nil for one that is gone.
func (a *admissions) keep(name string, observed *admission.Observed) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.policies == nil {
		a.policies = map[string]admission.Observed{}
	}
	a.times++
	if observed == nil {
		delete(a.policies, name)
		return
	}
	a.policies[name] = *observed
}

// keepNamespace notes a namespace as it is now, where they are known.
func (a *admissions) keepNamespace(name string, is listedNamespace) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.namespaces != nil {
		a.namespaces[name] = is
		a.times++
	}
}

// at grows with everything that becomes known.
func (a *admissions) at() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.times
}

// Admission returns what admission gives to new pods from now on, and what could
// not be found out about it. Policies are listed once per process, namespaces only where
// something depends on them. Errors: those of the API server but for missing rights.
func (c *Cluster) Admission(ctx context.Context, pods []*snapshot.Pod) (*admission.Rules, []string, error) {
	a := &c.admissions
	a.listing.Lock()
	defer a.listing.Unlock()
	if err := c.policiesListed(ctx); err != nil {
		return nil, nil, err
	}
	restricted := restricts(pods)
	if err := c.listNamespaces(ctx, restricted || a.selects() || relates(pods)); err != nil {
		return nil, nil, err
	}
	rules, gaps := a.rules(restricted)
	return rules, gaps, nil
}

// policiesListed lists the policies, once.
func (c *Cluster) policiesListed(ctx context.Context) error {
	if c.admissions.listed {
		return nil
	}
	err := c.listPolicies(ctx)
	c.admissions.listed = err == nil
	return err
}

// Policies returns the policies of this provider, by name, as this process knows them: they
// are listed once. There are none where they may not be listed. Errors: those of the API
// server but for missing rights.
func (c *Cluster) Policies(ctx context.Context) ([]admission.Observed, error) {
	a := &c.admissions
	a.listing.Lock()
	defer a.listing.Unlock()
	if err := c.policiesListed(ctx); err != nil {
		return nil, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	var out []admission.Observed
	for _, name := range slices.Sorted(maps.Keys(a.policies)) {
		out = append(out, a.policies[name])
	}
	return out, nil
}

// rules puts together what is known. The effect of a policy that another writer has changed is unknown.
func (a *admissions) rules(restricted bool) (*admission.Rules, []string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	rules, gaps := &admission.Rules{}, slices.Clone(a.gaps)
	for name, p := range a.policies {
		switch {
		case p.InForce():
			rules = rules.With(p.Policy)
		case p.Objects.Policy != nil && p.Objects.Binding != nil:
			gaps = append(gaps, "MutatingAdmissionPolicy "+name+" was changed by another writer: what it adds to new pods is unknown")
		}
	}
	if !restricted && !a.selecting() {
		slices.Sort(gaps)
		return rules, gaps
	}
	for name, n := range a.namespaces {
		if rules.Namespaces == nil {
			rules.Namespaces = map[string]admission.Namespace{}
		}
		given := admission.Namespace{Labels: n.labels}
		if restricted {
			given.Defaults, given.Allowed = n.defaults, n.allowed
		}
		rules.Namespaces[name] = given
	}
	slices.Sort(gaps)
	return rules, gaps
}

// selects reports whether any policy looks at the labels of namespaces.
func (a *admissions) selects() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.selecting()
}

func (a *admissions) selecting() bool {
	for _, p := range a.policies {
		if p.Match.NamespaceSelector != "" {
			return true
		}
	}
	return false
}

// listPolicies lists the policies of this provider, and their bindings if there are any.
func (c *Cluster) listPolicies(ctx context.Context) error {
	for _, version := range policyVersions {
		objects := map[string]admission.Objects{}
		err := listOurs(ctx, c, version.WithResource(policyPlural), func(p *admissionregistrationv1.MutatingAdmissionPolicy) {
			objects[p.Name] = admission.Objects{Policy: p}
		})
		if errors.Is(err, ErrNotFound) {
			continue
		}
		if err == nil && len(objects) > 0 {
			err = listOurs(ctx, c, version.WithResource(bindingPlural), func(b *admissionregistrationv1.MutatingAdmissionPolicyBinding) {
				if one, known := objects[b.Name]; known {
					objects[b.Name] = admission.Objects{Policy: one.Policy, Binding: b}
				}
			})
		}
		c.admissions.mu.Lock()
		err = gap(&sync.Mutex{}, err, "MutatingAdmissionPolicies could not be read (no permission to list them): what they add to new pods is not considered", &c.admissions.gaps)
		c.admissions.mu.Unlock()
		for name, o := range objects {
			observed := admission.Observe(o)
			c.admissions.keep(name, &observed)
		}
		return err
	}
	return nil
}

func listOurs[T any](ctx context.Context, c *Cluster, resource schema.GroupVersionResource, visit func(*T)) error {
	return eachOf(ctx, c, resource, admission.ManagedByLabel+"="+admission.ManagedBy, func() {}, visit)
}

// eachOf calls visit for each object of a kind that a selector matches; "" matches all.
func eachOf[T any](ctx context.Context, c *Cluster, resource schema.GroupVersionResource, selector string, begin func(), visit func(*T)) error {
	return c.each(ctx, resource.Resource, func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
		o.LabelSelector = selector
		return c.dynamic.Resource(resource).List(ctx, o)
	}, begin, func(o runtime.Object) error {
		object, err := typed[T](o.(*unstructured.Unstructured)) //nolint:forcetypeassert // A dynamic list holds nothing else.
		if err == nil {
			visit(object)
		}
		return err
	})
}

var namespaceResource = corev1.SchemeGroupVersion.WithResource("namespaces")

// listNamespaces lists labels and annotations of namespaces, once something depends on
// them.
func (c *Cluster) listNamespaces(ctx context.Context, needed bool) error {
	a := &c.admissions
	if a.namespaces != nil || !needed {
		return nil
	}
	found := map[string]listedNamespace{}
	err := c.each(ctx, "namespaces", func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
		return c.meta.Resource(namespaceResource).List(ctx, o)
	}, func() { clear(found) }, func(o runtime.Object) error {
		ns := o.(*metav1.PartialObjectMetadata) //nolint:forcetypeassert // A list of metadata holds nothing else.
		// The plug-in refuses pods of a namespace whose annotation it cannot read.
		defaults, _ := admission.ParseList(ns.Annotations[admission.DefaultsAnnotation])
		allowed, _ := admission.ParseList(ns.Annotations[admission.WhitelistAnnotation])
		found[ns.Name] = listedNamespace{labels: ns.Labels, defaults: defaults, allowed: allowed}
		return nil
	})
	a.mu.Lock()
	defer a.mu.Unlock()
	if err = gap(&sync.Mutex{}, err, "Namespaces could not be read (no permission to list them): what their labels and annotations add to new pods, and which of them pod affinity selects, is not considered", &a.gaps); err == nil {
		a.namespaces = found
		a.times++
	}
	return err
}

// Namespace is a namespace, as far as admission looks at it.
type Namespace struct {
	Name   string
	Labels labels.Set
	// Allowed is all that its pods may tolerate, where it is not empty and the admission
	// plug-in PodTolerationRestriction is on.
	Allowed []corev1.Toleration
}

// Namespaces returns the namespaces that a selector, in kubectl's syntax, matches now; ""
// matches all. Errors: those of the API server.
func (c *Cluster) Namespaces(ctx context.Context, selector string) ([]Namespace, error) {
	var out []Namespace
	err := c.each(ctx, "namespaces", func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
		o.LabelSelector = selector
		return c.meta.Resource(namespaceResource).List(ctx, o)
	}, func() { out = nil }, func(o runtime.Object) error {
		ns := o.(*metav1.PartialObjectMetadata) //nolint:forcetypeassert // A list of metadata holds nothing else.
		allowed, _ := admission.ParseList(ns.Annotations[admission.WhitelistAnnotation])
		out = append(out, Namespace{Name: ns.Name, Labels: ns.Labels, Allowed: allowed})
		return nil
	})
	return out, err
}

// namespaceLabels are the labels of namespaces where pod affinity depends on them, nil where it does not.
func (a *admissions) namespaceLabels(pods []*snapshot.Pod) map[string]labels.Set {
	if !relates(pods) {
		return nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	out := make(map[string]labels.Set, len(a.namespaces))
	for name, n := range a.namespaces {
		out[name] = n.labels
	}
	return out
}

// relates reports whether a term of pod affinity selects namespaces by their labels. Those of
// pods that are not evicted count: they keep others away, or attract them.
func relates(pods []*snapshot.Pod) bool {
	selects := func(t snapshot.PodTerm) bool { return t.NamespaceSelector != nil && !t.NamespaceSelector.Empty() }
	return slices.ContainsFunc(pods, func(p *snapshot.Pod) bool {
		return p.Rules != nil && (slices.ContainsFunc(p.Rules.Affinity, selects) || slices.ContainsFunc(p.Rules.AntiAffinity, selects) ||
			slices.ContainsFunc(p.Rules.Preferred, func(t snapshot.WeightedTerm) bool { return selects(t.PodTerm) }))
	})
}

// restricts reports whether the admission plug-in PodTolerationRestriction is at work, as far
// as pods show it: it gives every pod that is not BestEffort a toleration of
// memory pressure (k8s.io/kubernetes v1.37.1
// plugin/pkg/admission/podtolerationrestriction/admission.go, Admit). DaemonSets' pods
// have it from their controller.
func restricts(pods []*snapshot.Pod) bool {
	seen := false
	for _, p := range pods {
		if shown := showsRestriction(p); shown != nil {
			if !*shown {
				return false
			}
			seen = true
		}
	}
	return seen
}

// showsRestriction returns whether a pod shows that the plug-in is on or off, nil where it shows neither: the plug-in
// leaves out what another toleration of the pod covers (k8s.io/kubernetes v1.37.2 pkg/util/tolerations/tolerations.go,
// MergeTolerations), as one of every key does.
func showsRestriction(p *snapshot.Pod) *bool {
	if p.Mirror || p.Demand == nil || p.Demand.BestEffort() || p.Controller != nil && p.Controller.DaemonSet() {
		return nil
	}
	pressure := admission.MemoryPressure
	for i := range p.Scheduling.Tolerations {
		if p.Scheduling.Tolerations[i].MatchToleration(&pressure) {
			return new(true)
		}
	}
	if taint.FirstMatch(p.Scheduling.Tolerations, corev1.Taint{Key: pressure.Key, Effect: pressure.Effect}, false) >= 0 {
		return nil
	}
	return new(false)
}

// AdmitsAsIs reports whether some pods alone show that new pods are given nothing and refused nothing: there
// is no policy of this provider, and one of them is not as the admission plug-in
// PodTolerationRestriction would have made it. Errors: those of the API server but for missing
// rights.
func (c *Cluster) AdmitsAsIs(ctx context.Context, some *snapshot.Snapshot) (bool, error) {
	policies, err := c.Policies(ctx)
	if err != nil || len(policies) > 0 {
		return false, err
	}
	for _, pods := range some.Pods {
		if slices.ContainsFunc(pods, func(p *snapshot.Pod) bool {
			shown := showsRestriction(p)
			return shown != nil && !*shown
		}) {
			return true, nil
		}
	}
	return false, nil
}
