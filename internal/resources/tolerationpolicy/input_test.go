// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package tolerationpolicy_test

import (
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/messages"
)

func TestTolerationPolicy_refusesAtPlan(t *testing.T) {
	t.Parallel()
	messages.Expect(t, "the name is taken", "Unable to match every pod with an empty match", "Unable to match system namespaces by a selector")
	match := func(m map[string]any) map[string]any { return map[string]any{"match": m} }
	for name, tt := range map[string]struct {
		more map[string]any
		says []string
	}{
		"a match of every pod by leaving everything out": {match(map[string]any{}), []string{`[AttributeName("match")] Unable to match every pod with an empty match`, "match_all = true"}},
		"every pod and only some":                        {match(map[string]any{"match_all": true, "pod_selector": "a=b"}), []string{"Unable to match every pod and only some"}},
		"namespaces by name and by selector":             {match(map[string]any{"namespaces": []any{"a"}, "namespace_selector": "b=c"}), []string{"Unable to match namespaces both by name and by selector"}},
		"a namespace of the system by a selector":        {match(map[string]any{"namespace_selector": "kubernetes.io/metadata.name in (kube-system, kube-public)"}), []string{"Unable to match system namespaces by a selector", `matches kube-public, kube-system`}},
		"a resource of Kubernetes itself":                {match(map[string]any{"requests": []any{"cpu"}}), []string{`"cpu" is one of Kubernetes' own resources`}},
		"a resource without a domain":                    {match(map[string]any{"requests": []any{"gpu"}}), []string{`"gpu" has no domain`}},
		"a resource of a domain of Kubernetes":           {match(map[string]any{"requests": []any{"kubernetes.io/batch"}}), []string{`"kubernetes.io/batch" is one of Kubernetes' own resources`}},
		"a resource as quotas have it":                   {match(map[string]any{"requests": []any{"requests.nvidia.com/gpu"}}), []string{`leave out "requests."`}},
		"a resource that is no name":                     {match(map[string]any{"requests": []any{"nvidia.com/g p u"}}), []string{`"nvidia.com/g p u" is not the name of an extended resource`}},
		"a namespace that is no name":                    {match(map[string]any{"namespaces": []any{"A B"}}), []string{`"A B" is not the name of a namespace`}},
		"a selector that is none":                        {match(map[string]any{"pod_selector": "a=(b"}), []string{"selector"}},
		"a selector that compares numbers":               {match(map[string]any{"pod_selector": "size>3"}), []string{`selectors of objects cannot compare numbers, as in "size>3"`}},
		"a name that is none":                            {map[string]any{"name": "Not A Name"}, []string{`"Not A Name" is no name`}},
		"an empty selector":                              {match(map[string]any{"namespace_selector": ""}), []string{"namespace_selector"}},
		"the same toleration twice":                      {map[string]any{"tolerations": acctest.TolerationObjects(t, "a:NoExecute@1 a:NoExecute@2")}, []string{`Unable to use toleration "a:NoExecute" twice`}},
		"a label that is none":                           {map[string]any{"pin": map[string]any{"a b": "c"}}, []string{`"a b" is not a qualified name`}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onFake(t, func(t *testing.T, s *stage) {
				acctest.WantAll(s.t, s.tf.Plan(t, fresh(), s.config(acctest.Name(t, "policy"), "team=a:NoSchedule", tt.more)).Diagnostics.Errors(), tt.says...)
			})
		})
	}
	t.Run("an operator that the provider block rules out", func(t *testing.T) {
		t.Parallel()
		onFake(t, func(t *testing.T, s *stage) {
			s.tf = &acctest.Terraform{Provider: acctest.With(s.tf.Provider, map[string]any{"comparison_operators": false})}
			acctest.WantAll(s.t, s.tf.Plan(t, fresh(), s.config(acctest.Name(t, "policy"), "team>5:NoSchedule", nil)).Diagnostics.Errors(),
				`[AttributeName("tolerations")] Unable to use the operator Gt in toleration "team>5:NoSchedule"`, "comparison_operators = false")
		})
	})
	t.Run("a policy that another writer has made", func(t *testing.T) {
		t.Parallel()
		onFake(t, func(t *testing.T, s *stage) {
			name := acctest.Name(t, "policy")
			t.Cleanup(func() { s.remove(name) })
			binding := &admissionregistrationv1.MutatingAdmissionPolicyBinding{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: admissionregistrationv1.MutatingAdmissionPolicyBindingSpec{PolicyName: "other"}}
			if _, err := s.c.Admin.AdmissionregistrationV1().MutatingAdmissionPolicyBindings().Create(t.Context(), binding, metav1.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
			acctest.WantAll(s.t, s.tf.Plan(t, fresh(), s.config(name, "team=a:NoSchedule", nil)).Diagnostics.Errors(), `[AttributeName("name")] Unable to plan toleration policy "`+name+`": the name is taken`, "It is not changed")
			_, d := s.tf.Import(t, "kubetaint_toleration_policy", name)
			acctest.WantAll(s.t, d.Errors(), `Unable to import toleration policy "`+name+`": the name is taken`)
		})
	})
}

// TestTolerationPolicy_aClusterWithoutPolicies names the version that has them, at plan
// and at apply, and loses no state.
func TestTolerationPolicy_aClusterWithoutPolicies(t *testing.T) {
	t.Parallel()
	messages.Expect(t, "the cluster does not serve")
	onFake(t, func(t *testing.T, s *stage) {
		i, config := fresh(), s.config(acctest.Name(t, "policy"), "team=a:NoSchedule", nil)
		planned := s.tf.Plan(t, fresh(), config)
		s.apply(i, config)
		// An API server that does not have them tells it in discovery.
		proxy := s.c.Proxy(t)
		tf := &acctest.Terraform{Provider: proxy.Provider(t, s.c)}
		proxy.Spoil(func(r acctest.Request) acctest.Fault {
			if r.Path == "/apis" || strings.HasPrefix(r.Path, "/apis/admissionregistration.k8s.io") {
				return acctest.Unserved
			}
			return acctest.None
		})
		const none = "the cluster does not serve MutatingAdmissionPolicy"
		acctest.WantAll(s.t, tf.Plan(t, fresh(), config).Diagnostics.Errors(), none, "from Kubernetes 1.36 on", "kubetaint_workload_tolerations")
		acctest.WantAll(s.t, tf.Carry(t, fresh(), planned, config).Errors(), none)
		// Taints are judged there as everywhere. Pods of other tests stay away from the node.
		node := acctest.Name(t, "node")
		s.c.Node(t, acctest.Node{Name: node, Taints: acctest.Parse(t, "own:NoSchedule")})
		if d := tf.Apply(t, &acctest.Instance{Type: "kubetaint_node_taints"}, map[string]any{"node_name": node, "taints": acctest.Objects(t, "team=a:NoExecute")}); len(d) > 0 {
			t.Fatalf("%s%s", d.Errors(), d.Warnings())
		}
	})
}

// TestTolerationPolicy_rights: without them a plan says so and names the guide, and a
// preview of taints reports what it cannot see.
func TestTolerationPolicy_rights(t *testing.T) {
	t.Parallel()
	messages.Expect(t, "The preview is not complete")
	onFake(t, func(t *testing.T, s *stage) {
		var rules []rbacv1.PolicyRule
		for _, rule := range s.c.Rights(t) {
			if rule.APIGroups[0] != "admissionregistration.k8s.io" {
				rules = append(rules, rule)
			}
		}
		tf := &acctest.Terraform{Provider: s.c.ProviderAt(t, s.c.REST.Host, s.c.TokenWith(t, rules...))}
		name := acctest.Name(t, "policy")
		acctest.WantAll(s.t, tf.Plan(t, fresh(), s.config(name, "team=a:NoSchedule", nil)).Diagnostics.Errors(), `Unable to plan toleration policy "`+name+`"`, `the guide "Permissions"`)
		node := acctest.Name(t, "node")
		s.c.Node(t, acctest.Node{Name: node, Labels: map[string]string{"pool": node}})
		s.c.Pod(t, s.namespace, "bare", node, nil)
		preview, d := tf.Data(t, "kubetaint_eviction_preview", map[string]any{"node_name": node, "taints": acctest.Objects(t, "team=a:NoExecute")})
		if d.Errors() != "" {
			t.Fatal(d.Errors())
		}
		markdown, _ := preview["markdown"].(string)
		if said := d.Warnings() + markdown; !strings.Contains(said, "MutatingAdmissionPolicies could not be read") {
			t.Fatalf("the preview does not say what it cannot see: %s", said)
		}
	})
}
