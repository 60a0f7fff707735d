// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package tolerationpolicy_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/admission"
)

func TestTolerationPolicy_import(t *testing.T) {
	t.Parallel()
	onFake(t, func(t *testing.T, s *stage) {
		name := acctest.Name(t, "policy")
		config := s.config(name, "team=a:NoSchedule spot*:NoExecute@7", map[string]any{
			"match": map[string]any{"namespaces": []any{s.namespace}, "requests": []any{"example.com/gpu"}, "pod_selector": "app=x"}, "pin": map[string]any{"pool": "a"}, "failure_policy": "Fail",
		})
		s.apply(fresh(), config)
		i, d := s.tf.Import(t, "kubetaint_toleration_policy", name)
		if d.Errors() != "" {
			t.Fatal(d.Errors())
		}
		// By its identity as by its id.
		again, d := s.tf.ImportAgain(t, i)
		if d.Errors() != "" {
			t.Fatal(d.Errors())
		}
		for _, one := range []*acctest.Instance{i, again} {
			if planned := s.tf.Plan(t, one, config); !planned.Empty || len(planned.Diagnostics) > 0 {
				t.Fatalf("a plan right after the import is not empty: %s%s", planned.Diagnostics.Errors(), planned.Diagnostics.Warnings())
			}
		}
		s.tf.Destroy(s.t, i)
		s.gone(name)

		_, d = s.tf.Import(t, "kubetaint_toleration_policy", name)
		acctest.WantAll(s.t, d.Errors(), `Unable to import toleration policy "`+name+`"`, "There is none of this name")
	})
}

// TestTolerationPolicy_anInvalidMatchIsDestroyed: another writer may have left a match that no configuration can have.
func TestTolerationPolicy_anInvalidMatchIsDestroyed(t *testing.T) {
	t.Parallel()
	onFake(t, func(t *testing.T, s *stage) {
		name, i := acctest.Name(t, "policy"), fresh()
		s.apply(i, s.config(name, "team=a:NoSchedule", map[string]any{"match": map[string]any{"namespaces": []any{s.namespace}}}))
		var content map[string]any
		if err := json.Unmarshal([]byte(s.policy(name).Annotations[admission.PolicyAnnotation]), &content); err != nil {
			t.Fatal(err)
		}
		content["match"] = map[string]any{}
		edited, err := json.Marshal(content)
		if err != nil {
			t.Fatal(err)
		}
		patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": map[string]any{admission.PolicyAnnotation: string(edited)}}})
		if err != nil {
			t.Fatal(err)
		}
		s.patchPolicy(name, string(patch))
		if d := s.tf.Apply(t, i, nil); d.Errors() != "" {
			t.Fatal(d.Errors())
		}
		s.gone(name)
	})
}

// TestTolerationPolicy_aReplacementAdoptsNothing: the half that creates is planned with the private state of what is
// replaced, which has made the policy.
func TestTolerationPolicy_aReplacementAdoptsNothing(t *testing.T) {
	t.Parallel()
	onFake(t, func(t *testing.T, s *stage) {
		i := fresh()
		config := s.config(acctest.Name(t, "policy"), "team=a:NoSchedule", map[string]any{"match": map[string]any{"namespaces": []any{s.namespace}}})
		s.apply(i, config)
		replacement := &acctest.Instance{Type: i.Type, Private: i.Private}
		if said := s.tf.Walk(t).Plan(replacement, config).Diagnostics.Warnings(); strings.Contains(said, "adopts") {
			t.Errorf("it says %s", said)
		}
	})
}
