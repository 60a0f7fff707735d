// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package main

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// packageCount counts the packages that "go build -v" prints, one a line, and keeps
// all other lines. It can be read while the build writes to it.
type packageCount struct {
	mu sync.Mutex
	// total is how many packages there are to build, once they are counted.
	total   int
	counted bool
	begun   int
	line    []byte
	rest    strings.Builder
}

// expect sets how many packages there are to build.
func (p *packageCount) expect(total int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.total, p.counted = total, true
}

// Write takes what the go command writes, in pieces of any size.
func (p *packageCount) Write(output []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.line = append(p.line, output...)
	for {
		line, rest, whole := bytes.Cut(p.line, []byte("\n"))
		if !whole {
			return len(output), nil
		}
		if isPackage(string(line)) {
			p.begun++
		} else {
			p.rest.Write(append(line, '\n'))
		}
		p.line = rest
	}
}

// isPackage reports whether a line of the go command is the path of a package. All
// its messages have a space in them.
func isPackage(line string) bool {
	return line != "" && !strings.ContainsAny(line, " \t")
}

// messages returns all lines that are not packages.
func (p *packageCount) messages() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.rest.String() + string(p.line)
}

// String reports how far the build is, such as "412 of 1,310 packages".
func (p *packageCount) String() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.begun == 0 && !p.counted:
		return "downloading modules, counting packages"
	case !p.counted:
		return thousands(p.begun) + " packages"
	case p.begun >= p.total:
		return "linking " + thousands(p.begun) + " packages"
	default:
		return thousands(p.begun) + " of " + thousands(p.total) + " packages"
	}
}

// thousands writes a number of packages with a comma.
func thousands(n int) string {
	if n < 1000 {
		return strconv.Itoa(n)
	}
	return fmt.Sprintf("%s,%03d", thousands(n/1000), n%1000)
}

// stalePackages returns how many packages of a component Go's cache does not hold. It
// downloads the modules as well.
func stalePackages(ctx context.Context, c component, moduleDir string) (int, error) {
	args := slices.Concat([]string{"list", "-deps", "-f", "{{if .Stale}}{{.ImportPath}}{{end}}"}, buildArgs(c)[1:], []string{c.pkg})
	out, err := goCommand(ctx, c, moduleDir, args...).Output()
	return len(strings.Fields(string(out))), err
}
