// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

// Package faults kills the provider and lets requests fail, one after the other, in every
// operation of every resource and action, with each strategy. To the cluster, "kill -9" is
// that no request comes after a certain one, and that no state is saved: so all of it runs
// in process, on the fake API server, in the bubbles of testing/synctest.
//
// A kill at a request is what the cluster is at that request of an undisturbed run, and an
// apply that begins there. Clusters that differ in nothing that an apply can see go on
// alike, so that one apply proves all points that lead to one: killing a second time at
// every write costs little.
//
// A point is one operation with one fault at one request. After each, applying again must
// end in what an undisturbed apply ends in, and the plan after it must be empty.
package faults
