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
	"time"
)

// configuration is what the demo shows and applies.
const configuration = `resource "kubetaint_node_taints" "gpu" {
  node_selector = "pool=gpu"
  taints        = [{ key = "dedicated", value = "gpu", effect = "NoExecute" }]
}

data "kubetaint_eviction_preview" "gpu" {
  node_selector = "pool=gpu"
  taints        = [{ key = "dedicated", value = "gpu", effect = "NoExecute" }]
}
`

// preamble is what the reader need not see. The output carries the predictions
// into the saved plan.
const preamble = `terraform {
  required_providers {
    kubetaint = { source = "kubetaint/kubetaint" }
  }
}

provider "kubetaint" {
  config_path = %q
}

locals {
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

// terraform is a command line with the provider built from this tree.
type terraform struct {
	binary, dir string
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
	tf := &terraform{binary: binary, dir: dir}
	return tf, errors.Join(tf.install(ctx), tf.write("main.tf", fmt.Sprintf(preamble, os.Getenv("KUBE_CONFIG_PATH"))+configuration), tf.command(ctx, "init").Run())
}

// install builds the provider into a mirror folder, from which the command line
// installs it as it would from the registry.
func (tf *terraform) install(ctx context.Context) error {
	mirror := filepath.Join(tf.dir, "mirror")
	binary := filepath.Join(mirror, "registry.terraform.io", "kubetaint", "kubetaint", "0.0.1", runtime.GOOS+"_"+runtime.GOARCH, "terraform-provider-kubetaint_v0.0.1")
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
		return "leaves at once"
	case "evicted_after":
		return fmt.Sprintf("leaves after %d s", int(p.after.Seconds()))
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
