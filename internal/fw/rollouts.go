// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package fw

import (
	"github.com/kubetaint/terraform-provider-kubetaint/internal/machineset"
)

// Strategies are the names of the strategies.
var Strategies = []string{string(machineset.TemplateOnly), string(machineset.InPlace), string(machineset.Rolling), string(machineset.Surge), string(machineset.ScaleToZero)}

// Descriptions of the rollout block, shared by schemas that are different Go types
// for the same attributes.
const (
	StrategyDescription = "`template_only`: not at all; machines that are made later have them. `in_place`: each Machine and its node is written to, and none is replaced; NoExecute evicts at once, whatever PodDisruptionBudgets say. " +
		"`rolling`: machines are deleted, `max_unavailable` at a time, and the controller replaces them. `surge`: `max_surge` machines are added first, so that there are never fewer than before. " +
		"`scale_to_zero`: all machines go at once, and as many come back."
	MaxUnavailableDescription = "How many machines may be missing at a time with `rolling`. Default: `1`."
	MaxSurgeDescription       = "How many machines are added with `surge`. Default: `1`."
	WaitForDescription        = "What `scale_to_zero` waits for before it scales back: `" + WaitMarkedDeleted + "` (the default), that all old machines are being deleted, " +
		"or `" + WaitRemoved + "`, that they are gone. Where pods fit on these machines alone, a PodDisruptionBudget can keep the old ones from ever going before the new ones come."
)
