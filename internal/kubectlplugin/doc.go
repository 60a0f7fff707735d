// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

// Package kubectlplugin is the kubectl plugin kubectl-kubetaint: it previews which pods a change of
// taints, a drain or a rollout of MachineSets evicts, by the engine of the provider. It only reads.
package kubectlplugin
