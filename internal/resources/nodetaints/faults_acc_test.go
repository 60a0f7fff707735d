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
// has no owner may be left between the two, and the second must end in the right
// state. Every request of create, update and destroy has its turn, each time
// from where the step begins, until the apply needs no more.
func TestAccNodeTaints_faultAtEveryRequestInTurn(t *testing.T) {
	t.Parallel()
	acctest.Exhaustive(t)
	for name, fault := range map[string]acctest.Fault{
		"409": http.StatusConflict, "429": http.StatusTooManyRequests, "500": http.StatusInternalServerError,
		"401": http.StatusUnauthorized, "403": http.StatusForbidden,
		"a connection cut before the request": acctest.CutBefore, "a connection cut after the request": acctest.CutAfter,
	} {
		for n, s := range story(t) {
			t.Run(name+" in "+s.name, func(t *testing.T) {
				t.Parallel()
				acctest.OnFake(t, func(t *testing.T, c *acctest.Cluster) {
					pool, nodes := pool(t, c, 2)
					tf, i := terraform(t, c), newInstance()
					for _, earlier := range story(t)[:n] {
						tf.Settle(t, i, earlier.config(pool))
					}
					f := faulty{c: c, tf: tf, step: s, pool: pool, nodes: nodes, begin: remember(t, c, nodes, i)}
					requests := 0
					for f.try(t, only(requests, fault)) {
						requests++
					}
					// Parallel requests come in any order, so that no watch and no
					// write may have been the one whose turn it was.
					f.try(t, first(fault, func(r acctest.Request) bool { return r.Watch }))
					f.try(t, first(fault, acctest.Request.Write))
					t.Logf("%d requests, %d patches and %d watches among them", requests, f.patches, f.watches)
					if f.patches == 0 || f.watches == 0 {
						t.Fatalf("%d patches and %d watches were spoiled: the test shows nothing about them", f.patches, f.watches)
					}
				})
			})
		}
	}
}

// faulty is a step of a story in which one request is spoiled.
type faulty struct {
	c     *acctest.Cluster
	tf    *acctest.Terraform
	step  step
	pool  string
	nodes []string
	begin start
	// patches and watches count what was spoiled.
	patches, watches int
}

// try carries the step out from where it begins with a spoiled request, and again without
// one. It reports whether a request was spoiled.
func (f *faulty) try(t *testing.T, spoil spoiler) bool {
	t.Helper()
	i := f.begin.restore(t)
	hit, _ := disturb(t, f.c, i, spoil, f.step.config(f.pool))
	if hit == nil {
		wantOwned(t, f.c, f.nodes, f.step.want)
		return false
	}
	what := fmt.Sprintf("%s %s (watch %t)", hit.Method, hit.Path, hit.Watch)
	if hit.Method == http.MethodPatch {
		f.patches++
	} else if hit.Watch {
		f.watches++
	}
	for _, node := range f.nodes {
		wantNoOrphans(t, f.c, node)
	}
	if d := f.tf.Apply(t, i, f.step.config(f.pool)); d.Errors() != "" {
		t.Fatalf("%s undisturbed after %s: %s", f.step.name, what, d.Errors())
	}
	wantOwned(t, f.c, f.nodes, f.step.want)
	if wanted := f.step.config(f.pool) != nil; i.Exists() != wanted {
		t.Fatalf("%s undisturbed after %s: the state holds the resource is %t, want %t", f.step.name, what, i.Exists(), wanted)
	}
	return true
}

// spoiler reports what happens to a request.
type spoiler func(acctest.Request) acctest.Fault

func only(at int, fault acctest.Fault) spoiler {
	return func(r acctest.Request) acctest.Fault {
		if r.Number == at {
			return fault
		}
		return acctest.None
	}
}

// first spoils the first request of a kind.
func first(fault acctest.Fault, meant func(acctest.Request) bool) spoiler {
	var once sync.Once
	return func(r acctest.Request) acctest.Fault {
		spoilt := acctest.None
		if meant(r) {
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
