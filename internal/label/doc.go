// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

// Package label knows labels of nodes, and the node selectors of pods that
// require them: who owns which key, and how a set of them is changed without
// touching what others wrote.
//
// It is pure: it reads no cluster and writes nothing.
package label
