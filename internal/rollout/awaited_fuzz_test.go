// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package rollout

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// FuzzParseAwaited: whatever is in the annotation, an entry that is read is one that a drain may
// have written, it is written back the same, what is lost is an error, and no error quotes it.
func FuzzParseAwaited(f *testing.F) {
	f.Add(webAwaited)
	f.Add(`[{"group":"batch","kind":"Job","namespace":"shop","name":"train","job":"u1","pods":2},{"kind":"DaemonSet"},null]`)
	f.Add(`[{"kind":"ReplicationController","namespace":"a b","name":"web","pods":1e400}]`)
	f.Add(`[{"kind":"Pod","namespace":"shop","name":"../web\u202e","pods":-1}]`)
	f.Add(`{"kind":1}`)
	f.Add("null")
	f.Fuzz(func(t *testing.T, value string) {
		all, err := parseAwaited(value)
		if err != nil && strings.ContainsAny(err.Error(), "\"\n\x1b") {
			t.Fatalf("the error is %q", err)
		}
		var raw []any
		if json.Unmarshal([]byte(value), &raw) == nil && err == nil && len(raw) != len(all) {
			t.Fatalf("of %d entries %d are read", len(raw), len(all))
		}
		for _, one := range all {
			if why := one.damage(); why != "" {
				t.Fatalf("%+v is read, and it %s", one, why)
			}
		}
		body, failed := json.Marshal(all)
		if failed != nil || len(body) > mostRecordBytes {
			return
		}
		if again, err := parseAwaited(string(body)); err != nil || cmp.Diff(all, again) != "" && len(all) > 0 {
			t.Fatalf("%s is read as %v (%v)", body, again, err)
		}
	})
}
