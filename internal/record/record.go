// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

// Package record reads and writes the annotations that say who owns what on an
// object: lists of marks in JSON, in an order that makes equal ones equal strings.
package record

import (
	"encoding/json"
	"fmt"
	"slices"
)

// DamagedError says that an annotation cannot be read.
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

// Parse reads an annotation's value; an empty one is no marks. One that cannot be
// read is an error: to write over it would lose its owners. Errors: *DamagedError.
func Parse[Mark any](annotation, value string) ([]Mark, error) {
	if value == "" {
		return nil, nil
	}
	var marks []Mark
	if err := json.Unmarshal([]byte(value), &marks); err != nil {
		return nil, &DamagedError{annotation, err}
	}
	return marks, nil
}

// Format writes an annotation's value. No marks are an empty string, which means:
// no annotation. It panics where a mark does not marshal.
func Format[Mark any](marks []Mark, compare func(a, b Mark) int) string {
	if len(marks) == 0 {
		return ""
	}
	out, err := json.Marshal(slices.SortedFunc(slices.Values(marks), compare))
	if err != nil {
		panic(fmt.Sprintf("a mark of strings and numbers always marshals: %v", err))
	}
	return string(out)
}
