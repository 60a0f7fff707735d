// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package machinesettaints_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/golden"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/messages"
)

// warned writes the warnings of a plan, with what differs from run to run taken out.
func (s *stage) warned(p *acctest.Pool, apps string, told acctest.Diagnostics) string {
	s.Helper()
	if told.Errors() != "" {
		s.Fatal(told.Errors())
	}
	var b strings.Builder
	for _, one := range told {
		if one.Severity == tfprotov6.DiagnosticSeverityWarning {
			fmt.Fprintf(&b, "%s\n\n%s\n", one.Summary, one.Detail)
		}
	}
	return strings.NewReplacer(p.Name, "gpu-a", s.namespace, "openshift-machine-api", apps, "shop").Replace(constant(p, b.String()))
}

// sized makes a MachineSet whose machines have a size, as kwok's have.
func (s *stage) sized(machines int) *acctest.Pool {
	s.Helper()
	p := s.pool(machines, nil)
	for name := range p.Machines() {
		node := s.c.Get(s.T, name)
		node.Status.Allocatable = corev1.ResourceList{
			corev1.ResourceCPU: resource.MustParse("1k"), corev1.ResourceMemory: resource.MustParse("1Ti"), corev1.ResourcePods: resource.MustParse("1M"),
		}
		if _, err := s.c.Admin.CoreV1().Nodes().UpdateStatus(s.Context(), node, metav1.UpdateOptions{}); err != nil {
			s.Fatal(err)
		}
	}
	return p
}

// TestMachineSetTaints_warnings holds what plans say against files.
func TestMachineSetTaints_warnings(t *testing.T) {
	t.Parallel()
	onFake(t, func(t *testing.T, s *stage) {
		p, apps := s.sized(3), s.c.Namespace(t)
		s.c.Deployment(t, apps, "web", 1, func(spec *corev1.PodSpec) {
			spec.NodeSelector = map[string]string{"pool": p.Name}
			spec.Tolerations = acctestTolerations(t, foreign)
		})
		s.c.Deployment(t, apps, "db", 1, func(spec *corev1.PodSpec) {
			spec.NodeSelector = map[string]string{"pool": p.Name}
			spec.Tolerations = append(acctestTolerations(t, foreign), corev1.Toleration{Key: "team", Operator: corev1.TolerationOpExists})
		})
		for _, strategy := range append([]string{"template_only"}, reaching...) {
			config := s.config(p.Name, "team=a:NoExecute", map[string]any{"strategy": strategy})
			golden.Check(t, "plan_"+strategy+".golden", s.warned(p, apps, s.tf.Plan(t, newInstance(), config).Diagnostics))
		}
	})
}

// TestMachineSetTaints_warnsOfALifecycleHook that holds the deletion of a machine.
func TestMachineSetTaints_warnsOfALifecycleHook(t *testing.T) {
	t.Parallel()
	messages.Expect(t, "may not finish by itself")
	onFake(t, func(t *testing.T, s *stage) {
		p := s.sized(1)
		machine := acctest.Thing{APIVersion: p.APIVersion, Kind: "Machine", Namespace: p.Namespace, Name: p.Names()[0]}
		s.c.Change(t, machine, "storage", `{"spec":{"lifecycleHooks":{"preTerminate":[{"name":"Migrate","owner":"storage"}]}}}`)
		told := s.tf.Plan(t, newInstance(), s.config(p.Name, "team=a:NoSchedule", map[string]any{"strategy": "rolling"})).Diagnostics.Warnings()
		acctest.WantAll(t, told, "may not finish by itself", "machine "+machine.Name+" waits for the lifecycle hook Migrate of storage before it is deleted")
	})
}

// TestMachineSetTaints_destroyIsPreviewed: the same rollout takes the taints away, and the
// plan says whom it drains.
func TestMachineSetTaints_destroyIsPreviewed(t *testing.T) {
	t.Parallel()
	onFake(t, func(t *testing.T, s *stage) {
		p, apps := s.sized(2), s.c.Namespace(t)
		s.c.Deployment(t, apps, "web", 1, func(spec *corev1.PodSpec) {
			spec.NodeSelector = map[string]string{"pool": p.Name}
			spec.Tolerations = acctestTolerations(t, foreign)
		})
		i := newInstance()
		for _, strategy := range []string{"in_place", "rolling"} {
			s.apply(i, s.config(p.Name, "team=a:NoSchedule", map[string]any{"strategy": strategy}))
			told := s.warned(p, apps, s.tf.Plan(t, i, nil).Diagnostics)
			if strategy == "in_place" {
				// NoSchedule evicts no pod, whether it comes or goes.
				if told != "" {
					t.Fatalf("a destroy in place warns of %s", told)
				}
				continue
			}
			golden.Check(t, "destroy_"+strategy+".golden", told)
			s.apply(i, nil)
		}
		p.Want(2, foreign)
	})
}
