// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

// Package owncluster has the acceptance tests that break a control plane, or that need one
// with other flags: its processes are killed and stopped, and its Machine API is as awkward
// as OpenShift's. They share one control plane, which no other package uses, one after the
// other.
package owncluster
