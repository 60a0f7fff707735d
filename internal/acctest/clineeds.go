// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package acctest

import (
	"regexp"
	"strconv"
)

var (
	terraformVersion = regexp.MustCompile(`^Terraform v1\.(\d+)\.`)
	anyVersion       = regexp.MustCompile(`^(?:Terraform|OpenTofu) v1\.(\d+)\.`)
)

// NeedTerraform skips a test where the command line is another one than Terraform, or an
// older one than 1.MINOR: actions and queries came with 1.14, and OpenTofu has neither.
func (c *CLI) NeedTerraform(minor int) {
	c.t.Helper()
	c.need(terraformVersion, "Terraform", minor)
}

// NeedIdentities skips a test where the command line does not import by identity, which
// Terraform and OpenTofu both do from 1.12 on.
func (c *CLI) NeedIdentities() {
	c.t.Helper()
	c.need(anyVersion, "Terraform or OpenTofu", 12)
}

func (c *CLI) need(version *regexp.Regexp, what string, minor int) {
	c.t.Helper()
	printed := c.MustRun("version")
	found := version.FindStringSubmatch(printed)
	if found == nil {
		c.t.Skipf("it takes %s 1.%d, and this is\n%s", what, minor, printed)
	}
	if has, err := strconv.Atoi(found[1]); err != nil || has < minor {
		c.t.Skipf("it takes %s 1.%d, and this is\n%s", what, minor, printed)
	}
}
