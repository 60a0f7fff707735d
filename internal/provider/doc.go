// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

// Package provider is the provider block: its schema, how it and the
// environment become a connection, and the lists of what is registered. It is
// wiring only.
package provider
