// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package main

import (
	"fmt"
	"strings"
)

// component is something that the test bed builds from a folder of modules.
type component struct {
	// name is the name in commands and in the cache.
	name string
	// folder is the folder in modules; empty means name.
	folder string
	// modFile pins the versions instead of the folder's go.mod; empty means go.mod.
	modFile string
	// title is how progress lines call it.
	title string
	// version is shown in progress lines and is part of the cache key; what is
	// really built is what go.mod pins, and a test compares the two.
	version string
	// module is the path whose version that is.
	module string
	// pkg is the main package to build, in that module or in a dependency.
	pkg string
	// binary is the name of the file in the cache. Tools that look at their own
	// name need their usual one.
	binary string
	// vars are linker variables, name=value.
	vars []string
	// cgo is set where a dependency is written in C: the build needs a C compiler.
	cgo bool
	// cold reports how long a build takes without any Go cache.
	cold string
}

const (
	// clusterComponent is the component that holds everything a cluster runs.
	clusterComponent = "controlplane"
	// machineAPIComponent is what a cluster with OpenShift's Machine API runs beside
	// it.
	machineAPIComponent = "machineapi"
	// terraformComponent is the command line that tests and the demo drive.
	terraformComponent = "terraform"
)

// components lists all that can be built, the cluster's first.
func components() []component {
	return append(controlPlanes(), []component{
		{
			name:    machineAPIComponent,
			title:   "Machine API",
			version: "v0.0.0-20260715165912-72066cc9718b",
			module:  "github.com/openshift/api",
			pkg:     ".",
			binary:  "machineapi",
			cold:    "2 minutes",
		},
		{
			name:    terraformComponent,
			title:   "Terraform",
			version: "v1.16.0",
			module:  "github.com/hashicorp/terraform",
			pkg:     "github.com/hashicorp/terraform",
			binary:  "terraform",
			vars:    []string{"github.com/hashicorp/terraform/version.dev=no"},
			cold:    "3 minutes",
		},
		{
			// The oldest that the provider supports. It stores no identities.
			name:    terraformComponent + "-1.11",
			folder:  terraformComponent,
			modFile: "1.11.mod",
			title:   "Terraform",
			version: "v1.11.4",
			module:  "github.com/hashicorp/terraform",
			pkg:     "github.com/hashicorp/terraform",
			binary:  "terraform",
			vars:    []string{"github.com/hashicorp/terraform/version.dev=no"},
			cold:    "3 minutes",
		},
		{
			name:    "opentofu",
			title:   "OpenTofu",
			version: "v1.12.6",
			module:  "github.com/opentofu/opentofu",
			pkg:     "github.com/opentofu/opentofu/cmd/tofu",
			binary:  "tofu",
			vars:    []string{"github.com/opentofu/opentofu/version.dev=no"},
			cold:    "3 minutes",
		},
		{
			name:    "golangci-lint",
			title:   "golangci-lint",
			version: "v2.15.0",
			module:  "github.com/golangci/golangci-lint/v2",
			pkg:     "github.com/golangci/golangci-lint/v2/cmd/golangci-lint",
			binary:  "golangci-lint",
			// Without a date it would take its version from this module's.
			vars: []string{"main.version=2.15.0", "main.date=unknown"},
			cold: "3 minutes",
		},
		{
			name:    "goreleaser",
			title:   "GoReleaser",
			version: "v2.13.0",
			module:  "github.com/goreleaser/goreleaser/v2",
			pkg:     "github.com/goreleaser/goreleaser/v2",
			binary:  "goreleaser",
			vars:    []string{"main.version=2.13.0"},
			cold:    "4 minutes",
		},
		{
			name:    "changie",
			title:   "changie",
			version: "v1.24.0",
			module:  "github.com/miniscruff/changie",
			pkg:     "github.com/miniscruff/changie",
			binary:  "changie",
			vars:    []string{"main.version=1.24.0"},
			cold:    "1 minute",
		},
		{
			name:    "govulncheck",
			title:   "govulncheck",
			version: "v1.9.0",
			module:  "golang.org/x/vuln",
			pkg:     "golang.org/x/vuln/cmd/govulncheck",
			binary:  "govulncheck",
			cold:    "1 minute",
		},
		{
			name:    "kind",
			title:   "kind",
			version: "v0.33.0",
			module:  "sigs.k8s.io/kind",
			pkg:     "sigs.k8s.io/kind",
			binary:  "kind",
			cold:    "1 minute",
		},
		{
			// The controller of Rollouts, which tests run on request only.
			name:    "argo-rollouts",
			title:   "Argo Rollouts",
			version: "v1.10.1",
			module:  "github.com/argoproj/argo-rollouts",
			pkg:     "github.com/argoproj/argo-rollouts/cmd/rollouts-controller",
			binary:  "rollouts-controller",
			cold:    "4 minutes",
		},
		{
			// The controllers of CloneSets and of DaemonSets that are not Kubernetes' own,
			// which tests run on request only.
			name:    "kruise",
			title:   "OpenKruise",
			version: "v1.9.1",
			module:  "github.com/openkruise/kruise",
			pkg:     ".",
			binary:  "kruise",
			cold:    "4 minutes",
		},
		{
			// It evaluates the policies of the examples, which tests do on request only.
			name:    "opa",
			title:   "Open Policy Agent",
			version: "v1.22.3",
			module:  "github.com/open-policy-agent/opa",
			pkg:     "github.com/open-policy-agent/opa",
			binary:  "opa",
			cold:    "3 minutes",
		},
		{
			// It runs the same policies as pipelines do, which tests do on request only.
			name:    "conftest",
			title:   "conftest",
			version: "v0.71.1",
			module:  "github.com/open-policy-agent/conftest",
			pkg:     "github.com/open-policy-agent/conftest",
			binary:  "conftest",
			cold:    "4 minutes",
		},
		{
			// jq in Go, for the shell of the guides on machines that have none.
			name:    "gojq",
			title:   "gojq",
			version: "v0.12.19",
			module:  "github.com/itchyny/gojq",
			pkg:     "github.com/itchyny/gojq/cmd/gojq",
			binary:  "gojq",
			cold:    "1 minute",
		},
		{
			name:    "tfplugindocs",
			title:   "tfplugindocs",
			version: "v0.25.0",
			module:  "github.com/hashicorp/terraform-plugin-docs",
			pkg:     "github.com/hashicorp/terraform-plugin-docs/cmd/tfplugindocs",
			binary:  "tfplugindocs",
			vars:    []string{"github.com/hashicorp/terraform-plugin-docs/cmd/tfplugindocs/build.version=0.25.0"},
			cold:    "1 minute",
		},
		{
			// It reads the comments of Go files by a parser that is written in C.
			name:    "vale",
			title:   "Vale",
			version: "v3.26.0",
			module:  "github.com/vale-cli/vale/v3",
			pkg:     "github.com/vale-cli/vale/v3/cmd/vale",
			binary:  "vale",
			vars:    []string{"main.version=3.26.0"},
			cgo:     true,
			cold:    "2 minutes",
		},
	}...)
}

// moduleFolder returns the folder in modules.
func (c component) moduleFolder() string {
	if c.folder == "" {
		return c.name
	}
	return c.folder
}

// modFileName returns the name of the file that pins the versions.
func (c component) modFileName() string {
	if c.modFile == "" {
		return "go.mod"
	}
	return c.modFile
}

// findComponent looks a component up by name.
func findComponent(name string) (component, error) {
	var names []string
	for _, c := range components() {
		if c.name == name {
			return c, nil
		}
		names = append(names, c.name)
	}
	return component{}, fmt.Errorf("unknown component %q, want one of %s", name, strings.Join(names, ", "))
}
