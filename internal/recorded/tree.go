// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package recorded

import (
	"maps"
	"strings"
)

// tree is the fields of an object that are kept, by name: nil for one that is kept whole, and what is
// kept of those that are objects. A list has what the tree says of each of its elements.
type tree map[string]tree

// presence is a field of which is kept that it is there.
var presence = tree{"-": nil}

// whole is fields that are kept whole.
func whole(names ...string) tree {
	out := tree{}
	for _, name := range names {
		out[name] = nil
	}
	return out
}

// with adds fields that are kept in part.
func (t tree) with(inner tree) tree {
	out := maps.Clone(t)
	maps.Copy(out, inner)
	return out
}

// of returns what is kept of a value, and false where nothing is: where the tree has fields of an
// object and the value is neither an object nor a list.
func (t tree) of(value any) (any, bool) {
	if t == nil {
		return value, true
	}
	switch v := value.(type) {
	case map[string]any:
		out := map[string]any{}
		for name, inner := range t {
			content, there := v[name]
			if !there || content == nil {
				continue
			}
			if kept, is := inner.of(content); is {
				out[name] = kept
			}
		}
		return out, true
	case []any:
		out := make([]any, 0, len(v))
		for _, one := range v {
			// A place that is dropped would move those after it.
			kept, is := t.of(one)
			if !is {
				kept = map[string]any{}
			}
			out = append(out, kept)
		}
		return out, true
	}
	return nil, false
}

// managed returns what is kept of managed fields: the names of the fields that are kept of the object.
// A field that holds others is never empty afterwards: it would read as one that is owned whole
// (internal/workload/writers.go, ownsWhole).
func (t tree) managed(owned map[string]any) map[string]any {
	out := map[string]any{}
	for name, content := range owned {
		inner, isObject := content.(map[string]any)
		field, is := strings.CutPrefix(name, "f:")
		below, kept := t[field]
		switch {
		case name == ".":
			out[name] = map[string]any{}
		case !is || !kept || !isObject:
		case below == nil:
			out[name] = tree{}.managed(inner)
		default:
			out[name] = below.managed(inner)
		}
	}
	if len(out) == 0 && len(owned) > 0 {
		out["f:-"] = map[string]any{}
	}
	return out
}
