// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package faults_test

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/label"
	taints "github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/fakeapi"
	tolerations "github.com/kubetaint/terraform-provider-kubetaint/internal/toleration"
)

// TestHostileGenerations has another writer add a mark with the resource's id and another generation to one of the
// records that the resource reads, and its private state is lost: neither generation is taken for its own, and
// nothing is written.
func TestHostileGenerations(t *testing.T) {
	t.Parallel()
	for _, s := range hostileSubjects() {
		if s.action || !due(s) && s.strategy != "machine_sets in_place" || s.strategy == "absent_taints" {
			continue
		}
		t.Run(s.name(), func(t *testing.T) {
			t.Parallel()
			start, tried := settle(t, s), 0
			lost := start.instance
			lost.Private = nil
			for _, o := range annotatedObjects(start.api) {
				for _, annotation := range []string{taints.OwnedAnnotation, label.OwnedAnnotation, tolerations.OwnedAnnotation} {
					value, forged := o.annotations[annotation], ""
					if slices.Contains(s.reads(o), annotation) {
						forged = withAnotherGeneration(t, value)
					}
					if forged == "" {
						continue
					}
					tried++
					t.Run(o.title()+" "+annotation, func(t *testing.T) {
						bubble(t, start.moment, func(t *testing.T, api *fakeapi.Server) {
							all := annotatedObjects(api)
							at := slices.IndexFunc(all, func(one annotated) bool { return one.title() == o.title() && string(one.json()) == string(o.json()) })
							all[at].annotations[annotation] = forged
							all[at].put(all[at].annotations)
							time.Sleep(time.Second)
							before, tf := contents(api), through(api.Client())
							for _, d := range []acctest.Diagnostics{tf.Plan(t, new(lost), s.second).Diagnostics, tf.Apply(t, new(lost), s.second), tf.Apply(t, new(lost), nil)} {
								acctest.WantAll(t, d.Errors(), "Unable to determine which ownership records of", `generation "another": `, o.name)
							}
							if diff := cmp.Diff(before, contents(api)); diff != "" {
								t.Errorf("something is written: %s", diff)
							}
						})
					})
				}
			}
			if tried == 0 && s.typeName != "toleration_policy" {
				t.Error("no record has a mark")
			}
		})
	}
}

// withAnotherGeneration adds a copy of a mark of a record, about another key and with another generation; "" where
// there is no mark.
func withAnotherGeneration(t *testing.T, value string) string {
	t.Helper()
	var marks []map[string]any
	if value == "" {
		return ""
	}
	if err := json.Unmarshal([]byte(value), &marks); err != nil {
		t.Fatal(err)
	}
	if len(marks) == 0 {
		return ""
	}
	raw, err := json.Marshal(marks[0])
	if err != nil {
		t.Fatal(err)
	}
	var another map[string]any
	if err := json.Unmarshal([]byte(replaced(t, replaced(t, string(raw), "generation", "another"), "key", "another")), &another); err != nil {
		t.Fatal(err)
	}
	out, err := json.Marshal(append(marks, another))
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// contents are all objects that may carry a record, without their status.
func contents(api *fakeapi.Server) []map[string]any {
	var out []map[string]any
	for _, o := range annotatedObjects(api) {
		out = append(out, content(o.json()))
	}
	return out
}
