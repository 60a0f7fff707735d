// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package nodetaints_test

import (
	"regexp"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
)

func TestAccNodeTaints_budgetIsCheckedAgainRightBeforeTheFirstWrite(t *testing.T) {
	t.Parallel()
	c := acctest.Connect(t)
	tf, name, namespace := terraform(t, c), acctest.Name(t, "node"), c.Namespace(t)
	c.Node(t, acctest.Node{Name: name})
	c.Pod(t, namespace, "one", name, nil)
	config := map[string]any{"node_name": name, "taints": acctest.Objects(t, "dedicated=gpu:NoExecute"), "evictions": map[string]any{"max_pods": 1}}
	i := newInstance()
	planned := tf.Plan(t, i, config)
	if planned.Diagnostics.Errors() != "" {
		t.Fatal(planned.Diagnostics.Errors())
	}
	walk := tf.Walk(t)
	// The process has read the pods already by then: what counts is those that
	// are there when it writes.
	walk.Between = func() { c.Pod(t, namespace, "two", name, nil) }
	d := walk.ApplyChange(i, planned, config)
	acctest.WantAll(t, d.Errors(), "max_pods", "2 pods")
	wantTaints(t, c, name, "")
	if i.Exists() {
		t.Fatal("nothing was written, and yet there is a state")
	}
}

// TestAccNodeTaints_aRunningCountdownIsNotCountedAgain: one node of a selector is about to lose its
// pods for another reason, after the seconds that they tolerate it. A NoSchedule taint neither
// evicts them nor is refused by a limit of 0, and the real controller lets their seconds run.
func TestAccNodeTaints_aRunningCountdownIsNotCountedAgain(t *testing.T) {
	t.Parallel()
	c := acctest.Connect(t)
	tf, pool, namespace := terraform(t, c), acctest.Name(t, "pool"), c.Namespace(t)
	outage := acctest.Parse(t, "outage:NoExecute")
	c.Node(t, acctest.Node{Name: pool + "a", Labels: map[string]string{"pool": pool}, Taints: outage})
	c.Node(t, acctest.Node{Name: pool + "b", Labels: map[string]string{"pool": pool}})
	for _, node := range []string{pool + "a", pool + "b"} {
		c.Pod(t, namespace, "on-"+node, node, func(p *corev1.Pod) {
			p.Spec.Tolerations = []corev1.Toleration{{Key: "outage", Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute, TolerationSeconds: new(int64(300))}}
		})
	}
	evicted := c.Evictions(t, namespace)
	config, i := map[string]any{"node_selector": "pool=" + pool, "taints": acctest.Objects(t, "dedicated=gpu:NoSchedule"), "evictions": map[string]any{"max_pods": 0}}, newInstance()
	// Whether the pods would find another node depends on those of other tests.
	if warnings := tf.Settle(t, i, config).Warnings(); regexp.MustCompile(`evicts \d`).MatchString(warnings) {
		t.Error(warnings)
	}
	wantTaints(t, c, pool+"a", "outage:NoExecute, dedicated=gpu:NoSchedule")
	if pods := evicted(); len(pods) > 0 {
		t.Errorf("evicted are %v", pods)
	}
	tf.Destroy(t, i)
}
