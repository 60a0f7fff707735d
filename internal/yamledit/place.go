// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package yamledit

import (
	"cmp"
	"iter"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// place is a field of a mapping. The zero place is the text itself.
type place struct {
	key, value *yaml.Node
	// parent is the mapping that holds the field, and up the field that holds that.
	parent *yaml.Node
	up     *place
}

// mapping returns the mapping in which the next field stands, nil where the value is none.
func (d *Document) mapping(at place) *yaml.Node {
	switch {
	case at.value == nil:
		return d.root
	case at.value.Kind == yaml.MappingNode:
		return at.value
	}
	return nil
}

// find returns the field at a path; where there is none, or one that holds nothing, the innermost
// field on the way to it, with the rest of the path. Errors: *Error.
func (d *Document) find(path []string) (at place, rest []string, found bool, err error) {
	for i, name := range path {
		in := d.mapping(at)
		if in == nil && (at.value == nil || null(at.value)) {
			return at, path[i:], false, nil
		}
		if in == nil {
			return at, nil, false, &Error{at.value.Line, JoinPath(path[:i]) + " is not a mapping"}
		}
		next, there := field(in, name)
		if line := shared(in, next.value); line > 0 {
			return at, nil, false, &Error{line, "an anchor, an alias or a merge key (&, *, <<) is used at " + JoinPath(path[:i+1]) + ": write it out, because a change there would change other places as well"}
		}
		if !there {
			return at, path[i:], false, nil
		}
		if up := at; up.key != nil {
			next.up = &up
		}
		at = next
	}
	return at, nil, !null(at.value), nil
}

func field(mapping *yaml.Node, name string) (place, bool) {
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		if key := mapping.Content[i]; key.Kind == yaml.ScalarNode && key.Value == name {
			return place{key: key, value: mapping.Content[i+1], parent: mapping}, true
		}
	}
	return place{}, false
}

// shared returns the line where text is used in more than one place, 0 for nowhere.
func shared(mapping, value *yaml.Node) int {
	for i := 0; i < len(mapping.Content); i += 2 {
		if mapping.Content[i].ShortTag() == "!!merge" {
			return mapping.Content[i].Line
		}
	}
	if value != nil && (value.Kind == yaml.AliasNode || value.Anchor != "") {
		return value.Line
	}
	return 0
}

func null(node *yaml.Node) bool {
	return node.Kind == yaml.ScalarNode && node.ShortTag() == "!!null"
}

func flow(node *yaml.Node) bool { return node.Style&yaml.FlowStyle != 0 }

// offset is where a node begins in the text.
func (d *Document) offset(node *yaml.Node) int {
	out := 0
	for _, line := range d.lines[:node.Line-1] {
		out += len(line)
	}
	line := d.lines[node.Line-1]
	for range node.Column - 1 {
		_, size := utf8.DecodeRuneInString(line)
		line, out = line[size:], out+size
	}
	return out
}

// newline is how lines end.
func (d *Document) newline() string {
	if strings.Contains(d.text, "\r\n") {
		return "\r\n"
	}
	return "\n"
}

func sorted[V any](m map[string]V) iter.Seq2[string, V] {
	return func(yield func(string, V) bool) {
		for _, key := range slices.SortedFunc(maps.Keys(m), cmp.Compare[string]) {
			if !yield(key, m[key]) {
				return
			}
		}
	}
}
