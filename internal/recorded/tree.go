// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package recorded

import (
	"maps"
	"slices"
	"strconv"
	"strings"
)

// tree is the fields of an object that are kept, by name: nil for one that is a text, a number or a truth
// value, or a list of these, and what is kept of those that are objects. A list has what the tree says of
// each of its elements.
type tree map[string]tree

// Names that no field has, for trees that are no list of fields.
const (
	anyName    = "\x00any"
	anyContent = "\x00content"
	onlyNumber = "\x00number"
	anAmount   = "\x00amount"
)

var (
	// presence is a field of which is kept that it is there.
	presence = tree{}
	// whole is a field that is kept with all that is in it.
	whole = tree{anyContent: nil}
	// texts is an object whose fields have any name and are texts or numbers, such as labels.
	texts = tree{anyName: nil}
	// amounts is an object whose fields have any name and are amounts, such as requests.
	amounts = tree{anyName: amount}
	// amount is an amount.
	amount = tree{anAmount: nil}
	// number is a number, or a text of one.
	number = tree{onlyNumber: nil}
)

// values is fields that are no objects.
func values(names ...string) tree {
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

// named returns what is kept of a field.
func (t tree) named(name string) (inner tree, kept bool) {
	if inner, kept = t[name]; !kept {
		inner, kept = t[anyName]
	}
	return inner, kept
}

// is reports whether a tree is one of those that are no list of fields.
func (t tree) is(form string) bool {
	_, is := t[form]
	return is
}

// of returns what is kept of a value, and false where nothing is, as of a value of another type.
func (t tree) of(value any) (any, bool) {
	switch {
	case t == nil, t.is(anAmount):
		return value, plain(value)
	case t.is(anyContent):
		return value, true
	case t.is(onlyNumber):
		return value, numeric(value)
	}
	switch v := value.(type) {
	case map[string]any:
		return t.fields(v), true
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

func (t tree) fields(object map[string]any) map[string]any {
	out := map[string]any{}
	for name, content := range object {
		inner, is := t.named(name)
		if !is || content == nil {
			continue
		}
		if kept, is := inner.of(content); is {
			out[name] = kept
		}
	}
	return out
}

// plain reports whether a value is neither an object nor a list with objects.
func plain(value any) bool {
	switch v := value.(type) {
	case map[string]any:
		return false
	case []any:
		return !slices.ContainsFunc(v, func(one any) bool {
			switch one.(type) {
			case map[string]any, []any:
				return true
			}
			return false
		})
	}
	return true
}

// numeric reports whether a value is a number, or a text of one.
func numeric(value any) bool {
	switch v := value.(type) {
	case int64, float64:
		return true
	case string:
		_, err := strconv.ParseInt(v, 10, 64)
		return err == nil
	}
	return false
}

// managed returns what is kept of managed fields: the names of the fields that are kept of the object.
// A field that holds others is never empty afterwards: it would read as one that is owned whole
// (internal/workload/writers.go, ownsWhole).
func (t tree) managed(owned map[string]any) map[string]any {
	out := map[string]any{}
	for name, content := range owned {
		inner, isObject := content.(map[string]any)
		field, is := strings.CutPrefix(name, "f:")
		below, kept := t.named(field)
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
