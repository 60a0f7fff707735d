// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

// Package fakeapi is an in-memory Kubernetes API server for tests. Clients reach it as an
// http.RoundTripper, without a network, so that it also runs inside the bubbles of
// testing/synctest, where waiting takes no time.
//
// The conformance test compares its answers with those of the real API server of Kubernetes
// 1.37, request by request; testdata/conformance has the scripts. Older API servers answer
// the same but for the steps that the scripts mark with "@since". A golden file for each
// version has its answers to these steps: "make test-conformance KUBERNETES=1.34" compares
// all of them.
//
// The fake validates metadata, taints and tolerations of pods alone, and defaults no specs: tests
// write objects as they are to be stored. Nothing happens by itself; package fakeapi/controllers has small
// controllers.
package fakeapi
