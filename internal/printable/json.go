// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package printable

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// JSON returns an error for a JSON text with a string, or a name of a field, that Line would print in
// another form. What this provider records in annotations are names, ids and keys, which all print as
// they are: such a string was written by another writer, and messages would print it. A text that
// is not JSON is left to its parser. Errors: one that quotes the string as Line prints it.
func JSON(text string) error {
	if harmless(text) {
		return nil
	}
	tokens := json.NewDecoder(strings.NewReader(text))
	for {
		token, err := tokens.Token()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return nil //nolint:nilerr // The parser reports it.
		}
		if s, is := token.(string); is && legible(s) != s {
			return fmt.Errorf("it holds a text that cannot be printed as it is: %q", Line(s))
		}
	}
}

// harmless reports whether no string of a JSON text can need a look: nothing in it is escaped.
func harmless(text string) bool {
	for i := range len(text) {
		if c := text[i]; c < ' ' || c > '~' || c == '\\' || c == '#' || c == ':' && i+1 < len(text) && text[i+1] == ':' {
			return false
		}
	}
	return true
}
