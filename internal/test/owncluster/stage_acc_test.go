// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package owncluster_test

import (
	"testing"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/machineset"
)

// foreign is the taint that MachineSets of tests begin with.
const foreign = "vendor=x:NoSchedule"

// stage is a namespace with the Machine API, and a provider.
type stage struct {
	*testing.T
	c         *acctest.Cluster
	tf        *acctest.Terraform
	namespace string
}

// faithful is a stage on a cluster whose Machine API is as awkward as OpenShift's. Its
// MachineSets are in the one namespace that is watched there.
func faithful(t *testing.T, c *acctest.Cluster) *stage {
	t.Helper()
	return &stage{T: t, c: c, tf: &acctest.Terraform{Provider: c.Provider(t)}, namespace: machineset.OperatorNamespace}
}

// newInstance returns an instance that is not created yet.
func newInstance() *acctest.Instance {
	return &acctest.Instance{Type: "kubetaint_machine_set_taints"}
}

// pool makes a MachineSet.
func (s *stage) pool(replicas int, more func(*acctest.MachineSet)) *acctest.Pool {
	s.Helper()
	m := acctest.MachineSet{Namespace: s.namespace, Name: acctest.Name(s.T, "ms"), Replicas: replicas, Taints: foreign}
	if more != nil {
		more(&m)
	}
	return s.c.MachineSet(s.T, m)
}

// config wants taints of a MachineSet.
func (s *stage) config(name, taints string, rollout map[string]any) map[string]any {
	return map[string]any{"namespace": s.namespace, "name": name, "taints": acctest.Objects(s.T, taints), "rollout": rollout}
}

// apply applies a configuration and then expects that a plan is empty.
func (s *stage) apply(i *acctest.Instance, config map[string]any) acctest.Diagnostics {
	s.Helper()
	if config == nil {
		return s.tf.Destroy(s.T, i)
	}
	return s.tf.Settle(s.T, i, config)
}

// disturbed applies a configuration, calls a function right before the second write, and
// returns the errors.
func (s *stage) disturbed(i *acctest.Instance, config map[string]any, disturb func(acctest.Request)) string {
	s.Helper()
	return s.c.Disturbed(s.T, i, config, func(r acctest.Request, _ func(string)) { disturb(r) })
}
