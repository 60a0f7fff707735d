// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package session

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/diag"
)

// PrivateReader reads the private state.
type PrivateReader interface {
	// GetKey returns the value of a key, nothing where there is none.
	GetKey(ctx context.Context, key string) ([]byte, diag.Diagnostics)
}

// PrivateWriter writes the private state.
type PrivateWriter interface {
	// SetKey sets the value of a key, which must be JSON.
	SetKey(ctx context.Context, key string, value []byte) diag.Diagnostics
}

// Private is the private state.
type Private interface {
	PrivateReader
	PrivateWriter
}
