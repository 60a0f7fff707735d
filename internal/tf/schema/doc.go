// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

// Package tfschema holds the attributes that more than one Terraform type has, with their descriptions and
// validators, and turns their values into what the planner takes. It knows nothing of the cluster.
package tfschema
