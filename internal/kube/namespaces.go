// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package kube

import (
	"context"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/admission"
)

// namespaces remembers the annotations of each namespace that was asked for: the
// resources of a configuration often are in a few.
type namespaces struct {
	mu    sync.Mutex
	known map[string]*once[admission.Lists]
}

// of returns what is remembered of a namespace.
func (n *namespaces) of(name string) *once[admission.Lists] {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.known == nil {
		n.known = map[string]*once[admission.Lists]{}
	}
	if n.known[name] == nil {
		n.known[name] = &once[admission.Lists]{}
	}
	return n.known[name]
}

// forget makes a namespace be read again.
func (n *namespaces) forget(name string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.known, name)
}

// TolerationLists returns what the annotations of a namespace say of the tolerations of its pods. The
// admission plug-in that enforces them may be off. An annotation that cannot be read limits nothing
// that could be told. Each namespace is read once per process.
func (c *Cluster) TolerationLists(ctx context.Context, namespace string) (admission.Lists, error) {
	return c.namespaces.of(namespace).get(ctx, func() (lists admission.Lists, err error) {
		err = reading.do(ctx, bounded(func(ctx context.Context) error {
			ns, err := c.client.core.Namespaces().Get(ctx, namespace, metav1.GetOptions{})
			if err == nil {
				lists = admission.ObserveLists(ns.Annotations)
			}
			return err
		}))
		return lists, wrap("get namespace "+namespace, err)
	})
}
