// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package printable

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestJSON(t *testing.T) {
	t.Parallel()
	for text, refused := range map[string]bool{
		"": false,
		`[{"owner":"terraform/node_taints/selector/pool in (a,b)/x:NoExecute","n":1,"b":true,"v":null}]`: false,
		`{"id":"a\u003eb","at":"2026-01-01T00:00:00Z"}`:                                                  false,
		`["` + strings.Repeat("x y,", most) + `"]`:                                                       false,
		`["a#b"]`:            false,
		`["` + "ü" + `"]`:    false,
		`{"a":[["x\ny"]]}`:   true,
		`["x\u001b[31m"]`:    true,
		`["a\u202eb"]`:       true,
		"[\"a\u202eb\"]":     true,
		`["::error::x"]`:     true,
		`["a ##[error]b"]`:   true,
		`["##teamcity[x]"]`:  true,
		`{"a\nb":1}`:         true,
		`["\u003a:error::"]`: true,
		// The parser refuses these.
		`["x`:   false,
		`nil::`: false,
	} {
		err := JSON(text)
		if (err != nil) != refused {
			t.Errorf("%.60q: %v", text, err)
		}
		if err != nil && Line(err.Error()) != err.Error() {
			t.Errorf("the error itself cannot be printed: %q", err)
		}
	}
}

// FuzzJSON: what passes holds nothing that Line would change, and its error prints as it is.
func FuzzJSON(f *testing.F) {
	f.Add("x\n::error::y")
	f.Add("terraform/node_taints/node/a/x:NoExecute")
	f.Add("##[x]\u202e\x1b\xff")
	f.Fuzz(func(t *testing.T, text string) {
		raw, err := json.Marshal([]any{map[string]string{"owner": text}})
		if err != nil {
			t.Skip()
		}
		var read []map[string]string
		if err := json.Unmarshal(raw, &read); err != nil {
			t.Fatal(err)
		}
		refused := JSON(string(raw))
		if fits := legible(read[0]["owner"]) == read[0]["owner"]; fits != (refused == nil) {
			t.Fatalf("%q: %v", text, refused)
		}
		if refused != nil && strings.ContainsAny(refused.Error(), "\n\x1b\u202e") {
			t.Fatalf("the error is %q", refused)
		}
	})
}
