// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package session

import (
	"bytes"
	"fmt"
	"log/slog"
	"testing"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/terraform-plugin-log/tflogtest"
)

func TestLogging_writesToTerraformsLog(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	ctx, logger := tflogtest.RootLogger(t.Context(), &out), slog.New(logHandler{})
	logger.DebugContext(ctx, "next step", "step", "apply taints")
	logger.With("node", "a").InfoContext(ctx, "waiting")
	logger.WithGroup("g").WarnContext(ctx, "no room", "node", "b")
	logger.ErrorContext(ctx, "not restored", "error", "gone")
	entries, err := tflogtest.MultilineJSONDecode(&out)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range entries {
		got = append(got, fmt.Sprintf("%v %v %v %v %v", e["@level"], e["@message"], e["step"], e["node"], e["error"]))
	}
	want := []string{"debug next step apply taints <nil> <nil>", "info waiting <nil> a <nil>", "warn no room <nil> b <nil>", "error not restored <nil> <nil> gone"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestLogging_leavesClientGoItsLogger: it would write each answer of the API server to the log.
func TestLogging_leavesClientGoItsLogger(t *testing.T) {
	t.Parallel()
	if _, err := logr.FromContext(Logging(t.Context())); err == nil {
		t.Error("client-go finds a logger in the context")
	}
}
