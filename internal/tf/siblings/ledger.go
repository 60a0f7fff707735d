// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package siblings

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/gofrs/flock"
)

// Ledger is a file with the summaries that the provider processes of a command line have used. It holds no text,
// only hashes.
type Ledger struct {
	dir, path string
	// process is the number of this one.
	process int
	// started is when the process was started. Command lines start the processes of a step once those of the step
	// before have ended: what a process used that has ended before belongs to an earlier step, which is shown
	// by itself.
	started time.Time
	// runs reports whether a process still runs.
	runs func(process int) bool
}

// use is a summary that a process has used.
type use struct {
	Process int       `json:"process"`
	At      time.Time `json:"at"`
	Summary string    `json:"summary"`
	// Nth counts the processes that have used it.
	Nth int `json:"nth"`
}

const (
	// remembered is how long a file is kept: no command line takes longer.
	remembered = 24 * time.Hour
	// patience is how long a process waits for others that write: a machine that is busy may stop one of them for
	// seconds, and a warning without its number is shown as a part of another one.
	patience = 10 * time.Second
	// extension is that of the files.
	extension = ".jsonl"
)

// Distinct returns the summary, with a number where another block of the run has used it. Without a place to
// write, it is the summary as it is.
func (l *Ledger) Distinct(summary string) string {
	if l == nil {
		return summary
	}
	if nth, err := l.note(summary); err == nil && nth > 1 {
		return fmt.Sprintf("%s (provider block %d)", summary, nth)
	}
	return summary
}

// note writes down that the process uses a summary, and returns the how many-th process of the run it is.
func (l *Ledger) note(summary string) (nth int, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	lock := flock.New(filepath.Join(l.dir, "lock"))
	if locked, err := lock.TryLockContext(ctx, 5*time.Millisecond); err != nil || !locked {
		return 0, errors.Join(err, ctx.Err())
	}
	defer func() { err = errors.Join(err, lock.Unlock()) }()
	uses, err := read(l.path)
	if errors.Is(err, fs.ErrNotExist) {
		err = sweep(l.dir)
	}
	if err != nil {
		return 0, err
	}
	sum := sha256.Sum256([]byte(summary))
	one := use{Process: l.process, At: time.Now(), Summary: hex.EncodeToString(sum[:16]), Nth: 1}
	for _, other := range uses {
		switch {
		case other.Summary != one.Summary || other.At.Before(l.started) && !l.runs(other.Process):
		case other.Process == one.Process:
			return other.Nth, nil
		default:
			one.Nth = max(one.Nth, other.Nth+1)
		}
	}
	return one.Nth, write(l.path, append(uses, one))
}

// read returns the uses of a file. What is no use, such as a line that was cut off, is left out.
func read(path string) ([]use, error) {
	text, err := os.ReadFile(path)
	var out []use
	for line := range bytes.Lines(text) {
		var one use
		if json.Unmarshal(line, &one) == nil {
			out = append(out, one)
		}
	}
	return out, err
}

// write replaces the file.
func write(path string, uses []use) error {
	var text bytes.Buffer
	for _, one := range uses {
		line, err := json.Marshal(one)
		if err != nil {
			return err
		}
		text.Write(append(line, '\n'))
	}
	return os.WriteFile(path, text.Bytes(), 0o600)
}

// sweep removes the files of command lines that have ended long ago.
func sweep(dir string) error {
	all, err := os.ReadDir(dir)
	for _, one := range all {
		if info, gone := one.Info(); gone == nil && time.Since(info.ModTime()) > remembered && filepath.Ext(one.Name()) == extension {
			err = errors.Join(err, os.Remove(filepath.Join(dir, one.Name())))
		}
	}
	return err
}

// open returns the ledger of a process in a folder. The number of the command line that has started it may have been
// that of another one before: its uses are those of an earlier step.
func open(dir string, run, process int, started time.Time) (*Ledger, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	return &Ledger{dir: dir, path: filepath.Join(dir, strconv.Itoa(run)+extension), process: process, started: started, runs: runs}, nil
}
