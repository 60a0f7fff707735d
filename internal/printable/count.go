// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package printable

import "fmt"

// Count returns a number with its noun: "1 pod", "2 pods".
func Count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
