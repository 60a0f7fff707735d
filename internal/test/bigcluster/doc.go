// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

// Package bigcluster makes clusters of thousands of nodes for benchmarks: objects of realistic
// size, and a way to write them into the storage of the test bed's API server, which takes
// seconds where requests would take minutes. "make bench-cluster" measures plans on one.
package bigcluster
