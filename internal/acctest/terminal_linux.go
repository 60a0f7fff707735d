// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package acctest

import (
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// InTerminal runs a command that must succeed in a terminal of so many columns, and returns the lines that it prints there,
// without colours.
func (c *CLI) InTerminal(columns uint16, args ...string) []string {
	c.t.Helper()
	screen, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	must(c.t, err)
	defer screen.Close()
	of := int(screen.Fd())
	must(c.t, unix.IoctlSetPointerInt(of, unix.TIOCSPTLCK, 0))
	number, err := unix.IoctlGetInt(of, unix.TIOCGPTN)
	must(c.t, err)
	must(c.t, unix.IoctlSetWinsize(of, unix.TIOCSWINSZ, &unix.Winsize{Row: 50, Col: columns}))
	terminal, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|syscall.O_NOCTTY, 0)
	must(c.t, err)
	read := make(chan string)
	go func() {
		// It ends with an error once no process has the terminal open.
		printed, _ := io.ReadAll(screen)
		read <- string(printed)
	}()
	cmd := c.Command(args...)
	cmd.Stdout, cmd.Stderr = terminal, terminal
	err = cmd.Run()
	_ = terminal.Close()
	printed := <-read
	if err != nil {
		c.t.Fatalf("%s in a terminal: %v\n%s", strings.Join(args, " "), err, printed)
	}
	var lines []string
	for line := range strings.Lines(colours.ReplaceAllString(printed, "")) {
		lines = append(lines, strings.TrimRight(line, " \r\n"))
	}
	return lines
}
