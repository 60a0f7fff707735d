// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package admission

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// TestObjectSelector_matchesWhatKubectlMatches compares both forms on labels.
func TestObjectSelector_matchesWhatKubectlMatches(t *testing.T) {
	t.Parallel()
	for _, s := range []string{"a=1", "a==1", "a!=1", "a=1,a=2", "a=1,b!=2", "a in (2,1)", "a notin (1,2)", "a", "!a", "a=1,a!=1", "a=,b"} {
		t.Run(s, func(t *testing.T) {
			t.Parallel()
			object, err := ObjectSelector(s)
			if err != nil {
				t.Fatal(err)
			}
			got, err := metav1.LabelSelectorAsSelector(object)
			if err != nil {
				t.Fatal(err)
			}
			want, err := labels.Parse(s)
			if err != nil {
				t.Fatal(err)
			}
			for _, has := range []labels.Set{{}, {"a": "1"}, {"a": "2"}, {"a": ""}, {"b": "1"}, {"a": "1", "b": "1"}, {"a": "1", "b": "2"}, {"a": "", "b": "2"}} {
				if got.Matches(has) != want.Matches(has) {
					t.Errorf("of %v, the object matches: %t, kubectl: %t", has, got.Matches(has), want.Matches(has))
				}
			}
		})
	}
}

func TestObjectSelector_errors(t *testing.T) {
	t.Parallel()
	for s, want := range map[string]string{
		"a>1":    `selectors of objects cannot compare numbers, as in "a>1"`,
		"a<1":    `selectors of objects cannot compare numbers, as in "a<1"`,
		"a in (": `"a in (" is no label selector`,
	} {
		if _, err := ObjectSelector(s); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: the error is %v, want %q", s, err, want)
		}
	}
}
