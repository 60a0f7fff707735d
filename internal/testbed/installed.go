// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"time"
)

// askTimeout ends a wrapper on PATH that does not answer with a version.
const askTimeout = 10 * time.Second

// commandLine is a Terraform or an OpenTofu.
type commandLine struct {
	product, version string
	major, minor     int
}

// versionLine is the first line of "terraform version" and of "tofu version".
var versionLine = regexp.MustCompile(`^(Terraform|OpenTofu) v((\d+)\.(\d+)\.\S+)`)

// parseCommandLine reads what "version" writes.
func parseCommandLine(output string) (commandLine, bool) {
	match := versionLine.FindStringSubmatch(output)
	if match == nil {
		return commandLine{}, false
	}
	major, majorErr := strconv.Atoi(match[3])
	minor, minorErr := strconv.Atoi(match[4])
	return commandLine{product: match[1], version: match[2], major: major, minor: minor}, cmp.Or(majorErr, minorErr) == nil
}

// newEnough reports whether the provider supports the command line, which is all that
// the demo needs: it shows no actions and no queries.
func (l commandLine) newEnough() bool {
	oldest := 11
	if l.product == "OpenTofu" {
		oldest = 12
	}
	return l.major > 1 || l.major == 1 && l.minor >= oldest
}

// installedCommandLine returns the path of the first of terraform and tofu on PATH
// that is new enough, and reports which one it is.
func installedCommandLine(ctx context.Context, report io.Writer) (string, bool) {
	for _, name := range []string{"terraform", "tofu"} {
		path, err := exec.LookPath(name)
		if err != nil {
			continue
		}
		switch found, ok := parseCommandLine(askVersion(ctx, path)); {
		case !ok:
			fmt.Fprintf(report, "not using %s: it does not print its version\n", path)
		case !found.newEnough():
			fmt.Fprintf(report, "not using %s: %s %s is too old, the provider needs Terraform 1.11 or OpenTofu 1.12\n", path, found.product, found.version)
		default:
			fmt.Fprintf(report, "using %s, %s %s\n", path, found.product, found.version)
			return path, true
		}
	}
	return "", false
}

// askVersion returns what a command line writes about its version, without asking its
// maker whether there is a newer one.
func askVersion(ctx context.Context, path string) string {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, "version")
	cmd.Env = append(os.Environ(), "CHECKPOINT_DISABLE=1")
	cmd.WaitDelay = time.Second
	out, _ := cmd.Output() // Without a version it is not used, whatever the reason.
	return string(out)
}
