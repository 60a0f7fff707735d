// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"
)

// previewed is the configuration of the first part, as the reader sees it.
const previewed = `resource "kubetaint_node_taints" "gpu" {
  node_selector = "pool=gpu"
  taints        = [{ key = "dedicated", value = "gpu", effect = "NoExecute" }]
}

data "kubetaint_eviction_preview" "gpu" {
  node_selector = "pool=gpu"
  taints        = [{ key = "dedicated", value = "gpu", effect = "NoExecute" }]
}
`

// linked is that of the second part: the value is said once, and each side of it
// follows.
const linked = `locals {
  taints = [{ key = "team", value = var.team, effect = "NoExecute" }]

  workloads = {
    checkout    = { kind = "Deployment", namespace = "shop", name = "checkout" }
    serving     = { kind = "Deployment", namespace = "ml", name = "serving" }
    trainer     = { kind = "Deployment", namespace = "ml", name = "trainer" }
    db          = { kind = "StatefulSet", namespace = "data", name = "db" }
    log-shipper = { kind = "DaemonSet", namespace = "platform", name = "log-shipper" }
  }
}

resource "kubetaint_workload_tolerations" "pool" {
  for_each    = local.workloads
  workload    = each.value
  tolerations = provider::kubetaint::tolerations_for(local.taints)
}

resource "kubetaint_node_taints" "pool" {
  node_selector = "pool=gpu"
  taints        = local.taints
  tolerated_by  = [for one in kubetaint_workload_tolerations.pool : one.id]
}
`

// preamble is what the reader need not see of both. It names the registry, because
// OpenTofu has another one by default. KUBE_CONFIG_PATH names the cluster.
const preamble = `terraform {
  required_providers {
    kubetaint = { source = "registry.terraform.io/kubetaint/kubetaint" }
  }
}

provider "kubetaint" {}

`

// predicting carries the predictions into the saved plan.
const predicting = `locals {
  pods = [for p in data.kubetaint_eviction_preview.gpu.pods : {
    name    = "${p.namespace}/${p.name}"
    verdict = p.verdict
    after   = p.after_seconds == null ? 0 : p.after_seconds
  }]
}

output "pods" {
  value     = local.pods
  sensitive = true
}

`

// changing takes the value from outside.
const changing = `variable "team" {
  type = string
}

`

// terraform is a command line with the provider built from this tree.
type terraform struct {
	binary, dir string
	// name is what a person types, terraform or tofu.
	name string
}

func newTerraform(ctx context.Context) (*terraform, error) {
	binary := os.Getenv("TF_ACC_TERRAFORM_PATH")
	if binary == "" {
		return nil, errors.New("TF_ACC_TERRAFORM_PATH names no command line (run \"make demo\")")
	}
	dir, err := os.MkdirTemp("", "kubetaint-demo-")
	if err != nil {
		return nil, err
	}
	tf := &terraform{binary: binary, dir: dir, name: nameOf(ctx, binary)}
	return tf, errors.Join(tf.install(ctx), tf.write("main.tf", preamble), tf.command(ctx, "init").Run())
}

// nameOf asks a command line what it is. Its file may have any name.
func nameOf(ctx context.Context, binary string) string {
	cmd := exec.CommandContext(ctx, binary, "version")
	cmd.Env = append(os.Environ(), "CHECKPOINT_DISABLE=1")
	if out, _ := cmd.Output(); strings.HasPrefix(string(out), "OpenTofu ") {
		return "tofu"
	}
	return "terraform"
}

// headline shows the command that comes next, and what is to be said of it.
func (tf *terraform) headline(command string) {
	headline(tf.name + " " + command)
}

// use shows a configuration and takes it in the place of the last one, together
// with what the reader need not see.
func (tf *terraform) use(hidden, shown string) error {
	fmt.Print("\n", shown)
	return tf.write("configuration.tf", hidden+shown)
}

// install builds the provider into a mirror folder, from which the command line
// installs it as it would from the registry.
func (tf *terraform) install(ctx context.Context) error {
	mirror := filepath.Join(tf.dir, "mirror")
	binary := filepath.Join(mirror, "registry.terraform.io", "kubetaint", "kubetaint", "0.1.0", runtime.GOOS+"_"+runtime.GOARCH, "terraform-provider-kubetaint_v0.1.0")
	fmt.Println("building the provider (about a minute the first time)")
	build := exec.CommandContext(ctx, "go", "build", "-o", binary, ".")
	build.Stdout, build.Stderr = os.Stderr, os.Stderr
	if err := build.Run(); err != nil {
		return fmt.Errorf("building the provider: %w", err)
	}
	return tf.write("cli.tfrc", fmt.Sprintf("provider_installation {\n  filesystem_mirror {\n    path = %q\n  }\n}\n", mirror))
}

func (tf *terraform) write(name, content string) error {
	return os.WriteFile(filepath.Join(tf.dir, name), []byte(content), 0o600)
}

func (tf *terraform) cleanUp() {
	_ = os.RemoveAll(tf.dir)
}

func (tf *terraform) command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, tf.binary, args...)
	cmd.Dir = tf.dir
	cmd.Env = append(os.Environ(), "TF_CLI_CONFIG_FILE="+filepath.Join(tf.dir, "cli.tfrc"), "CHECKPOINT_DISABLE=1", "TF_IN_AUTOMATION=1")
	return cmd
}

// show runs a command for the reader to see.
func (tf *terraform) show(ctx context.Context, command string, args ...string) error {
	cmd := tf.command(ctx, append([]string{command, "-input=false"}, args...)...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	return cmd.Run()
}

// kill runs a command, kills it with the provider that it has started, and waits
// until both are gone. It is an error where the command ends before.
func (tf *terraform) kill(ctx context.Context, when <-chan struct{}, command string, args ...string) error {
	cmd := tf.command(ctx, append([]string{command, "-input=false", "-compact-warnings"}, args...)...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	// The provider is in the group, and holds the output open: it dies with the rest.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	select {
	case <-when:
		err := syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		if <-ended == nil {
			return errors.New("the command ended before it was killed")
		}
		fmt.Println("Killed")
		return err
	case err := <-ended:
		return errors.Join(errors.New("the command ended before it could be killed"), err)
	}
}

// summarize runs a command for the reader to see its end: what a plan comes to
// with one line for each warning, or what an apply does without the warnings,
// which are those of its plan.
func (tf *terraform) summarize(ctx context.Context, command string, args ...string) error {
	cmd := tf.command(ctx, append([]string{command, "-input=false", "-compact-warnings"}, args...)...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		fmt.Print(string(out))
		return err
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	from := slices.IndexFunc(lines, func(line string) bool { return strings.Contains(line, "Plan:") })
	lines = lines[max(from, 0):]
	warnings := slices.IndexFunc(lines, func(line string) bool { return strings.Contains(line, "Warnings:") })
	if command != "plan" && warnings >= 0 {
		lines = append(lines[:warnings], lines[len(lines)-1])
	}
	fmt.Println(strings.Join(lines, "\n"))
	return nil
}

// prediction is what the plan says of a pod.
type prediction struct {
	verdict string
	after   time.Duration
}

func (p prediction) leaves() bool {
	return p.verdict == "evicted_now" || p.verdict == "evicted_after"
}

// String words the prediction; a pod that the preview does not name stays.
func (p prediction) String() string {
	switch p.verdict {
	case "evicted_now":
		return "is evicted immediately"
	case "evicted_after":
		return fmt.Sprintf("is evicted after %ds", int(p.after.Seconds()))
	default:
		return "stays"
	}
}

// predictions reads what the saved plan says of each pod.
func (tf *terraform) predictions(ctx context.Context) (map[string]prediction, error) {
	out, err := tf.command(ctx, "show", "-json", "plan").Output()
	if err != nil {
		return nil, err
	}
	var plan struct {
		PlannedValues struct {
			Outputs struct {
				Pods struct {
					Value []struct {
						Name    string `json:"name"`
						Verdict string `json:"verdict"`
						After   int64  `json:"after"`
					} `json:"value"`
				} `json:"pods"`
			} `json:"outputs"`
		} `json:"planned_values"`
	}
	if err := json.Unmarshal(out, &plan); err != nil {
		return nil, err
	}
	predicted := map[string]prediction{}
	for _, p := range plan.PlannedValues.Outputs.Pods.Value {
		predicted[p.Name] = prediction{verdict: p.Verdict, after: time.Duration(p.After) * time.Second}
	}
	return predicted, nil
}
