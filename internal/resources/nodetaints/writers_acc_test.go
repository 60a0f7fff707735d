// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package nodetaints_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
)

const otherWriters = 50

// TestAccNodeTaints_fiftyOtherWriters has fifty others add and remove taints of
// their own on the same nodes while the resource is created, updated and
// destroyed. Those that guard their writes must lose nothing to us. Five write
// to the first node as kubectl does, without a resource version: these can
// overwrite each other and the provider, and then the next plan must report it.
func TestAccNodeTaints_fiftyOtherWriters(t *testing.T) {
	t.Parallel()
	acctest.Exhaustive(t)
	c := acctest.Connect(t)
	tf := terraform(t, c)
	pool, nodes := pool(t, c, 5)
	i := newInstance()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var wg sync.WaitGroup
	lost := make(chan string, otherWriters)
	for w := range otherWriters {
		wg.Go(func() {
			if w < 5 {
				careless(ctx, c, nodes[0], w)
				return
			}
			// On the first node the careless ones take each other's and all other
			// taints away; on the others only we could.
			if what := careful(ctx, c, nodes[w%len(nodes)], w); what != "" && w%len(nodes) > 0 {
				lost <- what
			}
		})
	}
	for _, all := range []string{"dedicated=gpu:NoSchedule", "dedicated=web:NoSchedule spot:NoSchedule", "spot:NoSchedule"} {
		config := taintsOf(t, all)(pool)
		// Writers that keep removing our taint are reported; by chance the careless ones do.
		d := tf.Apply(t, i, config)
		for strings.Contains(d.Errors(), "Another controller keeps reverting this change") {
			d = tf.Apply(t, i, config)
		}
		if d.Errors() != "" {
			t.Fatal(d.Errors())
		}
		// A careless writer's change after the apply is noticed: the
		// plan is empty exactly where all nodes are in sync.
		for range 3 {
			wantNoticed(t, c, tf, i, config, pool)
		}
	}
	stop()
	wg.Wait()
	close(lost)
	for what := range lost {
		t.Error(what)
	}
	config := taintsOf(t, "spot:NoSchedule")(pool)
	tf.Settle(t, i, config)
	for _, name := range nodes {
		if at := taint.Find(c.Get(t, name).Spec.Taints, taint.ID{Key: "foreign", Effect: corev1.TaintEffectNoSchedule}); at < 0 {
			t.Errorf("node %s has lost a foreign taint that no writer removed", name)
		}
	}
	tf.Destroy(t, i)
	for _, name := range nodes {
		if c.Record(t, name) != "" || taint.Find(c.Get(t, name).Spec.Taints, taint.ID{Key: "spot", Effect: corev1.TaintEffectNoSchedule}) >= 0 {
			t.Errorf("node %s keeps something of ours after destroy", name)
		}
	}
}

// wantNoticed compares what a refresh says of each node with what stands there.
// The nodes change meanwhile, so that only one that was in sync all the time, or
// never, is judged.
func wantNoticed(t *testing.T, c *acctest.Cluster, tf *acctest.Terraform, i *acctest.Instance, config map[string]any, pool string) {
	t.Helper()
	looks := c.PoolNodes(t, pool)
	if d := tf.Walk(t).Refresh(i); d.Errors() != "" {
		t.Fatal(d.Errors())
	}
	said, _ := tf.Attributes(t, i)["nodes"].(map[string]any)
	judged := 0
	for name, seen := range looks() {
		asWanted := standing(config, seen[0])
		if slices.ContainsFunc(seen, func(n *corev1.Node) bool { return standing(config, n) != asWanted }) {
			continue
		}
		judged++
		if _, deviates := said[name]; deviates == asWanted {
			t.Errorf("node %s is as wanted: %v, and the refresh says that it deviates: %v", name, asWanted, deviates)
		}
	}
	if judged == 0 {
		t.Error("no node was judged")
	}
}

// standing reports whether a node carries all that is wanted.
func standing(config map[string]any, n *corev1.Node) bool {
	wanted, _ := config["taints"].([]any)
	return !slices.ContainsFunc(wanted, func(one any) bool {
		object, _ := one.(map[string]any)
		value, _ := object["value"].(string)
		at := taint.Find(n.Spec.Taints, taint.ID{Key: fmt.Sprint(object["key"]), Effect: corev1.TaintEffect(fmt.Sprint(object["effect"]))})
		return at < 0 || n.Spec.Taints[at].Value != value
	})
}

// careful adds a taint of its own and removes it, with guarded writes. It
// returns what it found missing: a write of another writer took it away. What it has begun
// it ends, so that nothing of it comes after it has returned.
func careful(ctx context.Context, c *acctest.Cluster, node string, w int) (lost string) {
	own := corev1.Taint{Key: fmt.Sprintf("writer-%d", w), Value: "x", Effect: corev1.TaintEffectNoSchedule}
	whole := context.WithoutCancel(ctx)
	for ctx.Err() == nil {
		if edit(whole, c, node, func(taints []corev1.Taint) []corev1.Taint { return append(taints, own) }) != nil {
			continue
		}
		_ = edit(whole, c, node, func(taints []corev1.Taint) []corev1.Taint {
			at := taint.Find(taints, taint.IDOf(own))
			if at < 0 {
				lost = fmt.Sprintf("the taint of writer %d was lost on node %s", w, node)
				return taints
			}
			return append(taints[:at:at], taints[at+1:]...)
		})
	}
	return lost
}

// edit changes a node's taints as a well-behaved controller does.
func edit(ctx context.Context, c *acctest.Cluster, name string, change func([]corev1.Taint) []corev1.Taint) error {
	return c.EditNode(ctx, name, func(n *corev1.Node) { n.Spec.Taints = change(n.Spec.Taints) })
}

// careless adds and removes a taint without a guard, from its own read. It ends what it has
// begun as well.
func careless(ctx context.Context, c *acctest.Cluster, name string, w int) {
	whole := context.WithoutCancel(ctx)
	for n := 0; ctx.Err() == nil; n++ {
		node, err := c.Admin.CoreV1().Nodes().Get(whole, name, metav1.GetOptions{})
		if err != nil {
			return
		}
		id := taint.ID{Key: fmt.Sprintf("careless-%d", w), Effect: corev1.TaintEffectNoSchedule}
		taints := node.Spec.Taints
		if at := taint.Find(taints, id); at >= 0 {
			taints = append(taints[:at:at], taints[at+1:]...)
		} else {
			taints = append(taints, corev1.Taint{Key: id.Key, Effect: id.Effect})
		}
		patch, err := json.Marshal(map[string]any{"spec": map[string]any{"taints": taints}})
		if err != nil {
			return
		}
		_, _ = c.Admin.CoreV1().Nodes().Patch(whole, name, types.MergePatchType, patch, metav1.PatchOptions{})
	}
}
