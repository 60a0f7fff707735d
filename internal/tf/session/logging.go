// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package session

import (
	"context"
	"log/slog"

	"github.com/hashicorp/terraform-plugin-log/tflog"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/rollout"
)

// Logging returns a context by which runs, which know nothing of Terraform, log to Terraform's log.
func Logging(ctx context.Context) context.Context {
	return rollout.WithLogger(ctx, slog.New(logHandler{}))
}

// logHandler writes records to the log of the context that they are written with.
type logHandler struct{ fields []slog.Attr }

// Enabled leaves the level to Terraform's log.
func (logHandler) Enabled(context.Context, slog.Level) bool { return true }

// Handle writes a record.
func (h logHandler) Handle(ctx context.Context, record slog.Record) error {
	fields := map[string]any{}
	add := func(a slog.Attr) bool {
		fields[a.Key] = a.Value.Any()
		return true
	}
	for _, a := range h.fields {
		add(a)
	}
	record.Attrs(add)
	write := tflog.Debug
	switch {
	case record.Level >= slog.LevelError:
		write = tflog.Error
	case record.Level >= slog.LevelWarn:
		write = tflog.Warn
	case record.Level >= slog.LevelInfo:
		write = tflog.Info
	}
	write(ctx, record.Message, fields)
	return nil
}

// WithAttrs adds fields to each record.
func (h logHandler) WithAttrs(fields []slog.Attr) slog.Handler {
	return logHandler{append(h.fields[:len(h.fields):len(h.fields)], fields...)}
}

// WithGroup leaves the names of fields as they are: Terraform's log has no groups.
func (h logHandler) WithGroup(string) slog.Handler { return h }
