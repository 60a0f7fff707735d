// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package tfschema

import (
	"github.com/kubetaint/terraform-provider-kubetaint/internal/machineset"
)

// Strategies are the names of the strategies.
var Strategies = []string{string(machineset.TemplateOnly), string(machineset.InPlace), string(machineset.Rolling), string(machineset.Surge), string(machineset.ScaleToZero)}

// Descriptions of the rollout block, shared by schemas that are different Go types
// for the same attributes.
const (
	StrategyDescription       = "How existing machines get the taints: `template_only`, `in_place`, `rolling`, `surge` or `scale_to_zero`."
	MaxUnavailableDescription = "How many machines may be missing at a time with `rolling`. Default: `1`."
	MaxSurgeDescription       = "How many machines are added with `surge`. Default: `1`."
	WaitForDescription        = "When `scale_to_zero` scales up again: old machines `" + WaitMarkedDeleted + "` (default) or `" + WaitRemoved + "`."
)
