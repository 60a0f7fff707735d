// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package recorded_test

import (
	"testing"
	"time"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/recorded"
)

func TestReportAge(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{
		0: "less than a minute", time.Minute: "1 minute", 59 * time.Minute: "59 minutes", 90 * time.Minute: "1 hour", 47 * time.Hour: "1 day", 100 * 24 * time.Hour: "100 days", -time.Hour: "less than a minute",
	} {
		if got := recorded.ReportAge(d); got != want {
			t.Errorf("%s is %q, want %q", d, got, want)
		}
	}
}

// TestCluster_theAgeOfAFolderIsThatOfItsNodes, not that of its files: copies of these are new.
func TestCluster_theAgeOfAFolderIsThatOfItsNodes(t *testing.T) {
	t.Parallel()
	now := moment.Add(3 * time.Hour)
	heartbeat := func(at string) string {
		return oneNode + "status:\n  conditions:\n  - {type: Ready, status: 'True', lastHeartbeatTime: " + at + "}\n  - {type: DiskPressure, status: 'False', lastHeartbeatTime: '2026-01-01T00:00:00Z'}\n"
	}
	for content, want := range map[string]string{
		heartbeat("'2026-08-01T15:00:00Z'"): "taken 92 days ago",
		heartbeat("null"):                   "taken 304 days ago",
		heartbeat("yesterday"):              "taken 304 days ago",
		// Nodes of other kinds of clusters may have none.
		oneNode: "with files of 3 hours ago",
	} {
		dir := t.TempDir()
		write(t, dir, "nodes.yaml", []byte(content))
		c, err := recorded.Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		if got := c.Age(now); got != want {
			t.Errorf("%s: %q, want %q", content, got, want)
		}
	}
	file := sealed(t, 0, rec('H', `{"taken":"2026-11-01T12:00:00Z","serves":[]}`))
	if got := read(t, file).Age(now); got != "taken 3 hours ago" {
		t.Errorf("a snapshot: %q", got)
	}
}
