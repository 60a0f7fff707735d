// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package workload

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Around are the objects on the ways to what is managed that this provider has made, by
// path, each with how many fields it holds.
type Around map[string]int

// around finds the objects on the way to a field that this provider has made. The API server
// remembers who made them. The spec itself stays, which many kinds cannot do without.
func around(object *unstructured.Unstructured, paths ...[]string) Around {
	out := Around{}
	for _, path := range paths {
		for at := path; len(at) > 1; at = at[:len(at)-1] {
			content, found, err := unstructured.NestedFieldNoCopy(object.Object, at...)
			fields, isObject := content.(map[string]any)
			ours := slices.ContainsFunc(object.GetManagedFields(), func(entry metav1.ManagedFieldsEntry) bool {
				return entry.Manager == FieldManager && (owns(entry.FieldsV1, append(slices.Clone(at), "")) || ownsWhole(entry.FieldsV1, at))
			})
			if found && err == nil && isObject && ours {
				out[JoinPath(at)] = len(fields)
			}
		}
	}
	return out
}

// Emptied returns what to remove in place of these fields, which go, so that the object is as it
// was: an object that was made for them goes with the last of its fields. Nothing goes that is
// on the way to a field which is written.
func (a Around) Emptied(gone, written [][]string) [][]string {
	for {
		parent := slices.IndexFunc(gone, func(path []string) bool { return a.empties(path[:len(path)-1], gone, written) })
		if parent < 0 {
			return gone
		}
		at := slices.Clone(gone[parent][:len(gone[parent])-1])
		gone = append(slices.DeleteFunc(slices.Clone(gone), func(path []string) bool { return within(path, at) }), at)
	}
}

// empties reports whether all fields of an object go that was made for them.
func (a Around) empties(at []string, gone, written [][]string) bool {
	fields, made := a[JoinPath(at)]
	if !made || slices.ContainsFunc(written, func(path []string) bool { return within(path, at) }) {
		return false
	}
	for _, path := range gone {
		if len(path) == len(at)+1 && within(path, at) {
			fields--
		}
	}
	return fields == 0
}

// within reports whether a path leads through another one.
func within(path, through []string) bool {
	return len(path) > len(through) && slices.Equal(path[:len(through)], through)
}
