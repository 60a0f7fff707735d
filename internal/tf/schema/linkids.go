// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package tfschema

import (
	"regexp"

	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
)

// LinkForm is how a link is written.
const LinkForm = "Refer to the resource, without quotes: tolerated_by = [kubetaint_workload_tolerations.web.id]."

var (
	// LinkIDs are the ids of resources that own tolerations: OWNER/TYPE/TARGET.
	LinkIDs = regexp.MustCompile(`^[^/]+/(workload_tolerations|toleration_policy|namespace_tolerations|dedicated_nodes)/.`)
	otherID = regexp.MustCompile(`^[^/]+/(node_taints|machine_set_taints)/.`)
	address = regexp.MustCompile(`(^|\.)kubetaint_[a-z_]+\.`)
	// mocked are strings that tests of modules put in place of computed ones, and validate: see
	// internal/moduletest/mocking/generate.go of Terraform, and internal/tofu/hcl2shim/mock_value_composer.go
	// of OpenTofu. No resource is planned then.
	mocked = regexp.MustCompile(`^[A-Za-z0-9]{4,16}$`)
)

// linkID checks that a string is the id of a resource that owns tolerations.
func linkID() validator.String {
	return check{
		description: "must be the id of a resource that owns tolerations", complete: true,
		find: func(s string) string {
			switch {
			case LinkIDs.MatchString(s), mocked.MatchString(s):
				return ""
			case otherID.MatchString(s):
				return "This is the id of a resource that owns taints, so no pod gets a toleration from it. " + LinkForm
			case address.MatchString(s):
				return "This is an address and no id. " + LinkForm
			}
			return "An id is OWNER/TYPE/TARGET, where TYPE is workload_tolerations, toleration_policy, namespace_tolerations or dedicated_nodes. " + LinkForm
		},
	}
}
