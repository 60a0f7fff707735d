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

// machineAPIOptions are the flags that ask for it.
type machineAPIOptions struct {
	wanted bool
	flags  string
}

// addMachineAPI adds the flags to a command.
func addMachineAPI(flags *flag.FlagSet) *machineAPIOptions {
	o := &machineAPIOptions{}
	flags.BoolVar(&o.wanted, "machine-api", false, "play OpenShift's Machine API on the cluster")
	flags.StringVar(&o.flags, "machine-api-flags", "", "`flags` of that, in one word")
	return o
}

// programs builds what the cluster runs.
func (o *machineAPIOptions) programs(ctx context.Context, b *builder) (programs, error) {
	if o.flags != "" && !o.wanted {
		return programs{}, usageError{errors.New("--machine-api-flags needs --machine-api")}
	}
	controlPlane, err := b.binary(ctx, clusterComponent)
	if err != nil || !o.wanted {
		return programs{controlPlane: controlPlane}, err
	}
	binary, err := b.binary(ctx, machineAPIComponent)
	if err != nil {
		return programs{}, err
	}
	crds, err := crdDir(ctx, filepath.Join(b.modules, machineAPIComponent))
	if err != nil {
		return programs{}, err
	}
	return programs{
		controlPlane: controlPlane,
		machineAPI:   &machineAPI{binary: binary, crds: crds, flags: strings.Fields(o.flags)},
	}, nil
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
	args := []string{"--binary", p.controlPlane}
	if m := p.machineAPI; m != nil {
		args = append(args, "--machine-api-binary", m.binary, "--machine-api-crds", m.crds, "--machine-api-flags", strings.Join(m.flags, " "))
	}
	return args
}

// addPrograms reads such arguments, once the flags are parsed.
func addPrograms(flags *flag.FlagSet) func() programs {
	controlPlane := flags.String("binary", "", "`path` of the control plane")
	binary := flags.String("machine-api-binary", "", "`path` of the Machine API")
	crds := flags.String("machine-api-crds", "", "`folder` of its definitions")
	more := flags.String("machine-api-flags", "", "its `flags`")
	return func() programs {
		p := programs{controlPlane: *controlPlane}
		if *binary != "" {
			p.machineAPI = &machineAPI{binary: *binary, crds: *crds, flags: strings.Fields(*more)}
		}
		return p
	}
}
