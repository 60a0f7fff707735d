// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package message

import (
	"fmt"
	"strings"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/eviction"
)

// Limits are the limits on evictions, and where they are set.
type Limits struct {
	eviction.Limits
	// Inherited are the attributes that come from the provider block.
	Inherited []string
	// OwnBlock is set where the resource has an evictions block of its own.
	OwnBlock bool
	// OnlyAlone is set where the block that sets only sets nothing else.
	OnlyAlone bool
}

// Some names the first few of a list and counts the rest.
func Some(all []string) string {
	const few = 5
	if len(all) <= few {
		return strings.Join(all, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(all[:few], ", "), len(all)-few)
}
