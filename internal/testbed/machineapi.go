// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
)

// machineAPI is the program that plays OpenShift's Machine API on a cluster.
type machineAPI struct {
	binary string
	// crds is the folder of the custom resource definitions.
	crds string
	// flags are those that the caller adds.
	flags []string
}

// clusterOptions are the flags that report what a cluster runs.
type clusterOptions struct {
	wanted bool
	flags  string
	// apiServer and controllerManager are flags of these beside their own.
	apiServer, controllerManager string
	kubernetes                   *string
}

// addClusterFlags adds the flags to a command.
func addClusterFlags(flags *flag.FlagSet) *clusterOptions {
	o := &clusterOptions{}
	flags.BoolVar(&o.wanted, "machine-api", false, "play OpenShift's Machine API on the cluster")
	flags.StringVar(&o.flags, "machine-api-flags", "", "`flags` of that, in one word")
	flags.StringVar(&o.apiServer, "api-server-flags", "", "more `flags` of the API server, in one word")
	flags.StringVar(&o.controllerManager, "controller-manager-flags", "", "more `flags` of the controller manager, in one word")
	o.kubernetes = addKubernetesFlag(flags)
	return o
}

// programs builds what the cluster runs.
func (o *clusterOptions) programs(ctx context.Context, b *builder) (programs, error) {
	if o.flags != "" && !o.wanted {
		return programs{}, usageError{errors.New("--machine-api-flags needs --machine-api")}
	}
	controlPlane, err := b.chosen(ctx, clusterComponent, *o.kubernetes)
	out := programs{controlPlane: controlPlane, apiServerFlags: words(o.apiServer), controllerManagerFlags: words(o.controllerManager)}
	if err != nil || !o.wanted {
		return out, err
	}
	binary, err := b.binary(ctx, machineAPIComponent)
	if err != nil {
		return programs{}, err
	}
	crds, err := crdDir(ctx, filepath.Join(b.modules, machineAPIComponent))
	if err != nil {
		return programs{}, err
	}
	out.machineAPI = &machineAPI{binary: binary, crds: crds, flags: strings.Fields(o.flags)}
	return out, nil
}

// words splits flags that were given in one word, nil for none.
func words(flags string) []string {
	if flags == "" {
		return nil
	}
	return strings.Fields(flags)
}

// crdDir returns the folder of the definitions in the module of OpenShift's
// types, in the version that a module of the test bed requires. The binary may
// come from the cache of another machine: so the module is downloaded if need be.
func crdDir(ctx context.Context, moduleDir string) (string, error) {
	c, err := findComponent(machineAPIComponent)
	if err != nil {
		return "", err
	}
	cmd := exec.CommandContext(ctx, "go", "mod", "download", "-json", c.module)
	cmd.Dir = moduleDir
	cmd.Env = buildEnv()
	out, err := cmd.Output()
	var module struct{ Dir, Error string }
	if jsonErr := json.Unmarshal(out, &module); err == nil {
		err = jsonErr
	}
	if err != nil {
		return "", fmt.Errorf("finding the definitions of Machines: %w %s", err, module.Error)
	}
	return filepath.Join(module.Dir, "machine", "v1beta1", "zz_generated.crd-manifests"), nil
}

// arguments tell a supervisor what to run.
func (p programs) arguments() []string {
	args := []string{
		"--binary", p.controlPlane,
		"--api-server-flags", strings.Join(p.apiServerFlags, " "), "--controller-manager-flags", strings.Join(p.controllerManagerFlags, " "),
	}
	if m := p.machineAPI; m != nil {
		args = append(args, "--machine-api-binary", m.binary, "--machine-api-crds", m.crds, "--machine-api-flags", strings.Join(m.flags, " "))
	}
	return args
}

// addPrograms reads such arguments, once the flags are parsed.
func addPrograms(flags *flag.FlagSet) func() programs {
	controlPlane := flags.String("binary", "", "`path` of the control plane")
	apiServer := flags.String("api-server-flags", "", "more `flags` of the API server")
	controllerManager := flags.String("controller-manager-flags", "", "more `flags` of the controller manager")
	binary := flags.String("machine-api-binary", "", "`path` of the Machine API")
	crds := flags.String("machine-api-crds", "", "`folder` of its definitions")
	more := flags.String("machine-api-flags", "", "its `flags`")
	return func() programs {
		p := programs{controlPlane: *controlPlane, apiServerFlags: words(*apiServer), controllerManagerFlags: words(*controllerManager)}
		if *binary != "" {
			p.machineAPI = &machineAPI{binary: *binary, crds: *crds, flags: strings.Fields(*more)}
		}
		return p
	}
}
