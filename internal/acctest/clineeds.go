// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package acctest

import (
	"regexp"
	"strconv"
)

var terraformVersion = regexp.MustCompile(`^Terraform v1\.(\d+)\.`)

// NeedTerraform skips a test where the command line is another one than Terraform, or an
// older one than 1.MINOR: actions and queries came with 1.14, and OpenTofu has neither.
func (c *CLI) NeedTerraform(minor int) {
	c.t.Helper()
	printed := c.MustRun("version")
	found := terraformVersion.FindStringSubmatch(printed)
	if found == nil {
		c.t.Skipf("it takes Terraform 1.%d, and this is\n%s", minor, printed)
	}
	if has, err := strconv.Atoi(found[1]); err != nil || has < minor {
		c.t.Skipf("it takes Terraform 1.%d, and this is\n%s", minor, printed)
	}
}
