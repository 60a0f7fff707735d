// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

// Package annotations measures the annotations of an object.
package annotations

import (
	"fmt"
	"maps"
	"slices"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/record"
)

// Others returns how many bytes the annotations of an object have, without those of some names.
func Others(all map[string]string, names ...string) int {
	size := 0
	for name, value := range all {
		if !slices.Contains(names, name) {
			size += len(name) + len(value)
		}
	}
	return size
}

// TooLarge reports why the API server would refuse annotations, "" where it would not: the limit holds
// for all annotations of an object together, keys and values (k8s.io/apimachinery v0.37.2
// pkg/api/validation/objectmeta.go, ValidateAnnotationsSize). others is what Others returned, and written
// holds the annotations beside; an empty value is no annotation.
func TooLarge(others int, written map[string]string) string {
	size, largest := others, ""
	for _, name := range slices.Sorted(maps.Keys(written)) {
		if value := written[name]; value != "" {
			size += len(name) + len(value)
		}
		if largest == "" || len(written[name]) > len(written[largest]) {
			largest = name
		}
	}
	if size <= record.Most {
		return ""
	}
	own := len(written[largest])
	return fmt.Sprintf("the annotation %s would have %d bytes; other annotations and keys have %d, and the limit for all is %d", largest, own, size-own, record.Most)
}
