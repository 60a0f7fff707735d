// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package label

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestFormat_writesLabelsInTheOrderOfTheirKeys(t *testing.T) {
	t.Parallel()
	for want, labels := range map[string]map[string]string{"": nil, "a=1": {"a": "1"}, "a=2, b=, c=1": {"c": "1", "a": "2", "b": ""}} {
		if got := Format(labels); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// TestMerge_recordsMarksInTheOrderOfTheirKeys, so that nothing changes where nothing does.
func TestMerge_recordsMarksInTheOrderOfTheirKeys(t *testing.T) {
	t.Parallel()
	claim := Claim{Owner: "me", Generation: "g", Labels: map[string]string{"a": "", "b": "", "c": "", "d": "", "e": "", "f": "", "g": "", "h": ""}}
	var keys []string
	for _, mark := range Merge(nil, nil, claim).Record {
		keys = append(keys, mark.Key)
	}
	if diff := cmp.Diff([]string{"a", "b", "c", "d", "e", "f", "g", "h"}, keys); diff != "" {
		t.Error(diff)
	}
}
