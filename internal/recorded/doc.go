// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

// Package recorded writes a cluster into a file, and answers the requests of
// package kube from such a file in place of an API server. Plans from a
// recording therefore take the same way as plans from a cluster, and their
// verdicts are equal.
//
//	kube.Cluster ──objects──> reduced (fields that verdicts read) ──records──> FILE.kts
//	FILE.kts, must-gather or lists ──Open──> Cluster ──Transport──> kube.Cluster ──> plan
//
// Reduced objects are built from lists of fields that are kept, so a field that
// is not listed, such as the environment of a container, is in no file. Pods
// have the fields that package kube decodes of them; all other kinds are in
// fields.go. Objects of a folder are reduced by the same lists.
//
// A kind that could not be read is marked in the file. The transport refuses
// requests for it as an API server refuses credentials without the right, so
// that nothing is taken for absent that was not looked at. It refuses writes
// and watches of every kind.
package recorded
