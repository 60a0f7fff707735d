// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

// Package planner turns what is observed and what is desired into ordered
// steps. It is the one place that decides the order of a change: expand
// tolerations, wait, switch taints, contract tolerations. Every resource and
// every action asks it, so that a preview and an apply cannot disagree.
//
// A resource builds a Change, and Order makes a Plan of it: steps, each with its impact.
//   - Links are workloads of the change that are Linked: the steps wait for their pods.
//   - What others have left behind is a workload of the change that is Retained.
//   - Machines are replaced by one step; machineset.Next decides each write behind it.
//   - What other resources of the run plan counts: Planned and Elsewhere.
//
// The preview words the steps of the plan (session.StepWords), and rollout.Run takes them.
//
// It is pure: it reads no cluster and writes nothing.
package planner
