// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

// Package planner turns what is observed and what is desired into ordered
// steps. It is the one place that decides the order of a change: expand
// tolerations, wait, switch taints, contract tolerations. Every resource and
// every data source asks it, so that a preview and an apply cannot disagree.
//
// It is pure: it reads no cluster and writes nothing.
package planner
