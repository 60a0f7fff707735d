// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package tfschema

import "github.com/hashicorp/terraform-plugin-framework/datasource/schema"

// ComputedString is an attribute of a data source that it reads.
func ComputedString(description string) schema.Attribute {
	return schema.StringAttribute{Computed: true, MarkdownDescription: description}
}

// ComputedBool is an attribute of a data source that it reads.
func ComputedBool(description string) schema.Attribute {
	return schema.BoolAttribute{Computed: true, MarkdownDescription: description}
}

// ComputedInt64 is an attribute of a data source that it reads.
func ComputedInt64(description string) schema.Attribute {
	return schema.Int64Attribute{Computed: true, MarkdownDescription: description}
}
