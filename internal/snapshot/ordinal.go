// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package snapshot

import (
	"strconv"
	"strings"
)

// Ordinal returns the number at the end of the name of a StatefulSet's pod and the name before it, and false where
// there is none (k8s.io/kubernetes v1.37.2 pkg/controller/statefulset/stateful_set_utils.go, getParentNameAndOrdinal).
func Ordinal(pod string) (set string, ordinal int, ok bool) {
	at := strings.LastIndexByte(pod, '-')
	if at <= 0 {
		return "", 0, false
	}
	ordinal, err := strconv.Atoi(pod[at+1:])
	return pod[:at], ordinal, err == nil
}
