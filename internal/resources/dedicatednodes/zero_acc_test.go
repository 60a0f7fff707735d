// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package dedicatednodes_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
)

// TestAccDedicatedNodes_interruptedAtZeroScalesBack: the second pod
// of the StatefulSet is made once the first is ready, which needs a machine.
func TestAccDedicatedNodes_interruptedAtZeroScalesBack(t *testing.T) {
	t.Parallel()
	f := newFleet(t, acctest.Connect(t))
	f.c.StatefulSet(t, f.Namespace, "db", 2, func(spec *corev1.PodSpec) {
		spec.NodeSelector = map[string]string{"pool": f.Pool.Name}
		spec.Tolerations = []corev1.Toleration{{Key: "foreign", Operator: corev1.TolerationOpExists}}
	})
	config := acctest.With(f.config(fleetWish{"team=a:NoExecute", "dedicated=gpu"}, map[string]any{"strategy": "scale_to_zero"}), map[string]any{
		"workloads": []any{map[string]any{"kind": "StatefulSet", "namespace": f.Namespace, "name": "db", "pin": true}},
		"timeouts":  map[string]any{"create": "4m", "update": "4m"},
	})
	tf, i := terraform(t, f.c), newInstance()
	tf.Settle(t, i, config)
	id, _ := tf.Attributes(t, i)["id"].(string)
	f.LeaveAtZero(id)
	f.c.StuckAtFirst(t, f.Namespace, "db")
	acctest.WantAll(t, tf.Plan(t, i, config).Diagnostics.Warnings(), "Apply continues an interrupted rollout of MachineSet", "spec.replicas is 2 at the end")
	tf.Settle(t, i, config)
	f.Want(2, foreignTaint+" team=a:NoExecute")
	f.c.Running(t, f.Namespace, "db", 2)
	tf.Destroy(t, i)
}
