// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package kube

import (
	"context"
	"encoding/json"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/admission"
)

// namespaces remembers the annotation of each namespace that was asked for: the
// resources of a configuration often are in a few.
type namespaces struct {
	mu    sync.Mutex
	known map[string]*once[whitelist]
}

// whitelist is the annotation of one namespace; set is false where it has none.
type whitelist struct {
	annotation string
	set        bool
}

// of returns what is remembered of a namespace.
func (n *namespaces) of(name string) *once[whitelist] {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.known == nil {
		n.known = map[string]*once[whitelist]{}
	}
	if n.known[name] == nil {
		n.known[name] = &once[whitelist]{}
	}
	return n.known[name]
}

// forget makes a namespace be read again.
func (n *namespaces) forget(name string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.known, name)
}

// AllowedTolerations returns the tolerations to which a namespace limits its
// pods; limited is false where it does not. The admission plug-in that enforces
// it may be off. An annotation that cannot be read limits nothing that could be
// told. Each namespace is read once per process.
func (c *Cluster) AllowedTolerations(ctx context.Context, namespace string) (allowed []corev1.Toleration, limited bool, err error) {
	list, err := c.namespaces.of(namespace).get(ctx, func() (list whitelist, err error) {
		err = reading.do(ctx, bounded(func(ctx context.Context) error {
			ns, err := c.client.core.Namespaces().Get(ctx, namespace, metav1.GetOptions{})
			if err == nil {
				list.annotation, list.set = ns.Annotations[admission.WhitelistAnnotation]
			}
			return err
		}))
		return list, wrap("get namespace "+namespace, err)
	})
	if err != nil || !list.set {
		return nil, false, err
	}
	// The plug-in itself takes an empty list for no limit.
	parsed := json.Unmarshal([]byte(list.annotation), &allowed) == nil
	return allowed, parsed && len(allowed) > 0, nil
}
