// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package namespacetolerations_test

import (
	"context"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/admission"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/toleration"
)

// TestAccNamespaceTolerations_kill9AfterEachRequest kills the real provider process under
// Terraform after each request of create, update and destroy in turn. The same apply again
// ends in the right state, and what others wrote stays.
func TestAccNamespaceTolerations_kill9AfterEachRequest(t *testing.T) {
	t.Parallel()
	for name, values := range map[string][2]string{"create": {"", "a"}, "update": {"a", "b"}, "destroy": {"a", ""}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if name != "update" {
				acctest.Exhaustive(t)
			}
			s, cli := stageOn(t, acctest.Connect(t)), acctest.NewCLI(t)
			s.annotate(map[string]*string{admission.DefaultsAnnotation: new(theirDefault), admission.WhitelistAnnotation: new(theirAllowed)})
			hcl := func(value string) string {
				if value == "" {
					return ""
				}
				one := `[{ key = "team", operator = "Equal", value = "` + value + `", effect = "NoSchedule" }]`
				return "resource \"kubetaint_namespace_tolerations\" \"this\" {\n  namespace = \"" + s.namespace + "\"\n  default   = " + one + "\n  allowed   = " + one + "\n}\n"
			}
			kills := 0
			for requests := range acctest.Kills(2) {
				cli.Write(s.c.Provider(t), hcl(values[0]))
				cli.MustRun("apply", "-auto-approve", "-input=false")
				proxy := s.c.Proxy(t)
				// The last answer comes when the process is killed, and not before.
				proxy.InTurn()
				cli.Write(proxy.Provider(t, s.c), hcl(values[1]))
				cli.MustRun("plan", "-input=false", "-out=plan")
				if !cli.ApplyAndKill(proxy, func(r acctest.Request) bool { return r.Path == "/api/v1/namespaces/"+s.namespace }, requests) {
					break
				}
				kills++
				cli.MustRun("apply", "-auto-approve", "-input=false")
				if value := values[1]; value == "" {
					s.want("theirs Exists", theirAllowedEntries, 0)
				} else {
					s.want("theirs Exists, team="+value+":NoSchedule", theirAllowedEntries+", team="+value+":NoSchedule", 2)
				}
				cli.WantEmptyPlan()
			}
			// It is read, and it is written.
			if kills < acctest.MinKills(2) {
				t.Fatalf("the apply was killed only %d times", kills)
			}
		})
	}
}

// TestAccNamespaceTolerations_thePlugIn: with the real plug-in, pods get what the plan says,
// and are refused as it says; without it, the plan reports that nothing comes of it.
func TestAccNamespaceTolerations_thePlugIn(t *testing.T) {
	t.Parallel()
	const off = "have no effect: the admission plug-in PodTolerationRestriction is off"
	without := stageOn(t, acctest.Connect(t))
	acctest.WantAll(without.t, without.tf.Plan(t, fresh(), without.config("team=a:NoSchedule", "")).Diagnostics.Warnings(), off, "kubetaint_toleration_policy")

	c := acctest.Beside(t)
	t.Run("previews know what it gives", func(t *testing.T) {
		t.Parallel()
		stageOn(t, c).previewsKnowDefaults()
	})
	s, i := stageOn(t, c), fresh()
	old := corev1.Toleration{Key: "old", Operator: corev1.TolerationOpExists}
	node := acctest.Name(t, "node")
	s.c.Node(t, acctest.Node{Name: node})
	if _, err := s.pod("before", nil, old); err != nil {
		t.Fatal(err)
	}
	s.c.Running(t, s.namespace, "pod", 1)
	if d := s.tf.Settle(s.t, i, s.config("team=a:NoSchedule", "")); strings.Contains(d.Warnings(), off) {
		t.Fatalf("the plug-in is on: %s", d.Warnings())
	}
	s.plugInKnows("pods are given what is the default", func(made *corev1.Pod, err error) bool {
		return err == nil && toleration.Contains(made.Spec.Tolerations, acctest.ParseTolerations(t, "team=a:NoSchedule")[0])
	})
	if _, err := s.pod("given", nil); err != nil {
		t.Fatal(err)
	}
	s.c.Running(s.t, s.namespace, "pod", 2)
	// Everything that pods have must be allowed, what every pod has as well.
	narrow := s.config("team=a:NoSchedule", "team*")
	planned := s.tf.Plan(t, i, narrow)
	acctest.WantAll(s.t, planned.Diagnostics.Warnings(), `Every new pod of namespace "`+s.namespace+`" would be rejected`, "node.kubernetes.io/not-ready Exists:NoExecute for 300s", "node.kubernetes.io/memory-pressure Exists:NoSchedule",
		`1 running pod of namespace "`+s.namespace+`" could not be recreated`, "old Exists: Pod/before")
	if d := s.tf.Carry(t, i, planned, narrow); d.Errors() != "" {
		t.Fatal(d.Errors())
	}
	s.plugInKnows("every new pod is refused", func(_ *corev1.Pod, err error) bool {
		return err != nil && strings.Contains(err.Error(), "whitelist")
	})
	all := "team* node.kubernetes.io/not-ready* node.kubernetes.io/unreachable* node.kubernetes.io/memory-pressure*"
	if d := s.tf.Settle(s.t, i, s.config("team=a:NoSchedule", all)); strings.Contains(d.Warnings(), "would be rejected") {
		t.Fatalf("what every pod has is allowed: %s", d.Warnings())
	}
	s.plugInKnows("pods that the namespace does not allow are refused", func(_ *corev1.Pod, err error) bool {
		return err != nil && strings.Contains(err.Error(), "whitelist")
	}, old)
	if _, err := s.pod("allowed", nil); err != nil {
		t.Fatalf("a pod that the namespace allows is refused: %v", err)
	}
	s.tf.Destroy(s.t, i)
	s.plugInKnows("everything is allowed again", func(_ *corev1.Pod, err error) bool { return err == nil }, old)
}

// pod makes a pod with these tolerations, or asks for it in a dry run.
func (s *stage) pod(name string, dryRun []string, tolerations ...corev1.Toleration) (*corev1.Pod, error) {
	return s.c.Admin.CoreV1().Pods(s.namespace).Create(s.t.Context(), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"app": "pod"}},
		Spec: corev1.PodSpec{Tolerations: tolerations, Containers: []corev1.Container{{
			Name: "main", Image: "registry.k8s.io/pause:3.10.2", Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{"cpu": resource.MustParse("1m")}},
		}}},
	}, metav1.CreateOptions{DryRun: dryRun})
}

// plugInKnows waits until PodTolerationRestriction does as it should: it learns of a
// namespace's annotations by a watch, and goes by what they were until then.
func (s *stage) plugInKnows(what string, does func(*corev1.Pod, error) bool, tolerations ...corev1.Toleration) {
	s.t.Helper()
	acctest.Until(s.t, what, func(context.Context) (bool, error) {
		return does(s.pod("probe", []string{metav1.DryRunAll}, tolerations...)), nil
	})
}

// previewsKnowDefaults: evicted pods are recreated with what the namespace gives, and land
// where the preview reports that there is room.
func (s *stage) previewsKnowDefaults() {
	t := s.t
	pool := acctest.Name(t, "pool")
	dedicated, plain := pool+"-dedicated", pool+"-plain"
	s.c.Node(t, acctest.Node{Name: plain, Labels: map[string]string{"pool": pool}})
	s.c.Deployment(t, s.namespace, "web", 2, func(spec *corev1.PodSpec) {
		grace := int64(0)
		spec.NodeSelector, spec.TerminationGracePeriodSeconds = map[string]string{"pool": pool}, &grace
		spec.Containers[0].Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1m")}
	})
	s.c.Node(t, acctest.Node{Name: dedicated, Labels: map[string]string{"pool": pool}, Taints: acctest.Parse(t, "dedicated="+pool+":NoSchedule")})
	taints := acctest.Objects(t, "gone=1:NoExecute")
	preview := func(stranded int64, reason string) {
		t.Helper()
		got, d := s.tf.Data(t, "kubetaint_eviction_preview", map[string]any{"node_name": plain, "taints": taints})
		if d.Errors() != "" {
			t.Fatal(d.Errors())
		}
		markdown, _ := got["markdown"].(string)
		if summary, _ := got["summary"].(map[string]any); summary["evicted_now"] != int64(2) || summary["not_reschedulable"] != stranded {
			t.Fatalf("the preview says %v: %s", summary, markdown)
		}
		acctest.WantAll(s.t, markdown, reason)
	}
	preview(2, "no node fits")
	s.tf.Settle(s.t, fresh(), s.config("dedicated="+pool+":NoSchedule", ""))
	s.plugInKnows("pods are given what is the default", func(made *corev1.Pod, err error) bool {
		return err == nil && toleration.Contains(made.Spec.Tolerations, acctest.ParseTolerations(t, "dedicated="+pool+":NoSchedule")[0])
	})
	preview(0, "admission gives it dedicated="+pool+":NoSchedule when it is recreated")
	if d := s.tf.Apply(t, &acctest.Instance{Type: "kubetaint_node_taints"}, map[string]any{"node_name": plain, "taints": taints}); d.Errors() != "" {
		t.Fatal(d.Errors())
	}
	acctest.Until(t, "both pods run on the dedicated node", func(ctx context.Context) (bool, error) {
		pods, err := s.c.Admin.CoreV1().Pods(s.namespace).List(ctx, metav1.ListOptions{LabelSelector: "app=web"})
		if err != nil {
			return false, err
		}
		there := 0
		for _, p := range pods.Items {
			if p.Spec.NodeName == dedicated && p.Status.Phase == corev1.PodRunning {
				there++
			}
		}
		return there == 2, nil
	})
}
