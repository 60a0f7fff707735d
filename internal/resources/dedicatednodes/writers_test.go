// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package dedicatednodes_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
)

// others write to what the provider is about to write, each time before the API
// server gets the write: what the provider has read is not what is there any
// more.
type others struct {
	p  *pool
	mu sync.Mutex
	// added are the entries that they have added to each object, in their order,
	// and left how many more times they do.
	added map[string][]string
	left  map[string]int
}

// begin has them add three entries to each object.
func (o *others) begin() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.left = map[string]int{"deployment": 3}
	for _, node := range o.p.nodes {
		o.left[node] = 3
	}
}

// between adds an entry to the object of a write.
func (o *others) between(r acctest.Request) acctest.Fault {
	o.mu.Lock()
	defer o.mu.Unlock()
	at := r.Path[strings.LastIndex(r.Path, "/")+1:]
	if !r.Write() || o.left[at] == 0 {
		return acctest.None
	}
	o.left[at]--
	theirs := fmt.Sprintf("theirs-%d", len(o.added[at]))
	if at == "deployment" {
		o.p.c.AddToleration(context.Background(), o.p.namespace, at, corev1.Toleration{Key: theirs, Operator: corev1.TolerationOpExists})
		o.added[at] = append(o.added[at], theirs+" Exists")
		return acctest.None
	}
	if err := o.p.c.EditNode(context.Background(), at, func(n *corev1.Node) {
		n.Labels[theirs] = "x"
		n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{Key: theirs, Effect: corev1.TaintEffectPreferNoSchedule})
	}); err != nil {
		o.p.t.Errorf("others could not write to node %s: %v", at, err)
	}
	o.added[at] = append(o.added[at], theirs+":PreferNoSchedule")
	return acctest.None
}

// want fails the test unless an object has all that others have added, in their
// order, and the one owned entry, "" for none.
func (o *others) want(at, all, first, ours string) {
	o.p.t.Helper()
	entries := strings.Split(all, ", ")
	foreign := slices.DeleteFunc(slices.Clone(entries), func(one string) bool { return one == ours })
	if want := append([]string{first}, o.added[at]...); !slices.Equal(foreign, want) {
		o.p.t.Fatalf("%s has %q beside ours, want %q", at, foreign, want)
	}
	if ours != "" && len(entries) != len(foreign)+1 {
		o.p.t.Fatalf("%s has %q, want %q once", at, entries, ours)
	}
	if o.left[at] > 0 {
		o.p.t.Fatalf("%d writes of %s met no other write: the test shows nothing", o.left[at], at)
	}
}

// TestDedicatedNodes_otherWritersDuringTheApplyLoseNothing has others add
// taints, labels and tolerations of their own right before the provider's writes
// of a create, an update and a destroy.
func TestDedicatedNodes_otherWritersDuringTheApplyLoseNothing(t *testing.T) {
	t.Parallel()
	onFake(t, func(t *testing.T, c *acctest.Cluster) {
		p := newPool(t, c, "Deployment")
		i, o := newInstance(), &others{p: p, added: map[string][]string{}}
		workloads := map[string]string{"Deployment": pinned}
		evicted := c.Evictions(t, p.namespace)
		for _, w := range []wish{
			{taints: "team=a:NoExecute", labels: "dedicated=gpu", workloads: workloads},
			{taints: "team=b:NoExecute", labels: "reserved=gpu", workloads: workloads},
			{},
		} {
			var config map[string]any
			if w.taints != "" {
				config = p.config(w)
			}
			planned := terraform(t, c).Plan(t, i, config)
			if planned.Diagnostics.Errors() != "" {
				t.Fatal(planned.Diagnostics.Errors())
			}
			proxy := c.Proxy(t)
			o.begin()
			proxy.Spoil(o.between)
			if d := (&acctest.Terraform{Provider: proxy.Provider(t, c)}).Carry(t, i, planned, config); d.Errors() != "" {
				t.Fatal(d.Errors())
			}
			proxy.Spoil(nil)
			for _, node := range p.nodes {
				o.want(node, c.Taints(t, node), foreignTaint, w.taints)
				for n := range o.added[node] {
					if labels := c.Get(t, node).Labels; labels[fmt.Sprintf("theirs-%d", n)] != "x" {
						t.Fatalf("node %s has lost a label of others: %v", node, labels)
					}
				}
			}
			o.want("deployment", c.Tolerations(t, p.namespace, "Deployment", "deployment"), "foreign Exists", w.taints)
			if config != nil {
				terraform(t, c).Settle(t, i, config)
			}
		}
		p.settled("Deployment", wish{})
		if names := evicted(); len(names) > 0 {
			t.Fatalf("the taint-eviction controller deleted %v", names)
		}
	})
}
