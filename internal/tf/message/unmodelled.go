// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package message

import (
	"strings"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

// autoscaled names the nodes that an autoscaler may add, with their node groups where these are known.
func autoscaled(groups []string) []string {
	if len(groups) == 0 {
		return []string{"nodes of an autoscaler"}
	}
	return strings.Split("nodes of an autoscaler ("+Some(groups)+")", ", ")
}

// webhooks names those that may change or refuse new pods, or that these could not be read.
func webhooks(u snapshot.Unmodelled) []string {
	switch {
	case u.WebhooksUnread:
		return []string{"webhooks"}
	case len(u.Webhooks) == 0:
		return nil
	case len(u.Webhooks) == 1:
		return []string{"webhook " + u.Webhooks[0]}
	}
	return strings.Split("webhooks "+Some(u.Webhooks), ", ")
}

// profile names that of OpenShift's scheduler where it scores nodes in another way than the default one, or that it could not be
// read.
func profile(u snapshot.Unmodelled) []string {
	switch {
	case u.ProfileUnread:
		return []string{"scheduler profile"}
	case u.Profile == "":
		return nil
	}
	return []string{"scheduler profile " + u.Profile}
}
