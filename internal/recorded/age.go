// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package recorded

import (
	"fmt"
	"time"
)

// ReportAge returns a length of time in the largest unit of which there is one, as messages have it: "3 hours".
// HumanDuration of k8s.io/apimachinery/pkg/util/duration abbreviates: "3h", "2d4h".
func ReportAge(d time.Duration) string {
	for _, unit := range []struct {
		name string
		size time.Duration
	}{{"day", 24 * time.Hour}, {"hour", time.Hour}, {"minute", time.Minute}} {
		if n := int(d / unit.size); n == 1 {
			return "1 " + unit.name
		} else if n > 1 {
			return fmt.Sprintf("%d %ss", n, unit.name)
		}
	}
	return "less than a minute"
}
