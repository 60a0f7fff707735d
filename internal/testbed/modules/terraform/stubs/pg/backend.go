// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

// Package pg stands in for Terraform's backend of that name, a nested module
// that the Go module proxy does not serve.
package pg

import "github.com/hashicorp/terraform/internal/backend"

// New panics: no test of kubetaint keeps its state in this backend.
func New() backend.Backend {
	panic("this build of Terraform has no pg backend")
}
