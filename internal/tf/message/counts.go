// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package message

import (
	"fmt"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/printable"
)

// Count writes a number with its noun: "1 pod", "2 pods".
func Count(n int, noun string) string { return printable.Count(n, noun) }

// CountVerb writes a number with the verb that agrees with it.
func CountVerb(n int, one, many string) string {
	return fmt.Sprintf("%d %s", n, Agree(n, one, many))
}

// Agree chooses the word that agrees with a number.
func Agree(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}
