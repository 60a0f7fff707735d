// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package evictionpreview_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
)

// pipeline is the shell of a pipeline as its runner starts it.
type pipeline struct {
	shell []string
	// steps are the scripts, of which the first that fails is the last.
	steps []string
	env   []string
	// posts is the command that comments, and file the argument that names the comment.
	posts, file string
	// plan is the file of the plan.
	plan string
}

// github reads the steps of the guide's workflow. Expressions are values of the environment
// and never part of a script, in which others could write commands.
func github(t *testing.T) pipeline {
	t.Helper()
	var workflow struct {
		Jobs map[string]struct {
			Env   map[string]string
			Steps []struct {
				Run string
				Env map[string]string
			}
		}
	}
	guide(t, "github.yml", &workflow)
	// https://docs.github.com/en/actions/reference/workflows-and-actions/workflow-syntax#jobsjob_idstepsshell
	p := pipeline{shell: []string{"bash", "-e"}, posts: "gh", file: "--body-file preview.md", plan: "plan"}
	for _, step := range workflow.Jobs["plan"].Steps {
		if step.Run == "" {
			continue
		}
		if strings.Contains(step.Run, "${{") {
			t.Errorf("an expression is part of a script: %s", step.Run)
		}
		p.steps = append(p.steps, step.Run)
		for name := range step.Env {
			p.env = append(p.env, name+"=17")
		}
	}
	return p
}

// gitlab reads the script of the guide's job, which is one shell.
func gitlab(t *testing.T) pipeline {
	t.Helper()
	var jobs map[string]struct{ Script []string }
	guide(t, "gitlab.yml", &jobs)
	return pipeline{
		shell: []string{"bash", "-eo", "pipefail"}, steps: []string{strings.Join(jobs["plan"].Script, "\n")}, posts: "curl", file: "body@preview.md", plan: "plan",
		env: []string{"GITLAB_TOKEN=token", "CI_API_V4_URL=http://gitlab.invalid/api/v4", "CI_PROJECT_ID=5", "CI_MERGE_REQUEST_IID=17"},
	}
}

// atlantis reads the run step of the guide's workflow, which "sh -c" runs
// (github.com/runatlantis/atlantis server/core/runtime/run_step_runner.go).
func atlantis(t *testing.T) pipeline {
	t.Helper()
	var config struct {
		Workflows map[string]struct{ Plan struct{ Steps []any } }
	}
	guide(t, "atlantis.yml", &config)
	p := pipeline{
		shell: []string{"sh"}, posts: "gh", file: "--body-file preview.md", plan: "default.tfplan",
		env: []string{"PLANFILE=default.tfplan", "PULL_NUM=17", "BASE_REPO_OWNER=o", "BASE_REPO_NAME=r"},
	}
	for _, step := range config.Workflows["kubetaint"].Plan.Steps {
		if custom, is := step.(map[string]any); is {
			p.steps = append(p.steps, fmt.Sprint(custom["run"]))
		}
	}
	if len(p.steps) != 1 {
		t.Fatalf("the workflow has %d run steps, want 1", len(p.steps))
	}
	return p
}

func guide(t *testing.T, file string, into any) {
	t.Helper()
	if err := yaml.Unmarshal([]byte(example(t, file)), into); err != nil {
		t.Fatal(err)
	}
}

func example(t *testing.T, file string) string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("..", "..", "..", "examples", "guides", "running-in-ci", file))
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// needsJQ returns a jq. The test is skipped if there is none.
func needsJQ(t *testing.T) string {
	t.Helper()
	if jq, err := exec.LookPath("jq"); err == nil {
		return jq
	}
	return acctest.OnRequest(t, "KUBETAINT_JQ", "jq", "testacc-guides")
}

// TestAccEvictionPreview_pipelinesCommentOnFailedPlans runs the guide's shell with the real
// command line: what would post a comment is put aside instead.
func TestAccEvictionPreview_pipelinesCommentOnFailedPlans(t *testing.T) {
	t.Parallel()
	jq := needsJQ(t)
	broken := func(config string) string { return config + "resource {}\n" }
	for forge, p := range map[string]pipeline{"GitHub": github(t), "GitLab": gitlab(t), "Atlantis": atlantis(t)} {
		for name, tt := range map[string]struct {
			limit    string
			breaks   func(config string) string
			fails    bool
			comments bool
			// earlier is set where an earlier run has left its plan file.
			earlier bool
		}{
			"a plan within the limit":                        {"2", nil, false, true, false},
			"a plan beyond the limit":                        {"1", nil, true, true, false},
			"a plan that cannot be made":                     {"2", broken, true, false, false},
			"a plan that cannot be made, after one that was": {"2", broken, true, false, true},
			"a preview that has no output": {"2", func(config string) string {
				return strings.ReplaceAll(config, `output "taint_preview"`, `output "other"`)
			}, true, false, false},
		} {
			t.Run(forge+" "+name, func(t *testing.T) {
				t.Parallel()
				c, cli := acctest.Connect(t), acctest.NewCLI(t)
				pool, namespace := acctest.Name(t, "pool"), c.Namespace(t)
				c.Node(t, acctest.Node{Name: pool, Labels: map[string]string{"pool": pool}})
				c.Pod(t, namespace, "one", pool, nil)
				c.Pod(t, namespace, "two", pool, nil)
				config := strings.ReplaceAll(example(t, "preview.tf"), "pool=gpu", "pool="+pool)
				config = strings.Replace(config, "max_pods = 5", "max_pods = "+tt.limit, 1)
				if tt.earlier {
					cli.Write(c.Provider(t), config)
					cli.MustRun("plan", "-input=false", "-out="+p.plan)
				}
				if tt.breaks != nil {
					config = tt.breaks(config)
				}
				cli.Write(c.Provider(t), config)
				out, ok := p.run(t, cli, jq)
				if ok == tt.fails {
					t.Errorf("it succeeds: %t\n%s", ok, out)
				}
				comment, err := os.ReadFile(filepath.Join(cli.Dir, "comment"))
				if err == nil != tt.comments {
					t.Fatalf("it comments: %t\n%s", err == nil, out)
				}
				if want := fmt.Sprintf("> [!CAUTION]\n> **Applying dedicated=gpu:NoExecute to 1 node matching \"pool=%s\" evicts 2 pods: 2 lost**\n", pool); tt.comments && !strings.HasPrefix(string(comment), want) {
					t.Errorf("the comment is\n%s", comment)
				}
			})
		}
	}
}

// run runs the steps with the command line of the test.
func (p pipeline) run(t *testing.T, cli *acctest.CLI, jq string) (output string, ok bool) {
	t.Helper()
	programs := filepath.Join(cli.Dir, "programs")
	if err := os.Mkdir(programs, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(jq, filepath.Join(programs, "jq")); err != nil {
		t.Fatal(err)
	}
	stub := func(name, script string) {
		if err := os.WriteFile(filepath.Join(programs, name), []byte("#!/bin/sh\n"+script+"\n"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	plan := cli.Command()
	// The provider of a test needs no init, which would ask a registry.
	stub("terraform", `[ "$1" = init ] || exec '`+plan.Path+`' "$@"`)
	stub(p.posts, `case "$*" in *'`+p.file+`'*) cp preview.md comment ;; *) exit 64 ;; esac`)
	for _, step := range p.steps {
		cmd := exec.CommandContext(t.Context(), p.shell[0], append(p.shell[1:len(p.shell):len(p.shell)], "-c", step)...)
		cmd.Dir = cli.Dir
		cmd.Env = append(append(plan.Env, p.env...), "PATH="+programs+":"+os.Getenv("PATH"))
		out, err := cmd.CombinedOutput()
		output += string(out)
		if err != nil {
			return output, false
		}
	}
	return output, true
}
