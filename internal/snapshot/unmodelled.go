// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package snapshot

// Unmodelled is what of a cluster a preview names and does not simulate.
type Unmodelled struct {
	// NodeGroups are those to which an autoscaler may add nodes for Pending pods.
	NodeGroups []string
	// Webhooks are the configurations of admission webhooks that are called for new pods. WebhooksUnread is set where they could
	// not be read.
	Webhooks       []string
	WebhooksUnread bool
	// Profile is that of OpenShift's scheduler where it is not the default one. ProfileUnread is set where it could not be read.
	Profile       string
	ProfileUnread bool
}
