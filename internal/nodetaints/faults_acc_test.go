// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package nodetaints_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
)

// step is one apply of a story that is disturbed.
type step struct {
	name   string
	config func(pool string) map[string]any
	// want is what every node carries afterwards, beside the foreign taint.
	want string
}

func taintsOf(t *testing.T, all string) func(string) map[string]any {
	t.Helper()
	return func(pool string) map[string]any {
		return map[string]any{"node_selector": "pool=" + pool, "taints": acctest.Objects(t, all)}
	}
}

// story is create, update and destroy of one resource over three nodes.
func story(t *testing.T) []step {
	t.Helper()
	return []step{
		{"create", taintsOf(t, "dedicated=gpu:NoSchedule spot:NoSchedule"), ", dedicated=gpu:NoSchedule, spot:NoSchedule"},
		{"update", taintsOf(t, "dedicated=web:NoSchedule more:NoExecute"), ", dedicated=web:NoSchedule, more:NoExecute"},
		{"destroy", func(string) map[string]any { return nil }, ""},
	}
}

const foreignTaint = "foreign=1:NoSchedule"

func pool(t *testing.T, c *acctest.Cluster, size int) (string, []string) {
	t.Helper()
	name := acctest.Name(t, "pool")
	nodes := make([]string, size)
	for n := range size {
		nodes[n] = fmt.Sprintf("%s-%d", name, n)
		c.Node(t, acctest.Node{Name: nodes[n], Quiet: true, Labels: map[string]string{"pool": name}, Taints: acctest.Parse(t, foreignTaint)})
	}
	return name, nodes
}

// wantOwned checks that every node carries what it should and that every mark
// belongs to a taint that is there.
func wantOwned(t *testing.T, c *acctest.Cluster, nodes []string, want string) {
	t.Helper()
	for _, name := range nodes {
		wantTaints(t, c, name, foreignTaint+want)
		wantNoOrphans(t, c, name)
	}
}

// wantNoOrphans checks that every taint but the foreign one has a mark, and
// every mark a taint.
func wantNoOrphans(t *testing.T, c *acctest.Cluster, name string) {
	t.Helper()
	node := c.Get(t, name)
	record, err := taint.ParseRecord(node.Annotations[taint.OwnedAnnotation])
	if err != nil {
		t.Fatal(err)
	}
	if len(record) != len(node.Spec.Taints)-1 {
		t.Fatalf("node %s carries %s and the marks %s", name, taint.FormatAll(node.Spec.Taints), record)
	}
	for _, mark := range record {
		if taint.Find(node.Spec.Taints, mark.ID()) < 0 {
			t.Fatalf("node %s carries a mark without a taint: %s", name, record)
		}
	}
}

// start is the point from which a step of a story begins: the nodes as they
// stand and what Terraform has of the resource.
type start struct {
	c        *acctest.Cluster
	nodes    map[string]string
	instance acctest.Instance
}

// remember takes the nodes and the instance as they are now.
func remember(t *testing.T, c *acctest.Cluster, nodes []string, i *acctest.Instance) start {
	t.Helper()
	s := start{c: c, nodes: map[string]string{}, instance: *i}
	for _, name := range nodes {
		s.nodes[name] = s.now(t, name)
	}
	return s
}

// now is the patch that makes a node as it is.
func (s start) now(t *testing.T, name string) string {
	t.Helper()
	node := s.c.Get(t, name)
	var record any
	if text, ok := node.Annotations[taint.OwnedAnnotation]; ok {
		record = text
	}
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"annotations": map[string]any{taint.OwnedAnnotation: record}},
		"spec":     map[string]any{"taints": node.Spec.Taints},
	})
	if err != nil {
		t.Fatal(err)
	}
	return string(patch)
}

// restore brings the nodes back and returns the instance as it was.
func (s start) restore(t *testing.T) *acctest.Instance {
	t.Helper()
	for name, patch := range s.nodes {
		s.c.Patch(t, name, patch)
	}
	i := s.instance
	return &i
}

// changed counts the nodes that are not as they were.
func (s start) changed(t *testing.T) int {
	t.Helper()
	n := 0
	for name, patch := range s.nodes {
		if s.now(t, name) != patch {
			n++
		}
	}
	return n
}

// TestAccNodeTaints_faultAtEveryRequestInTurn spoils one request of an apply,
// plan included, and then runs the same apply again undisturbed: nothing that
// nobody owns may be left between the two, and the second must end in the right
// state. Every request of create, update and destroy has its turn, each time
// from where the step begins, until the apply needs no more.
func TestAccNodeTaints_faultAtEveryRequestInTurn(t *testing.T) {
	t.Parallel()
	c := acctest.Connect(t)
	for name, fault := range map[string]acctest.Fault{
		"409": http.StatusConflict, "429": http.StatusTooManyRequests, "500": http.StatusInternalServerError,
		"401": http.StatusUnauthorized, "403": http.StatusForbidden,
		"a connection cut before the request": acctest.CutBefore, "a connection cut after the request": acctest.CutAfter,
	} {
		for n, s := range story(t) {
			t.Run(name+" in "+s.name, func(t *testing.T) {
				t.Parallel()
				pool, nodes := pool(t, c, 2)
				tf, i := terraform(t, c), newInstance()
				for _, earlier := range story(t)[:n] {
					tf.Settle(t, i, earlier.config(pool))
				}
				begin := remember(t, c, nodes, i)
				patches, watches := 0, 0
				try := func(spoil spoiler) bool {
					i := begin.restore(t)
					hit, _ := disturb(t, c, i, spoil, s.config(pool))
					if hit == nil {
						wantOwned(t, c, nodes, s.want)
						return false
					}
					what := fmt.Sprintf("%s at %s %s (watch %t)", name, hit.Method, hit.Path, hit.Watch)
					if hit.Method == http.MethodPatch {
						patches++
					} else if hit.Watch {
						watches++
					}
					for _, node := range nodes {
						wantNoOrphans(t, c, node)
					}
					if d := tf.Apply(t, i, s.config(pool)); d.Errors() != "" {
						t.Fatalf("%s undisturbed after %s: %s", s.name, what, d.Errors())
					}
					wantOwned(t, c, nodes, s.want)
					if wanted := s.config(pool) != nil; i.Exists() != wanted {
						t.Fatalf("%s undisturbed after %s: the state holds the resource is %t, want %t", s.name, what, i.Exists(), wanted)
					}
					return true
				}
				requests := 0
				for try(only(requests, fault)) {
					requests++
				}
				// Requests that go at once come in any order, so that the watch may
				// never have been the one whose turn it was.
				try(firstWatch(fault))
				t.Logf("%d requests, %d patches and %d watches among them", requests, patches, watches)
				if patches == 0 || watches == 0 {
					t.Fatalf("%d patches and %d watches were spoiled: the test shows nothing about them", patches, watches)
				}
			})
		}
	}
}

// spoiler says what happens to a request.
type spoiler func(acctest.Request) acctest.Fault

func only(at int, fault acctest.Fault) spoiler {
	return func(r acctest.Request) acctest.Fault {
		if r.Number == at {
			return fault
		}
		return acctest.None
	}
}

func firstWatch(fault acctest.Fault) spoiler {
	var once sync.Once
	return func(r acctest.Request) acctest.Fault {
		spoilt := acctest.None
		if r.Watch {
			once.Do(func() { spoilt = fault })
		}
		return spoilt
	}
}

func from(at int, fault acctest.Fault) spoiler {
	return func(r acctest.Request) acctest.Fault {
		if r.Number >= at {
			return fault
		}
		return acctest.None
	}
}

// disturb applies with faults and returns a request that met one, or nil where
// the apply needs none of those, and what the apply said. Watches outlive an
// apply, so that each has a proxy of its own.
func disturb(t *testing.T, c *acctest.Cluster, i *acctest.Instance, spoil spoiler, config map[string]any) (*acctest.Request, acctest.Diagnostics) {
	t.Helper()
	proxy := c.Proxy(t)
	proxy.InTurn()
	tf := &acctest.Terraform{Provider: proxy.Provider(t, c)}
	var hit atomic.Pointer[acctest.Request]
	proxy.Spoil(func(r acctest.Request) acctest.Fault {
		fault := spoil(r)
		if fault != acctest.None {
			hit.CompareAndSwap(nil, &r)
		}
		return fault
	})
	d := tf.Apply(t, i, config)
	if text, err := json.Marshal(d); err == nil && strings.Contains(string(text), fmt.Sprint(tf.Provider["token"])) {
		t.Fatal("a diagnostic holds the token")
	}
	return hit.Load(), d
}

func TestAccNodeTaints_otherClusterUnderTheSameStateIsAnErrorAndNothingIsRead(t *testing.T) {
	t.Parallel()
	c := acctest.Connect(t)
	pool, nodes := pool(t, c, 1)
	i := newInstance()
	terraform(t, c).Settle(t, i, taintsOf(t, "dedicated=gpu:NoSchedule")(pool))
	c.Elsewhere(t, i, taintsOf(t, "dedicated=web:NoSchedule")(pool))
	wantOwned(t, c, nodes, ", dedicated=gpu:NoSchedule")
}

func TestAccNodeTaints_clusterOutOfReachKeepsTheState(t *testing.T) {
	t.Parallel()
	c := acctest.Connect(t)
	pool, nodes := pool(t, c, 1)
	proxy := c.Proxy(t)
	tf, i := &acctest.Terraform{Provider: proxy.Provider(t, c)}, newInstance()
	config := taintsOf(t, "dedicated=gpu:NoSchedule")(pool)
	tf.Settle(t, i, config)
	proxy.OutOfReach(t, tf.Provider, []*acctest.Instance{i}, []map[string]any{config}, taintsOf(t, "dedicated=web:NoSchedule")(pool))
	wantOwned(t, c, nodes, ", dedicated=gpu:NoSchedule")

	// A budget cannot be checked then.
	for fault, advice := range map[acctest.Fault]string{acctest.CutBefore: "Check that its API server runs, and the network to it.", http.StatusUnauthorized: "The cluster refused the credentials"} {
		proxy.Spoil(from(0, fault))
		budget := acctest.With(taintsOf(t, "dedicated=web:NoExecute")(pool), map[string]any{"evictions": map[string]any{"max_pods": 1}})
		wantError(t, tf.Walk(t).Plan(i, budget).Diagnostics, "cannot be checked", advice)
	}
}

func TestAccNodeTaints_unknownInputsAreNotGuessedAt(t *testing.T) {
	t.Parallel()
	c := acctest.Connect(t)
	tf := terraform(t, c)
	for _, config := range []map[string]any{
		{"node_name": acctest.Unknown, "taints": acctest.Objects(t, "dedicated=gpu:NoExecute")},
		{"node_name": "x", "taints": acctest.Unknown},
		{"node_name": "x", "taints": []any{map[string]any{"key": "dedicated", "value": acctest.Unknown, "effect": "NoExecute"}}},
		{"node_selector": acctest.Unknown, "taints": acctest.Objects(t, "dedicated=gpu:NoExecute"), "evictions": acctest.Unknown},
	} {
		planned := tf.Plan(t, newInstance(), config)
		if len(planned.Diagnostics) > 0 {
			t.Fatalf("unknown inputs: %s%s", planned.Diagnostics.Errors(), planned.Diagnostics.Warnings())
		}
	}
	// A provider block that is not known yet is a cluster out of reach.
	unknown := &acctest.Terraform{Provider: map[string]any{"host": acctest.Unknown, "token": "x"}}
	d := unknown.Plan(t, newInstance(), map[string]any{"node_name": "x", "taints": acctest.Objects(t, "dedicated=gpu:NoExecute")}).Diagnostics
	wantWarning(t, d, "Unable to read the cluster: the provider block is not known yet")
}
