// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package rollout

import (
	"context"
	"log/slog"

	"github.com/go-logr/logr"
)

// logger returns the logger of a context, and one that writes nothing where the context has none.
func logger(ctx context.Context) *slog.Logger {
	if l := logr.FromContextAsSlogLogger(ctx); l != nil {
		return l
	}
	return slog.New(slog.DiscardHandler)
}
