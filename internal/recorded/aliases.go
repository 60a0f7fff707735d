// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package recorded

import (
	"bytes"
	"errors"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

var errAliased = errors.New("it has aliases in YAML, which kubectl does not write: use kubectl get -o json")

// withoutAliases returns an error for a document with aliases, which would become as many copies of what they stand
// for, and for one that cannot be read. Most documents are not parsed for it: they have no sign of an alias.
func withoutAliases(document []byte) error {
	if !hasSign(document, '&') || !hasSign(document, '*') {
		return nil
	}
	var root yaml.Node
	if err := yaml.Unmarshal(document, &root); err != nil {
		return err
	}
	if aliased(&root) {
		return errAliased
	}
	return nil
}

// hasSign reports whether an anchor (&) or an alias (*) may begin somewhere in a document: before it is white space
// or what begins a value, and after it a letter, a digit, _ or - (go.yaml.in/yaml/v3 v3.0.4 scannerc.go,
// yaml_parser_scan_anchor).
func hasSign(document []byte, sign byte) bool {
	for at := 0; ; at++ {
		next := bytes.IndexByte(document[at:], sign)
		if next < 0 {
			return false
		}
		at += next
		// Byte order marks and some line breaks are no ASCII.
		begins := at == 0 || document[at-1] >= 0x80 || strings.IndexByte(" \t\r\n[{,:?", document[at-1]) >= 0
		if named := at+1 < len(document) && (alphanumeric(document[at+1]) || document[at+1] == '_' || document[at+1] == '-'); begins && named {
			return true
		}
	}
}

func aliased(n *yaml.Node) bool {
	return n.Kind == yaml.AliasNode || slices.ContainsFunc(n.Content, aliased)
}
