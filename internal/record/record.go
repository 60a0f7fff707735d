// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

// Package record reads and writes the annotations that record which resource owns which
// entries of an object: lists of marks in JSON. Marks of one owner share a group, so that its
// id is written once.
package record

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/printable"
)

// Most is how many bytes all annotations of an object can have together: keys and values
// (k8s.io/apimachinery v0.37.2 pkg/api/validation/objectmeta.go, TotalAnnotationSizeLimitB).
const Most = 256 << 10

// DamagedError reports an annotation that does not hold a record.
type DamagedError struct {
	Annotation string
	Err        error
}

// Error names the annotation.
func (e *DamagedError) Error() string {
	return fmt.Sprintf("the annotation %s cannot be read: %v", e.Annotation, e.Err)
}

// Unwrap returns the error of reading it.
func (e *DamagedError) Unwrap() error { return e.Err }

// fields are those of a mark, or of a group.
type fields map[string]json.RawMessage

// The fields that marks of one group share, and the one that holds the marks.
const (
	owner      = "owner"
	generation = "generation"
	entries    = "entries"
)

// group is several marks of one owner.
type group struct {
	Owner      json.RawMessage `json:"owner"`
	Generation json.RawMessage `json:"generation"`
	Entries    []fields        `json:"entries"`
}

// Parse reads an annotation's value; an empty one is no marks. One that cannot be
// read is an error: to write over it would lose its owners. So is one that holds what messages could not print as it is:
// another writer has written it. Errors: *DamagedError.
func Parse[Mark any](annotation, value string) ([]Mark, error) {
	if value == "" {
		return nil, nil
	}
	var items []fields
	err := printable.JSON(value)
	if err == nil {
		err = json.Unmarshal([]byte(value), &items)
	}
	var marks []Mark
	for _, item := range items {
		if err == nil {
			marks, err = appendItem(marks, item)
		}
	}
	if err != nil {
		return nil, &DamagedError{annotation, err}
	}
	return marks, nil
}

// appendItem appends a mark, or the marks of a group.
func appendItem[Mark any](marks []Mark, item fields) ([]Mark, error) {
	members := []fields{item}
	if raw, group := item[entries]; group {
		members = nil
		if err := json.Unmarshal(raw, &members); err != nil {
			return nil, err
		}
	}
	for _, member := range members {
		if member == nil {
			member = fields{}
		}
		member[owner], member[generation] = item[owner], item[generation]
		raw, err := json.Marshal(member)
		if err != nil {
			return nil, err
		}
		var mark Mark
		if err := json.Unmarshal(raw, &mark); err != nil {
			return nil, err
		}
		marks = append(marks, mark)
	}
	return marks, nil
}

// Format writes an annotation's value. No marks are an empty string, which means:
// no annotation. A mark that shares its owner and generation with no other stands by itself.
// It panics where a mark does not marshal.
func Format[Mark any](marks []Mark, compare func(a, b Mark) int) string {
	if len(marks) == 0 {
		return ""
	}
	at := map[string]int{}
	var items []any
	for _, mark := range slices.SortedFunc(slices.Values(marks), compare) {
		member := fields{}
		must(json.Unmarshal(marshal(mark), &member))
		key := string(member[owner]) + string(member[generation])
		first, known := at[key]
		if !known {
			at[key], items = len(items), append(items, mark)
			continue
		}
		whole, is := items[first].(*group)
		if !is {
			alone := fields{}
			must(json.Unmarshal(marshal(items[first]), &alone))
			whole = &group{Owner: alone[owner], Generation: alone[generation], Entries: []fields{without(alone)}}
			items[first] = whole
		}
		whole.Entries = append(whole.Entries, without(member))
	}
	return string(marshal(items))
}

// without returns the fields of a mark in a group.
func without(mark fields) fields {
	out := maps.Clone(mark)
	delete(out, owner)
	delete(out, generation)
	return out
}

func marshal(v any) []byte {
	out, err := json.Marshal(v)
	must(err)
	return out
}

func must(err error) {
	if err != nil {
		panic(fmt.Sprintf("a record of strings and numbers always marshals: %v", err))
	}
}
