// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package siblings

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/messages"
)

// process returns the ledger of a process of a run that was started at a moment, after all that were started before
// it had ended.
func process(t *testing.T, dir string, run, number int, started time.Time) *Ledger {
	t.Helper()
	l, err := open(dir, run, number, started)
	if err != nil {
		t.Fatal(err)
	}
	l.runs = func(int) bool { return false }
	return l
}

// TestLedger_Distinct: each step is a process that uses a summary, and what it gets.
func TestLedger_Distinct(t *testing.T) {
	t.Parallel()
	messages.Expect(t, "(provider block …)")
	type step struct {
		run, process int
		// next is set for a process of the next step of the run.
		next          bool
		summary, want string
	}
	for name, steps := range map[string][]step{
		"one process uses a summary twice":            {{1, 10, false, "a", "a"}, {1, 10, false, "a", "a"}},
		"the processes of two blocks":                 {{1, 10, false, "a", "a"}, {1, 11, false, "a", "a (provider block 2)"}, {1, 10, false, "a", "a"}, {1, 11, false, "a", "a (provider block 2)"}},
		"three blocks":                                {{1, 10, false, "a", "a"}, {1, 11, false, "a", "a (provider block 2)"}, {1, 12, false, "a", "a (provider block 3)"}},
		"another summary":                             {{1, 10, false, "a", "a"}, {1, 11, false, "b", "b"}},
		"another run":                                 {{1, 10, false, "a", "a"}, {2, 11, false, "a", "a"}},
		"a process of the step after, such as apply":  {{1, 10, false, "a", "a"}, {1, 11, true, "a", "a"}},
		"the same process number in another run":      {{1, 10, false, "a", "a"}, {2, 10, false, "a", "a"}},
		"a step after with two blocks":                {{1, 10, false, "a", "a"}, {1, 11, true, "a", "a"}, {1, 12, true, "a", "a (provider block 2)"}},
		"a summary that looks as if it were numbered": {{1, 10, false, "a (provider block 2)", "a (provider block 2)"}, {1, 11, false, "a", "a"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, started, in := t.TempDir(), time.Now(), false
			for i, s := range steps {
				if s.next && !in {
					started, in = time.Now(), true
				}
				got := process(t, dir, s.run, s.process, started).Distinct(s.summary)
				messages.Got(t, got)
				if got != s.want {
					t.Errorf("step %d: %q, want %q", i, got, s.want)
				}
			}
		})
	}
}

// TestLedger_aBlockThatIsStartedLate: a block can warn, such as of its own limits, before another one is started.
func TestLedger_aBlockThatIsStartedLate(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first := process(t, dir, 1, 10, time.Now()).Distinct("a")
	late := process(t, dir, 1, 11, time.Now())
	late.runs = func(process int) bool { return process == 10 }
	if second := late.Distinct("a"); first != "a" || second != "a (provider block 2)" {
		t.Errorf("%q and %q", first, second)
	}
}

// TestRuns: of this process, and of one that has ended.
func TestRuns(t *testing.T) {
	t.Parallel()
	ended := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^$")
	if err := ended.Run(); err != nil {
		t.Fatal(err)
	}
	if !runs(os.Getpid()) || runs(ended.Process.Pid) {
		t.Errorf("this process: %t, one that has ended: %t", runs(os.Getpid()), runs(ended.Process.Pid))
	}
}

// TestLedger_blocksWarnAtTheSameTime: each gets a number of its own.
func TestLedger_blocksWarnAtTheSameTime(t *testing.T) {
	t.Parallel()
	dir, seen := t.TempDir(), sync.Map{}
	var all []*Ledger
	for number := range 8 {
		all = append(all, process(t, dir, 1, number, time.Now()))
	}
	var wg sync.WaitGroup
	for _, l := range all {
		wg.Go(func() {
			summary := l.Distinct("a")
			if _, used := seen.LoadOrStore(summary, true); used {
				t.Errorf("two use %q", summary)
			}
		})
	}
	wg.Wait()
}

// TestLedger_forgets command lines that have ended a day ago, and holds no text of a summary.
func TestLedger_forgets(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	old, l := process(t, dir, 1, 10, time.Now()), process(t, dir, 2, 20, time.Now())
	old.Distinct("a")
	yesterday := time.Now().Add(-25 * time.Hour)
	for _, path := range []string{old.path, filepath.Join(dir, "lock")} {
		if err := os.Chtimes(path, yesterday, yesterday); err != nil {
			t.Fatal(err)
		}
	}
	l.Distinct("node-of-a-customer")
	names, _ := filepath.Glob(filepath.Join(dir, "*"))
	for i := range names {
		names[i] = filepath.Base(names[i])
	}
	if want := []string{"2.jsonl", "lock"}; !slices.Equal(names, want) {
		t.Errorf("files %v, want %v", names, want)
	}
	text, err := os.ReadFile(l.path)
	if err != nil || strings.Contains(string(text), "customer") || !strings.Contains(string(text), `"process":20`) {
		t.Errorf("%v: %s", err, text)
	}
	if info, err := os.Stat(l.path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v: %v", err, info.Mode())
	}
}

// TestLedger_withoutAFile: a warning is never held back, and never lost.
func TestLedger_withoutAFile(t *testing.T) {
	t.Parallel()
	if got := (*Ledger)(nil).Distinct("a"); got != "a" {
		t.Errorf("without a ledger: %q", got)
	}
	for name, spoil := range map[string]func(path string) error{
		"a folder in its place":         func(path string) error { return os.Mkdir(path, 0o700) },
		"a folder in its lock's":        func(path string) error { return os.Mkdir(filepath.Join(filepath.Dir(path), "lock"), 0o700) },
		"a file that is cut off":        func(path string) error { return os.WriteFile(path, []byte(`{"process":1,"pro`), 0o600) },
		"a file of something else":      func(path string) error { return os.WriteFile(path, []byte("[]\n1\n\xff"), 0o600) },
		"a file with other field types": func(path string) error { return os.WriteFile(path, []byte(`{"process":"1","nth":[]}`+"\n"), 0o600) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := process(t, t.TempDir(), 1, 10, time.Now())
			if err := spoil(l.path); err != nil {
				t.Fatal(err)
			}
			for _, one := range []*Ledger{l, process(t, filepath.Dir(l.path), 1, 11, time.Now())} {
				if got := one.Distinct("a"); !strings.HasPrefix(got, "a") {
					t.Errorf("%q", got)
				}
			}
		})
	}
}

// TestStarted: before this package was initialized, and not long before.
func TestStarted(t *testing.T) {
	t.Parallel()
	if at := started(); at.After(loaded) || loaded.Sub(at) > 10*time.Second {
		t.Errorf("started at %s, loaded at %s", at, loaded)
	}
}
