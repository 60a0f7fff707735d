// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package acctest

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"iter"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
)

// CLI is a working directory for a real command line with the built provider.
type CLI struct {
	t      testing.TB
	Dir    string
	binary string
	// provider is a copy of the provider's binary that only this test runs, so
	// that its processes can be told from others.
	provider string
	env      []string
}

// providerEnv names the provider's binary, which "make" compiles once for all packages.
const providerEnv = "KUBETAINT_TEST_PROVIDER"

// built returns the provider's binary in a folder from which every test can link it: the
// one that providerEnv names, or one that is compiled for this process. It is compiled as
// releases are, and as the test bed compiles its Machine API, so that dependencies are
// compiled once.
var built = sync.OnceValues(func() (string, error) {
	given := os.Getenv(providerEnv)
	if given != "" && linkable(given) {
		return given, nil
	}
	dir, err := os.MkdirTemp("", "kubetaint-provider-")
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "terraform-provider-kubetaint")
	cmd := exec.Command("go", "build", "-trimpath", "-gcflags=all=-dwarf=false", "-o", path, ".")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if given != "" {
		// Another process copies it: a test that starts a program meanwhile would get
		// the open file, and the kernel starts no program that is open for writing.
		cmd = exec.Command("cp", given, path)
	}
	cmd.Dir = root()
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("building the provider: %w\n%s", err, out)
	}
	return path, nil
})

// linkable reports whether a file is on the file system of temporary folders.
func linkable(path string) bool {
	dir, err := os.MkdirTemp("", "kubetaint-provider-")
	if err != nil {
		return false
	}
	defer func() { _ = os.RemoveAll(dir) }()
	return os.Link(path, filepath.Join(dir, "provider")) == nil
}

// NewCLI makes a working directory. The command line is the one that
// TF_ACC_TERRAFORM_PATH names; a CLI on PATH is used only when told to.
func NewCLI(t testing.TB) *CLI {
	t.Helper()
	binary := os.Getenv("TF_ACC_TERRAFORM_PATH")
	if os.Getenv("TF_ACC") == "" || binary == "" {
		t.Skip("an acceptance test with a real command line: set TF_ACC=1 and TF_ACC_TERRAFORM_PATH, or run \"make test\"")
	}
	provider, err := built()
	must(t, err)
	dir := t.TempDir()
	c := &CLI{t: t, Dir: dir, binary: binary, provider: filepath.Join(dir, "bin", "terraform-provider-kubetaint")}
	must(t, os.Mkdir(filepath.Dir(c.provider), 0o755))
	must(t, os.Link(provider, c.provider))
	rc := filepath.Join(dir, "cli.tfrc")
	c.overrides(rc, "kubetaint/kubetaint")
	c.env = append(os.Environ(), "TF_CLI_CONFIG_FILE="+rc, "CHECKPOINT_DISABLE=1", "TF_IN_AUTOMATION=1", "NO_COLOR=1")
	return c
}

// overrides has the command line take providers from this test's folder.
func (c *CLI) overrides(rc string, sources ...string) {
	c.t.Helper()
	block := ""
	for _, source := range sources {
		block += fmt.Sprintf("    %q = %q\n", source, filepath.Dir(c.provider))
	}
	must(c.t, os.WriteFile(rc, []byte("provider_installation {\n  dev_overrides {\n"+block+"  }\n  direct {}\n}\n"), 0o600))
}

// StandIn puts something in the place of hashicorp/kubernetes: a command line wants a
// provider for each that a state names, though it asks this one for nothing but its schema.
func (c *CLI) StandIn() { c.Peer(c.provider) }

// Wrap puts a program in the place of the provider, and returns where the provider's binary is.
func (c *CLI) Wrap(program string) string {
	c.t.Helper()
	provider := c.provider + "-wrapped"
	must(c.t, os.Rename(c.provider, provider))
	must(c.t, os.Symlink(program, c.provider))
	return provider
}

// Peer puts a binary in the place of hashicorp/kubernetes.
func (c *CLI) Peer(binary string) {
	c.t.Helper()
	must(c.t, os.Symlink(binary, filepath.Join(filepath.Dir(c.provider), "terraform-provider-kubernetes")))
	c.overrides(filepath.Join(c.Dir, "cli.tfrc"), "kubetaint/kubetaint", "hashicorp/kubernetes")
}

// Write writes the configuration. The provider block reads its connection from
// variables, so that no secret is in it; without any there is no block.
func (c *CLI) Write(provider map[string]any, config string) {
	c.t.Helper()
	block := "terraform {\n  required_providers {\n    kubetaint = { source = \"kubetaint/kubetaint\" }\n  }\n}\n\n"
	if provider != nil {
		block += "provider \"kubetaint\" {\n"
		for name, value := range provider {
			block += fmt.Sprintf("  %s = %q\n", name, value)
		}
		block += "}\n\n"
	}
	must(c.t, os.WriteFile(filepath.Join(c.Dir, "main.tf"), []byte(block+config), 0o600))
}

// State returns the state file, nil for none.
func (c *CLI) State() []byte {
	c.t.Helper()
	state, err := os.ReadFile(c.stateFile())
	if !os.IsNotExist(err) {
		must(c.t, err)
	}
	return state
}

// SetState brings a state file back; nil removes it.
func (c *CLI) SetState(state []byte) {
	c.t.Helper()
	if state != nil {
		must(c.t, os.WriteFile(c.stateFile(), state, 0o600))
	} else if err := os.Remove(c.stateFile()); !os.IsNotExist(err) {
		must(c.t, err)
	}
}

func (c *CLI) stateFile() string { return filepath.Join(c.Dir, "terraform.tfstate") }

// Logged makes the provider write its log, and returns a function that reads what is
// there so far.
func (c *CLI) Logged() func() string {
	path := filepath.Join(c.Dir, "provider.log")
	c.env = append(c.env, "TF_LOG_PROVIDER=DEBUG", "TF_LOG_PATH="+path)
	return func() string {
		log, err := os.ReadFile(path)
		if err != nil && !os.IsNotExist(err) {
			c.t.Error(err)
		}
		sawLast(c.t.Context(), "the provider's log", ending(string(log)))
		return string(log)
	}
}

// Env sets a variable of the environment of all commands that follow.
func (c *CLI) Env(name, value string) { c.env = append(c.env, name+"="+value) }

// Command prepares a command of the CLI.
func (c *CLI) Command(args ...string) *exec.Cmd {
	cmd := exec.CommandContext(c.t.Context(), c.binary, args...)
	cmd.Dir, cmd.Env = c.Dir, c.env
	return cmd
}

// Run runs a command and returns what it prints, without the clusters of provider blocks, and
// whether it succeeded.
func (c *CLI) Run(args ...string) (string, bool) {
	c.t.Helper()
	out, err := c.Command(args...).CombinedOutput()
	return unlabelled(string(out)), err == nil
}

// MustRun runs a command that must succeed.
func (c *CLI) MustRun(args ...string) string {
	c.t.Helper()
	out, ok := c.Run(args...)
	if !ok {
		c.t.Fatalf("%s failed:\n%s", strings.Join(args, " "), out)
	}
	return out
}

// WantEmptyPlan fails the test where a plan would change something.
func (c *CLI) WantEmptyPlan(args ...string) {
	c.t.Helper()
	out, ok := c.Run(append([]string{"plan", "-detailed-exitcode", "-input=false"}, args...)...)
	// Terraform 1.11 can say this of a plan with -refresh-only and exit as if it were not so.
	if !ok && !strings.Contains(out, "Your infrastructure still matches the configuration.") {
		c.t.Fatalf("the plan is not empty:\n%s", out)
	}
}

// PlanWarning is a warning as "plan -json" prints it.
type PlanWarning struct {
	Summary string `json:"summary"`
	Detail  string `json:"detail"`
	Address string `json:"address"`
}

// PlanWarnings plans and returns the warnings in the order of the output. It fails the test where two
// resources use the same summary.
func (c *CLI) PlanWarnings() []PlanWarning {
	c.t.Helper()
	warnings, addresses := c.Warnings(), map[string]string{}
	for i, w := range warnings {
		if first, used := addresses[w.Summary]; used && first != w.Address {
			c.t.Errorf("%s and %s use the same summary, and a command line hides the second warning: %s", first, w.Address, w.Summary)
		}
		addresses[w.Summary] = w.Address
		warnings[i].Summary = unlabelled(w.Summary)
	}
	return warnings
}

// Warnings plans and returns the warnings as they are. Diagnostics about the command line itself have no
// address, nor have those about a resource that is no longer in the configuration.
func (c *CLI) Warnings() []PlanWarning {
	c.t.Helper()
	out, err := c.Command("plan", "-json", "-input=false").Output()
	if err != nil {
		c.t.Fatalf("plan -json: %v\n%s", err, out)
	}
	var warnings []PlanWarning
	lines := bufio.NewScanner(bytes.NewReader(out))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var line struct {
			Type       string      `json:"type"`
			Diagnostic PlanWarning `json:"diagnostic"`
		}
		must(c.t, json.Unmarshal(lines.Bytes(), &line))
		if line.Type == "diagnostic" && !strings.HasPrefix(line.Diagnostic.Summary, "Provider development overrides") {
			warnings = append(warnings, line.Diagnostic)
		}
	}
	must(c.t, lines.Err())
	return warnings
}

// KillProvider sends SIGKILL to every process of this test's provider and
// returns how many there were.
func (c *CLI) KillProvider() int {
	killed := 0
	links, _ := filepath.Glob("/proc/[0-9]*/exe")
	for _, link := range links {
		if path, err := os.Readlink(link); err != nil || path != c.provider {
			continue
		}
		if pid, err := strconv.Atoi(strings.Split(link, "/")[2]); err == nil && syscall.Kill(pid, syscall.SIGKILL) == nil {
			killed++
		}
	}
	return killed
}

// KillPoints are the points at which applies are killed one after the other: which requests
// count, and after how many of them. The first is the first request of all, the others are
// every step-th from a first one on, of those that come with the first write and after it.
// A process that is killed leaves what it has written: each read before that would show the
// same once more. There is no last point: an apply ends before one in the end.
func KillPoints(first, step int) iter.Seq2[func(Request) bool, int] {
	return func(yield func(func(Request) bool, int) bool) {
		// A watch may be answered at any time.
		if !yield(func(r Request) bool { return !r.Watch }, 1) {
			return
		}
		for after := first; yield(sinceWritten(), after); after += step {
			continue
		}
	}
}

// sinceWritten counts the requests of one apply from its first write on.
func sinceWritten() func(Request) bool {
	var written atomic.Bool
	return func(r Request) bool {
		if r.Write() {
			written.Store(true)
		}
		return written.Load() && !r.Watch
	}
}

// ApplyAndKill applies the saved plan "plan", whose provider leads through the
// proxy, and kills the provider as soon as the API server has answered so many
// requests of the apply. What comes after them never reaches it, whatever the
// process manages to send before it ends. It returns false where the apply ends
// before that. An apply that fails though nothing was killed fails the test.
func (c *CLI) ApplyAndKill(p *Proxy, counts func(Request) bool, after int) bool {
	c.t.Helper()
	var begun, answered atomic.Int64
	var killing atomic.Bool
	p.Spoil(func(r Request) Fault {
		if counts(r) && begun.Add(1) > int64(after) || answered.Load() >= int64(after) {
			return CutBefore
		}
		return None
	})
	p.After(func(r Request) {
		if counts(r) && answered.Add(1) == int64(after) {
			// The command line may end before all processes have been looked at.
			killing.Store(true)
			c.KillProvider()
		}
	})
	out, ok := c.Run("apply", "-input=false", "plan")
	if !ok && !killing.Load() {
		c.t.Fatalf("the apply failed before request %d, and no process was killed:\n%s", after, out)
	}
	p.After(nil)
	p.Spoil(nil)
	return !ok
}
