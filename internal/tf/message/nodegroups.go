// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package message

import "strings"

// autoscaled names the nodes that an autoscaler may add, with their node groups where these are known.
func autoscaled(groups []string) []string {
	if len(groups) == 0 {
		return []string{"nodes of an autoscaler"}
	}
	return strings.Split("nodes of an autoscaler ("+Some(groups)+")", ", ")
}
