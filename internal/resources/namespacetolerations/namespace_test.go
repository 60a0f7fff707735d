// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package namespacetolerations_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/admission"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/messages"
)

// stage is a namespace.
type stage struct {
	t         *testing.T
	c         *acctest.Cluster
	tf        *acctest.Terraform
	namespace string
}

func stageOn(t *testing.T, c *acctest.Cluster) *stage {
	t.Helper()
	return &stage{t: t, c: c, tf: &acctest.Terraform{Provider: c.Provider(t)}, namespace: c.Namespace(t)}
}

func fresh() *acctest.Instance { return &acctest.Instance{Type: "kubetaint_namespace_tolerations"} }

// config wants tolerations as the notation of the tests has them; "" leaves a list out.
func (s *stage) config(defaults, allowed string) map[string]any {
	s.t.Helper()
	out := map[string]any{"namespace": s.namespace}
	for name, all := range map[string]string{"default": defaults, "allowed": allowed} {
		if all != "" {
			out[name] = acctest.TolerationObjects(s.t, all)
		}
	}
	return out
}

func (s *stage) annotations() map[string]string {
	s.t.Helper()
	n, err := s.c.Admin.CoreV1().Namespaces().Get(s.t.Context(), s.namespace, metav1.GetOptions{})
	if err != nil {
		s.t.Fatal(err)
	}
	return n.Annotations
}

// annotate writes annotations as another writer does; nil takes one away.
func (s *stage) annotate(annotations map[string]*string) {
	s.t.Helper()
	body, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": annotations}})
	if err != nil {
		s.t.Fatal(err)
	}
	if _, err := s.c.Admin.CoreV1().Namespaces().Patch(s.t.Context(), s.namespace, types.MergePatchType, body, metav1.PatchOptions{}); err != nil {
		s.t.Fatal(err)
	}
}

// want expects these entries in their order, and that no mark is left without an entry.
func (s *stage) want(defaults, allowed string, marks int) {
	s.t.Helper()
	lists := admission.ObserveLists(s.annotations())
	if lists.Err != nil || formatted(lists.Default) != defaults || formatted(lists.Allowed) != allowed || len(lists.Record) != marks {
		s.t.Fatalf("got default %q, allowed %q, marks %s (%v), want %q, %q and %d marks", formatted(lists.Default), formatted(lists.Allowed), lists.Record, lists.Err, defaults, allowed, marks)
	}
}

func formatted(list []corev1.Toleration) string {
	out := make([]string, len(list))
	for i, t := range list {
		out[i] = taint.FormatToleration(t)
	}
	return strings.Join(out, ", ")
}

// Entries of another writer, with a field in another order than the provider's.
const (
	theirDefault = `[{"operator":"Exists","key":"theirs"}]`
	theirAllowed = `[{"key":"theirs","operator":"Exists"},{"key":"node.kubernetes.io/not-ready","operator":"Exists"},{"key":"node.kubernetes.io/unreachable","operator":"Exists"}]`

	theirAllowedEntries = "theirs Exists, node.kubernetes.io/not-ready Exists, node.kubernetes.io/unreachable Exists"
)

func TestNamespaceTolerations_lifecycle(t *testing.T) {
	t.Parallel()
	acctest.OnFake(t, func(t *testing.T, c *acctest.Cluster) {
		s, i := stageOn(t, c), fresh()
		s.annotate(map[string]*string{admission.DefaultsAnnotation: new(theirDefault), admission.WhitelistAnnotation: new(theirAllowed)})
		s.tf.Settle(s.t, i, s.config("team=a:NoSchedule", "team*"))
		s.want("theirs Exists, team=a:NoSchedule", theirAllowedEntries+", team Exists", 2)
		s.tf.Settle(s.t, i, s.config("team=b:NoExecute@5 spot*", ""))
		s.want("theirs Exists, spot Exists, team=b:NoExecute for 5s", theirAllowedEntries, 2)
		// Another writer removes one and adds another.
		s.annotate(map[string]*string{admission.DefaultsAnnotation: new(`[{"key":"more","operator":"Exists"},{"key":"spot","operator":"Exists"}]`)})
		s.tf.Settle(s.t, i, s.config("team=b:NoExecute@5 spot*", ""))
		s.want("more Exists, spot Exists, team=b:NoExecute for 5s", theirAllowedEntries, 2)
		s.tf.Destroy(s.t, i)
		s.want("more Exists", theirAllowedEntries, 0)

		// Annotations that did not exist before are gone in the end.
		s = stageOn(t, s.c)
		i = fresh()
		s.tf.Settle(s.t, i, s.config("team=a:NoSchedule", "team* node.kubernetes.io/not-ready* node.kubernetes.io/unreachable*"))
		s.tf.Destroy(s.t, i)
		if left := s.annotations(); len(left) > 0 {
			t.Fatalf("annotations are left: %v", left)
		}
	})
}

// TestNamespaceTolerations_warnsInAnEmptyNamespace of what it rejects in every pod, or in those with
// requests or limits.
func TestNamespaceTolerations_warnsInAnEmptyNamespace(t *testing.T) {
	t.Parallel()
	messages.Expect(t, "Every new pod of namespace … would be rejected", "with requests or limits would be rejected")
	for name, tt := range map[string]struct{ allowed, summary, add string }{
		"nothing of what admission adds": {"team*", "Every new pod of namespace %q would be rejected",
			"node.kubernetes.io/not-ready Exists:NoExecute for 300s\n  node.kubernetes.io/unreachable Exists:NoExecute for 300s\n  node.kubernetes.io/memory-pressure Exists:NoSchedule"},
		"one of the two": {"team* node.kubernetes.io/not-ready*", "Every new pod of namespace %q would be rejected",
			"node.kubernetes.io/unreachable Exists:NoExecute for 300s\n  node.kubernetes.io/memory-pressure Exists:NoSchedule"},
		"both, and no memory pressure": {"team* node.kubernetes.io/not-ready* node.kubernetes.io/unreachable*", "Every new pod of namespace %q with requests or limits would be rejected",
			"node.kubernetes.io/memory-pressure Exists:NoSchedule"},
		"all": {"team* node.kubernetes.io/not-ready* node.kubernetes.io/unreachable* node.kubernetes.io/memory-pressure*", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			acctest.OnFake(t, func(t *testing.T, c *acctest.Cluster) {
				s := stageOn(t, c)
				got := s.tf.Plan(t, fresh(), s.config("", tt.allowed)).Diagnostics.Warnings()
				switch {
				case tt.summary == "" && strings.Contains(got, "would be rejected"):
					t.Errorf("no pod is rejected, and the plan says: %s", got)
				case tt.summary != "":
					acctest.WantAll(t, got, fmt.Sprintf(tt.summary, s.namespace), "Add to allowed:\n\n  "+tt.add)
				}
			})
		})
	}
}

// TestNamespaceTolerations_aDestroyWarnsOfPodsThatCouldNotBeRecreated: where others have entries in the list, those that stay
// forbid what the resource has allowed. An empty list allows everything.
func TestNamespaceTolerations_aDestroyWarnsOfPodsThatCouldNotBeRecreated(t *testing.T) {
	t.Parallel()
	messages.Expect(t, "could not be recreated")
	for _, others := range []bool{true, false} {
		acctest.OnFake(t, func(t *testing.T, c *acctest.Cluster) {
			s, i := stageOn(t, c), fresh()
			if others {
				patch := fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}}}`, admission.WhitelistAnnotation, `[{"operator":"Exists","effect":"NoExecute"},{"operator":"Exists","key":"node.kubernetes.io/memory-pressure"}]`)
				if _, err := c.Admin.CoreV1().Namespaces().Patch(t.Context(), s.namespace, types.MergePatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
					t.Fatal(err)
				}
			}
			c.Node(t, acctest.Node{Name: "a"})
			c.Pod(t, s.namespace, "web", "a", func(p *corev1.Pod) { p.Spec.Tolerations = acctest.ParseTolerations(t, "team=a:NoSchedule") })
			s.tf.Settle(t, i, s.config("", "team=a:NoSchedule"))
			says, want := s.tf.Plan(t, i, nil).Diagnostics.Warnings(), `1 running pod of namespace "`+s.namespace+`" could not be recreated`
			if strings.Contains(says, want) != others || strings.Contains(says, "team=a:NoSchedule: Pod/web") != others {
				t.Errorf("others have entries: %t; it says %s", others, says)
			}
		})
	}
}

// TestNamespaceTolerations_warnsOfPodsThatCouldNotBeRecreated: a running pod has a toleration that the list does not allow.
func TestNamespaceTolerations_warnsOfPodsThatCouldNotBeRecreated(t *testing.T) {
	t.Parallel()
	messages.Expect(t, "could not be recreated")
	acctest.OnFake(t, func(t *testing.T, c *acctest.Cluster) {
		s := stageOn(t, c)
		c.Node(t, acctest.Node{Name: "a"})
		c.Pod(t, s.namespace, "before", "a", func(p *corev1.Pod) { p.Spec.Tolerations = acctest.ParseTolerations(t, "old*") })
		acctest.WantAll(t, s.tf.Plan(t, fresh(), s.config("", "team*")).Diagnostics.Warnings(), `1 running pod of namespace "`+s.namespace+`" could not be recreated`, "old Exists: Pod/before")
	})
}

func TestNamespaceTolerations_import(t *testing.T) {
	t.Parallel()
	acctest.OnFake(t, func(t *testing.T, c *acctest.Cluster) {
		s := stageOn(t, c)
		s.annotate(map[string]*string{admission.DefaultsAnnotation: new(`[{"key":"team","operator":"Equal","value":"a","effect":"NoSchedule"}]`), admission.WhitelistAnnotation: new(theirAllowed)})
		config := s.config("team=a:NoSchedule", "theirs* node.kubernetes.io/not-ready* node.kubernetes.io/unreachable*")
		for range 2 {
			i, d := s.tf.Import(t, "kubetaint_namespace_tolerations", s.namespace)
			if d.Errors() != "" {
				t.Fatal(d.Errors())
			}
			if planned := s.tf.Plan(t, i, config); !planned.Empty || len(planned.Diagnostics) > 0 {
				t.Fatalf("a plan right after the import is not empty: %s%s", planned.Diagnostics.Errors(), planned.Diagnostics.Warnings())
			}
		}
		i, _ := s.tf.Import(t, "kubetaint_namespace_tolerations", s.namespace)
		again, d := s.tf.ImportAgain(t, i)
		if d.Errors() != "" {
			t.Fatal(d.Errors())
		}
		if planned := s.tf.Plan(t, again, config); !planned.Empty {
			t.Fatalf("a plan right after the import by identity is not empty: %s", planned.Diagnostics.Errors())
		}
		s.tf.Destroy(s.t, again)
		s.want("", "", 0)
		_, d = s.tf.Import(t, "kubetaint_namespace_tolerations", s.namespace)
		acctest.WantAll(s.t, d.Errors(), "Unable to import tolerations of namespace", "It has no tolerations, or other resources own all of them")
		_, d = s.tf.Import(t, "kubetaint_namespace_tolerations", "no-such-namespace")
		acctest.WantAll(s.t, d.Errors(), "there is no such namespace")
	})
}

func TestNamespaceTolerations_ofTwoResources(t *testing.T) {
	t.Parallel()
	messages.Expect(t, "have no effect: the admission plug-in PodTolerationRestriction is off", "is owned by another resource")
	acctest.OnFake(t, func(t *testing.T, c *acctest.Cluster) {
		s, one, other := stageOn(t, c), fresh(), fresh()
		s.tf.Settle(s.t, one, s.config("team=a:NoSchedule", ""))
		acctest.WantAll(s.t, s.tf.Plan(t, other, s.config("team=a:NoSchedule b*", "")).Diagnostics.Errors(), `[AttributeName("default")]`, "team=a:NoSchedule is owned by another resource", "terraform/namespace_tolerations/"+s.namespace,
			"remove its entry from the annotation kubetaint.io/owned-tolerations (kubectl edit namespace "+s.namespace+")")
		s.tf.Settle(s.t, other, s.config("b*", ""))
		s.want("team=a:NoSchedule, b Exists", "", 2)
		s.tf.Destroy(s.t, one)
		s.want("b Exists", "", 1)
		s.tf.Destroy(s.t, other)
		s.want("", "", 0)
	})
}

// TestNamespaceTolerations_operatorsThatTheProviderBlockRulesOut would have every pod
// refused; among what is allowed they do no harm.
func TestNamespaceTolerations_operatorsThatTheProviderBlockRulesOut(t *testing.T) {
	t.Parallel()
	acctest.OnFake(t, func(t *testing.T, c *acctest.Cluster) {
		s := stageOn(t, c)
		s.tf.Provider = acctest.With(s.tf.Provider, map[string]any{"comparison_operators": false})
		acctest.WantAll(s.t, s.tf.Plan(t, fresh(), s.config("team>5:NoSchedule", "")).Diagnostics.Errors(),
			`[AttributeName("default")] Unable to use the operator Gt in toleration "team>5:NoSchedule"`, "comparison_operators = false")
		if d := s.tf.Plan(t, fresh(), s.config("", "team>5:NoSchedule")).Diagnostics; d.Errors() != "" {
			t.Error(d.Errors())
		}
	})
}

func TestNamespaceTolerations_unreadableRecordsAreNotChanged(t *testing.T) {
	t.Parallel()
	acctest.OnFake(t, func(t *testing.T, c *acctest.Cluster) {
		s, i := stageOn(t, c), fresh()
		s.annotate(map[string]*string{admission.DefaultsAnnotation: new("not a list")})
		acctest.WantAll(s.t, s.tf.Plan(t, i, s.config("team=a:NoSchedule", "")).Diagnostics.Errors(), "Unable to change tolerations of namespace", "the annotation "+admission.DefaultsAnnotation+" cannot be read", "Nothing has been written")
		if got := s.annotations()[admission.DefaultsAnnotation]; got != "not a list" {
			t.Fatalf("the annotation is %q", got)
		}
		acctest.WantAll(s.t, s.tf.Plan(t, fresh(), map[string]any{"namespace": "no-such-namespace", "default": acctest.TolerationObjects(t, "a*")}).Diagnostics.Errors(), "there is no such namespace")
	})
}

// TestNamespaceTolerations_twoOfOneConfigurationClaimNoEntryTwice: the second one would adopt the
// entries of the first one at apply.
func TestNamespaceTolerations_twoOfOneConfigurationClaimNoEntryTwice(t *testing.T) {
	t.Parallel()
	acctest.OnFake(t, func(t *testing.T, c *acctest.Cluster) {
		s, one := stageOn(t, c), fresh()
		s.tf.Settle(t, one, s.config("team=a:NoExecute", "team*"))
		for name, tt := range map[string]struct {
			first, second  *acctest.Instance
			config, others map[string]any
			says           []string
		}{
			"both are created":                 {fresh(), fresh(), s.config("team=b:NoSchedule", ""), s.config("team=b:NoSchedule", ""), []string{`[AttributeName("default")]`, `Unable to claim toleration "team=b:NoSchedule" of namespace "` + s.namespace + `" twice`}},
			"one exists, and is planned first": {one, fresh(), s.config("team=a:NoExecute", "team*"), s.config("", "team*"), []string{`[AttributeName("allowed")]`, `Unable to claim toleration "team Exists"`}},
			"their seconds differ":             {fresh(), fresh(), s.config("x:NoExecute@5", ""), s.config("x:NoExecute@7", ""), []string{"Unable to claim toleration"}},
			"they are in different lists":      {fresh(), fresh(), s.config("x*", ""), s.config("", "x*"), nil},
			"their entries differ":             {fresh(), fresh(), s.config("x*", ""), s.config("y*", ""), nil},
		} {
			w := s.tf.Walk(t)
			w.Refresh(tt.first)
			d := append(w.Plan(tt.first, tt.config).Diagnostics, w.Plan(tt.second, tt.others).Diagnostics...)
			if tt.says == nil && d.Errors() != "" {
				t.Errorf("%s: %s", name, d.Errors())
			}
			acctest.WantAll(t, d.Errors(), tt.says...)
		}
	})
}

// TestNamespaceTolerations_aReplacementClaimsItsEntriesOnce: a command line plans it twice, and its
// create once more where create_before_destroy makes it before the destroy.
func TestNamespaceTolerations_aReplacementClaimsItsEntriesOnce(t *testing.T) {
	t.Parallel()
	acctest.OnFake(t, func(t *testing.T, c *acctest.Cluster) {
		s, i := stageOn(t, c), fresh()
		s.tf.Settle(t, i, s.config("team=a:NoSchedule", "team*"))
		other := stageOn(t, c)
		config := other.config("team=a:NoSchedule", "team*")
		planned := s.tf.Plan(t, i, config)
		if !planned.Replace || planned.Diagnostics.Errors() != "" {
			t.Fatalf("replace %t: %s", planned.Replace, planned.Diagnostics.Errors())
		}
		replacement := fresh()
		w := s.tf.Walk(t)
		if d := w.ApplyChange(replacement, planned, config); d.Errors() != "" {
			t.Fatal(d.Errors())
		}
		if d := w.ApplyChange(i, w.Plan(i, nil), nil); d.Errors() != "" {
			t.Fatal(d.Errors())
		}
		s.want("", "", 0)
		other.want("team=a:NoSchedule", "team Exists", 2)
	})
}
