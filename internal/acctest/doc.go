// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

// Package acctest is what acceptance tests share: a real cluster with nodes and
// pods to order, or an in-memory API server where no controller acts,
// a provider that runs with the documented rights and no more,
// and three ways to drive it: through the protocol as Terraform would (fast,
// sees every diagnostic), through a real command line with the built binary
// (kill -9, plan -json), and through a proxy that injects faults.
package acctest
