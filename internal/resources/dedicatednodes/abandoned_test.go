// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package dedicatednodes_test

import (
	"strings"
	"testing"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/messages"
)

// twoWorkloads is a configuration with two workloads and a policy.
func (p *pool) twoWorkloads() (wish, map[string]any) {
	w := wish{taints: "team=a:NoSchedule", workloads: map[string]string{"StatefulSet": tolerating, "Deployment": tolerating}}
	return w, acctest.With(p.config(w), map[string]any{"admission": p.admitting(p.name, nil)})
}

// TestDedicatedNodes_aFailedCreateIsGivenUpAsItsErrorSays, before it has written any taint.
func TestDedicatedNodes_aFailedCreateIsGivenUpAsItsErrorSays(t *testing.T) {
	t.Parallel()
	onFake(t, func(t *testing.T, c *acctest.Cluster) {
		p := newPool(t, c, "Deployment", "StatefulSet")
		_, config := p.twoWorkloads()
		tf, i := terraform(t, c), newInstance()
		acctest.WantAll(t, p.atNodes(tf, i, config), "To give up instead, let an apply succeed and destroy the resource.")
		if d := tf.Apply(t, i, config); d.Errors() != "" {
			t.Fatal(d.Errors())
		}
		if w := tf.Destroy(t, i).Warnings(); strings.Contains(w, "were left") {
			t.Error(w)
		}
		p.want(wish{}, "Deployment", "StatefulSet")
		p.wantPolicies()
	})
}

// TestDedicatedNodes_namesWhatACreateDoesNotAdopt: an earlier create was interrupted, and the
// configuration names fewer objects.
func TestDedicatedNodes_namesWhatACreateDoesNotAdopt(t *testing.T) {
	t.Parallel()
	messages.Expect(t, "leaves entries of an earlier create", "lose their place", "Entries owned by … were left in …")
	for name, tt := range map[string]struct {
		// applied is set where the plan is applied all the same.
		applied bool
	}{
		"they are added before the apply":            {},
		"they are added to a create after a destroy": {applied: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onFake(t, func(t *testing.T, c *acctest.Cluster) {
				p := newPool(t, c, "Deployment", "StatefulSet")
				_, both := p.twoWorkloads()
				fewer := wish{taints: "team=a:NoSchedule", workloads: map[string]string{"StatefulSet": tolerating}}
				tf, i := terraform(t, c), newInstance()
				p.atNodes(tf, i, both)
				left := []string{"Deployment/" + p.namespace + "/deployment", "policy/" + p.name}
				acctest.WantAll(t, tf.Plan(t, i, p.config(fewer)).Diagnostics.Warnings(), append(left, "leaves entries of an earlier create on 2 objects", "before you apply")...)
				if tt.applied {
					tf.Settle(t, i, p.config(fewer))
					acctest.WantAll(t, tf.Destroy(t, i).Warnings(), append(left, "were left in 2 places", "create the resource again with all of these")...)
					i = newInstance()
				}
				if w := tf.Plan(t, i, both).Diagnostics.Warnings(); strings.Contains(w, "leaves entries of an earlier create") {
					t.Error(w)
				}
				tf.Settle(t, i, both)
				tf.Settle(t, i, p.config(fewer))
				p.want(fewer, "Deployment", "StatefulSet")
				p.wantPolicies()
				if w := tf.Destroy(t, i).Warnings(); strings.Contains(w, "were left") {
					t.Error(w)
				}
				p.want(wish{}, "Deployment", "StatefulSet")
			})
		})
	}
}

// TestDedicatedNodes_importFindsThePolicy by the marks of the taints: the plan after it is empty, and a destroy
// deletes the policy.
func TestDedicatedNodes_importFindsThePolicy(t *testing.T) {
	t.Parallel()
	for name, policy := range map[string]map[string]any{
		"with defaults":          {},
		"with every attribute":   {"toleration_seconds": 30, "pin": true, "failure_policy": "Fail"},
		"for pods of a selector": {"match": map[string]any{"pod_selector": "app=web", "requests": []any{"example.com/gpu"}}},
		"for every pod":          {"match": map[string]any{"match_all": true}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onFake(t, func(t *testing.T, c *acctest.Cluster) {
				p := newPool(t, c)
				config := acctest.With(p.config(wish{taints: "team=a:NoExecute zone=x:NoSchedule", labels: "dedicated=gpu"}), map[string]any{"admission": p.admitting(p.name, policy)})
				tf, i := terraform(t, c), newInstance()
				tf.Settle(t, i, config)
				imported, d := tf.Import(t, typeName, "selector/pool="+p.name+"/team:NoExecute,zone:NoSchedule")
				if d.Errors() != "" {
					t.Fatal(d.Errors())
				}
				if planned := tf.Plan(t, imported, config); !planned.Empty {
					t.Errorf("the plan after the import is not empty: %v %s", tf.Attributes(t, imported)["admission"], planned.Diagnostics.Errors())
				}
				tf.Destroy(t, imported)
				p.wantPolicies()
				p.want(wish{})
			})
		})
	}
}
