// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package namespacetolerations_test

import (
	"strings"
	"testing"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/admission"
)

// TestNamespaceTolerations_importedEntriesStayOwned has a configuration drop one of two imported
// entries: that update writes nothing, and so the other one gets no mark.
func TestNamespaceTolerations_importedEntriesStayOwned(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		next []string
		want string
	}{
		"a destroy removes the entry":                        {nil, "more Exists"},
		"a change of its seconds is written":                 {[]string{"team=a:NoExecute@5"}, "team=a:NoExecute for 5s, more Exists"},
		"a destroy removes the entry after two such applies": {[]string{"team=a:NoExecute", ""}, "more Exists"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			acctest.OnFake(t, func(t *testing.T, c *acctest.Cluster) {
				s := stageOn(t, c)
				s.annotate(map[string]*string{admission.DefaultsAnnotation: new(`[{"key":"team","operator":"Equal","value":"a","effect":"NoExecute"},{"key":"more","operator":"Exists"}]`)})
				i, d := s.tf.Import(t, "kubetaint_namespace_tolerations", s.namespace)
				if d.Errors() != "" {
					t.Fatal(d.Errors())
				}
				s.tf.Settle(t, i, s.config("team=a:NoExecute", ""))
				s.want("team=a:NoExecute, more Exists", "", 0)
				destroy := len(tt.next) == 0
				for _, next := range tt.next {
					if destroy = next == ""; !destroy {
						s.tf.Settle(t, i, s.config(next, ""))
					}
				}
				marks := 1
				if destroy {
					s.tf.Destroy(t, i)
					marks = 0
				}
				s.want(tt.want, "", marks)
			})
		})
	}
}

// TestNamespaceTolerations_importedEntriesOfTheAllowedListStayOwned has the same of the other list.
func TestNamespaceTolerations_importedEntriesOfTheAllowedListStayOwned(t *testing.T) {
	t.Parallel()
	acctest.OnFake(t, func(t *testing.T, c *acctest.Cluster) {
		s := stageOn(t, c)
		s.annotate(map[string]*string{admission.WhitelistAnnotation: new(theirAllowed)})
		i, d := s.tf.Import(t, "kubetaint_namespace_tolerations", s.namespace)
		if d.Errors() != "" {
			t.Fatal(d.Errors())
		}
		s.tf.Settle(t, i, s.config("", "theirs*"))
		s.want("", theirAllowedEntries, 0)
		s.tf.Destroy(t, i)
		s.want("", "node.kubernetes.io/not-ready Exists, node.kubernetes.io/unreachable Exists", 0)
	})
}

// TestNamespaceTolerations_anImportBesideAnotherResourceIsRefused: an import takes the entries that
// have this provider's owner, and applying the configuration for another entry would remove them.
func TestNamespaceTolerations_anImportBesideAnotherResourceIsRefused(t *testing.T) {
	t.Parallel()
	acctest.OnFake(t, func(t *testing.T, c *acctest.Cluster) {
		s, first := stageOn(t, c), fresh()
		s.annotate(map[string]*string{admission.DefaultsAnnotation: new(`[{"key":"more","operator":"Exists"}]`)})
		s.tf.Settle(t, first, s.config("team=a:NoSchedule", ""))
		imported, d := s.tf.Import(t, "kubetaint_namespace_tolerations", s.namespace)
		if d.Errors() != "" {
			t.Fatal(d.Errors())
		}
		for _, config := range []map[string]any{s.config("more*", ""), nil} {
			w := s.tf.Walk(t)
			d := append(w.Plan(first, s.config("team=a:NoSchedule", "")).Diagnostics, w.Plan(imported, config).Diagnostics...)
			acctest.WantAll(t, d.Errors(), `Unable to manage the entries of "terraform/namespace_tolerations/`+s.namespace+`/team=a:NoSchedule;" twice`)
		}
	})
}

// TestNamespaceTolerations_eachOfTwoResourcesIsImportedByItsID: the name of the namespace names both.
func TestNamespaceTolerations_eachOfTwoResourcesIsImportedByItsID(t *testing.T) {
	t.Parallel()
	acctest.OnFake(t, func(t *testing.T, c *acctest.Cluster) {
		s := stageOn(t, c)
		id := func(entries string) string { return "terraform/namespace_tolerations/" + s.namespace + "/" + entries }
		entries := map[string]string{"a*": id("a Exists;"), "b*": id("b Exists;")}
		for wanted := range entries {
			s.tf.Settle(t, fresh(), s.config(wanted, ""))
		}
		_, d := s.tf.Import(t, fresh().Type, s.namespace)
		acctest.WantAll(t, d.Errors(), "Unable to import tolerations of namespace \""+s.namespace+"\": several resources own some of them", id("a Exists;"), id("b Exists;"))
		for wanted, id := range entries {
			i, d := s.tf.Import(t, fresh().Type, id)
			if d.Errors() != "" {
				t.Fatal(d.Errors())
			}
			s.tf.Settle(t, i, s.config(wanted, ""))
			s.tf.Destroy(t, i)
		}
		s.want("", "", 0)
	})
}

// TestNamespaceTolerations_aReplacementAdoptsNothing: the half that creates is planned with the private state of what is
// replaced, which has written the entries.
func TestNamespaceTolerations_aReplacementAdoptsNothing(t *testing.T) {
	t.Parallel()
	acctest.OnFake(t, func(t *testing.T, c *acctest.Cluster) {
		s, i := stageOn(t, c), fresh()
		config := s.config("team=a:NoSchedule", "")
		s.tf.Settle(t, i, config)
		replacement := &acctest.Instance{Type: i.Type, Private: i.Private}
		if said := s.tf.Walk(t).Plan(replacement, config).Diagnostics.Warnings(); strings.Contains(said, "adopts") {
			t.Errorf("it says %s", said)
		}
	})
}
