// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package acctest

import (
	"encoding/json"
	"strings"
	"testing"
)

// ReplacePrivate replaces a text in an instance's private state. The framework
// keeps each key's value in base64, which json sees as bytes.
func ReplacePrivate(t testing.TB, private []byte, from, to string) []byte {
	t.Helper()
	values := map[string][]byte{}
	must(t, json.Unmarshal(private, &values))
	found := false
	for key, value := range values {
		found = found || strings.Contains(string(value), from)
		values[key] = []byte(strings.ReplaceAll(string(value), from, to))
	}
	if !found {
		t.Fatalf("the private state does not hold %q", from)
	}
	out, err := json.Marshal(values)
	must(t, err)
	return out
}
