// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

// Package namespacetolerations is the resource kubetaint_namespace_tolerations: the
// tolerations that the admission plug-in PodTolerationRestriction gives to the pods of a
// namespace, and those that it lets them have.
package namespacetolerations
