// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package provider

import (
	"os"
	"strings"
)

// DropUnreadLogs turns off the logs of this process that are not read. Without TF_LOG and
// TF_LOG_PROVIDER, a command line takes what a provider logs and throws it away
// (https://developer.hashicorp.com/terraform/internals/debugging), but terraform-plugin-log
// writes every line all the same, at its most detailed level: a third of the CPU of a plan
// with 200 resources. Levels that are set for the libraries or for this provider stay.
func DropUnreadLogs() {
	for _, name := range []string{"TF_LOG", "TF_LOG_PROVIDER"} {
		if level := os.Getenv(name); level != "" && !strings.EqualFold(level, "OFF") {
			return
		}
	}
	drop := func(names ...string) {
		for _, name := range names {
			if os.Getenv(name) == "" {
				_ = os.Setenv(name, "OFF") // If it cannot be set, there are logs.
			}
		}
	}
	if os.Getenv("TF_LOG_SDK") == "" {
		// A logger that has the level of another one puts every line together before it is dropped.
		drop("TF_LOG_SDK_FRAMEWORK", "TF_LOG_SDK_PROTO")
	}
	drop("TF_LOG_SDK", "TF_LOG_PROVIDER_KUBETAINT")
}
