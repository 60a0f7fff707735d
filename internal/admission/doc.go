// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

// Package admission models what the API server adds to new pods:
// tolerations and required node affinity by a MutatingAdmissionPolicy, whose
// expressions it writes, and tolerations by the annotations of a namespace, which the
// admission plug-in PodTolerationRestriction reads.
package admission
