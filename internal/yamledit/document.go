// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package yamledit

import (
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// Error reports that a text cannot be read, or cannot be changed without touching more than what is
// to be changed.
type Error struct {
	// Line is where, from 1; 0 where that is not known.
	Line    int
	Message string
}

// Error returns the message with its place.
func (e *Error) Error() string {
	if e.Line == 0 {
		return e.Message
	}
	return fmt.Sprintf("line %d: %s", e.Line, e.Message)
}

// Field is one field of an entry of a list: a string or a whole number.
type Field struct {
	Name  string
	Value any
}

// Entry is an entry of a list: an object with its fields in the order in which they are written.
type Entry []Field

// Document is a text that holds one mapping, or nothing.
type Document struct {
	text  string
	lines []string
	// root is nil where the text holds nothing but comments.
	root  *yaml.Node
	value map[string]any
}

// Parse reads a text. Errors: *Error.
func Parse(text string) (*Document, error) {
	d := &Document{text: text, lines: strings.SplitAfter(text, "\n")}
	if last := len(d.lines) - 1; d.lines[last] == "" {
		d.lines = d.lines[:last]
	}
	var document, another yaml.Node
	decoder := yaml.NewDecoder(strings.NewReader(text))
	switch err := decoder.Decode(&document); {
	case errors.Is(err, io.EOF):
		return d, nil
	case err != nil:
		return nil, &Error{Message: strings.TrimPrefix(err.Error(), "yaml: ")}
	case !errors.Is(decoder.Decode(&another), io.EOF):
		return nil, &Error{Message: "there is more than one document"}
	}
	root := document.Content[0]
	if root.ShortTag() == "!!null" && root.Value == "" {
		return d, nil
	}
	var value any
	if err := document.Decode(&value); err != nil {
		return nil, &Error{Message: strings.TrimPrefix(err.Error(), "yaml: ")}
	}
	fields, isMap := plain(value).(map[string]any)
	if !isMap {
		return nil, &Error{Line: root.Line, Message: "it is not a mapping whose keys are strings"}
	}
	d.root, d.value = root, fields
	return d, nil
}

// Value returns all that the text holds, as JSON has it, with whole numbers as int64.
func (d *Document) Value() map[string]any { return d.value }

// plain returns a decoded value with numbers as they are in objects of the API.
func plain(value any) any {
	switch v := value.(type) {
	case int:
		return int64(v)
	case time.Time:
		return v.Format(time.RFC3339)
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = plain(v[i])
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for name := range v {
			out[name] = plain(v[name])
		}
		return out
	}
	return value
}

// SetList returns the text in which the list at a path has these entries, and no list is there where
// there are none. Entries that are there already keep their text. Errors: *Error.
func (d *Document) SetList(path []string, list []Entry) (string, error) {
	wanted := make([]any, len(list))
	for i, entry := range list {
		wanted[i] = entry.value()
	}
	at, rest, found, err := d.find(path)
	if err != nil {
		return "", err
	}
	text := d.text
	switch {
	case !found && len(list) == 0:
	case !found:
		text, err = d.insert(at, rest, content{list: list})
	case at.value.Kind != yaml.SequenceNode:
		err = &Error{at.value.Line, JoinPath(path) + " is not a list"}
	case len(list) == 0:
		text, err = d.remove(at)
	case flow(at.value):
		text, err = d.changeFlowList(at.value, list, wanted)
	default:
		text = d.changeBlockList(at.value, list, wanted)
	}
	if err != nil {
		return "", err
	}
	var value any
	if len(list) > 0 {
		value = wanted
	}
	return text, d.proves(text, path, value)
}

// SetFields returns the text in which the map at a path has these strings, and lacks the fields that
// are nil. A map that has no field then goes. Errors: *Error.
func (d *Document) SetFields(path []string, changes map[string]*string) (string, error) {
	now := d
	for name, value := range sorted(changes) {
		for _, v := range []*string{nil, value} {
			next, err := now.setField(path, name, v)
			if err != nil {
				return "", err
			}
			now = next
		}
	}
	before, _ := at(d.value, path).(map[string]any)
	after := map[string]any{}
	for name, value := range before {
		after[name] = value
	}
	for name, value := range changes {
		if delete(after, name); value != nil {
			after[name] = *value
		}
	}
	var value any
	if len(after) > 0 {
		value = after
	}
	return now.text, d.proves(now.text, path, value)
}

// setField removes a field, or adds one that is not there.
func (d *Document) setField(path []string, name string, value *string) (*Document, error) {
	at, rest, _, err := d.find(append(slices.Clone(path), name))
	if err != nil {
		return nil, err
	}
	text := d.text
	switch last := len(rest) == 0 && at.up != nil && len(at.parent.Content) == 2; {
	case value != nil:
		text, err = d.insert(at, rest, content{scalar: value})
	case last:
		// A map that is there and empty may mean something else than none.
		text, err = d.remove(*at.up)
	case len(rest) == 0:
		text, err = d.remove(at)
	}
	if err != nil {
		return nil, err
	}
	return Parse(text)
}

// proves makes sure that a text holds what the document holds, but for the value at a path; nil is
// none. What holds nothing may be there or not.
func (d *Document) proves(text string, path []string, value any) error {
	after, err := Parse(text)
	if err != nil {
		return &Error{Message: "the change would damage it: " + err.Error()}
	}
	want := with(d.value, path, value)
	if !reflect.DeepEqual(filled(want), filled(after.value)) {
		return &Error{Message: "it cannot be changed at " + JoinPath(path) + " without touching the rest: write it in a simpler way"}
	}
	return nil
}

// value returns the entry as Parse would.
func (e Entry) value() map[string]any {
	out := map[string]any{}
	for _, f := range e {
		out[f.Name] = f.Value
	}
	return out
}

// at returns the value at a path, nil where there is none.
func at(value map[string]any, path []string) any {
	var now any = value
	for _, name := range path {
		fields, _ := now.(map[string]any)
		now = fields[name]
	}
	return now
}

// with returns a copy with a value at a path; nil takes it away.
func with(fields map[string]any, path []string, value any) map[string]any {
	out := map[string]any{}
	for name, v := range fields {
		out[name] = v
	}
	switch {
	case len(path) > 1:
		inner, _ := out[path[0]].(map[string]any)
		out[path[0]] = with(inner, path[1:], value)
	case value == nil:
		delete(out, path[0])
	default:
		out[path[0]] = value
	}
	return out
}

// filled returns a mapping without the fields that hold nothing.
func filled(fields map[string]any) map[string]any {
	out := map[string]any{}
	for name, value := range fields {
		inner, isMap := value.(map[string]any)
		if value != nil && (!isMap || len(inner) > 0) {
			out[name] = value
		}
	}
	return out
}

// JoinPath writes a path with dots.
func JoinPath(path []string) string { return strings.Join(path, ".") }
