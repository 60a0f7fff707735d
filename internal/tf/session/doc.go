// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

// Package session holds what the resources of one provider process share: the cluster, the settings of the provider
// block, and what the resources of the run plan, claim and know of each other.
package session
