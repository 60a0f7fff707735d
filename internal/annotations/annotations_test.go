// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package annotations

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/record"
)

// The API server's own function decides which annotations are too large.
func TestTooLarge_agreesWithTheAPIServer(t *testing.T) {
	t.Parallel()
	const owned, labels = "kubetaint.io/owned-taints", "kubetaint.io/owned-labels"
	for name, tt := range map[string]struct {
		others, owned, labels int
		want                  bool
	}{
		"none":                        {0, 0, 0, false},
		"alone, up to the limit":      {0, record.Most - len(owned), 0, false},
		"alone, with its key":         {0, record.Most - len(owned) + 1, 0, true},
		"with others, up to it":       {100_000, record.Most - len(owned) - 100_000, 0, false},
		"with others, beyond it":      {100_000, record.Most - len(owned) - 99_999, 0, true},
		"two of them":                 {0, 150_000, 140_000, true},
		"one that is gone has no key": {record.Most - len(labels) - 10, 0, 10, false},
	} {
		all := map[string]string{}
		for key, size := range map[string]int{"o": tt.others, owned: tt.owned, labels: tt.labels} {
			if key == "o" {
				size--
			}
			if size > 0 {
				all[key] = strings.Repeat("x", size)
			}
		}
		others := Others(all, owned, labels)
		if others != tt.others {
			t.Fatalf("%s: others have %d bytes, want %d", name, others, tt.others)
		}
		got := TooLarge(others, map[string]string{owned: all[owned], labels: all[labels]})
		if theirs := validation.ValidateAnnotations(all, field.NewPath("annotations")); (got != "") != tt.want || (len(theirs) > 0) != tt.want {
			t.Errorf("%s: it reports %q, and the API server %v", name, got, theirs)
		}
		if tt.want && !strings.Contains(got, owned+" would have") {
			t.Errorf("%s: it reports %q, which should name the largest", name, got)
		}
	}
}
