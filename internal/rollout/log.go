// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package rollout

import (
	"context"
	"log/slog"
)

// loggerKey is that of the logger in a context. The key of logr is also client-go's, which would write each answer of the
// API server to the log.
type loggerKey struct{}

// WithLogger returns a context by which runs log.
func WithLogger(ctx context.Context, l *slog.Logger) context.Context {
	return context.WithValue(ctx, loggerKey{}, l)
}

// logger returns the logger of a context, and one that writes nothing where the context has none.
func logger(ctx context.Context) *slog.Logger {
	if l, has := ctx.Value(loggerKey{}).(*slog.Logger); has {
		return l
	}
	return slog.New(slog.DiscardHandler)
}
