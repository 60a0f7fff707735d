// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package recorded

import (
	"time"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/printable"
)

// ReportAge returns a length of time in the largest unit of which there is one, as messages have it: "3 hours".
// HumanDuration of k8s.io/apimachinery/pkg/util/duration abbreviates: "3h", "2d4h".
func ReportAge(d time.Duration) string {
	for _, unit := range []struct {
		name string
		size time.Duration
	}{{"day", 24 * time.Hour}, {"hour", time.Hour}, {"minute", time.Minute}} {
		if n := int(d / unit.size); n > 0 {
			return printable.Count(n, unit.name)
		}
	}
	return "less than a minute"
}

// Age returns how old the recording is, for messages: "taken 3 hours ago". Of a folder whose nodes have no heartbeat
// it is the age of its newest file, which a copy may have made younger: "with files of 3 hours ago".
func (c *Cluster) Age(now time.Time) string {
	how := "taken "
	if c.folder && !c.dated {
		how = "with files of "
	}
	return how + ReportAge(now.Sub(c.header.Taken)) + " ago"
}

// heartbeat returns when the kubelet of a node last reported, the zero time where that is not known.
func heartbeat(node map[string]any) time.Time {
	status, _ := node["status"].(map[string]any)
	conditions, _ := status["conditions"].([]any)
	var last time.Time
	for _, one := range conditions {
		condition, _ := one.(map[string]any)
		if at, err := time.Parse(time.RFC3339, text(condition["lastHeartbeatTime"])); err == nil && at.After(last) {
			last = at
		}
	}
	return last
}
