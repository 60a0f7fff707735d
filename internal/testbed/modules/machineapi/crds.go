// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// typesModule holds OpenShift's types and their definitions.
	typesModule = "github.com/openshift/api"
	// served bounds the wait until a new kind can be used.
	served = 30 * time.Second
)

// definitions returns the files of the kinds, as a cluster without feature gates has
// them.
func (o options) definitions() map[string]string {
	files := map[string]string{
		"Machine":    "0000_10_machine-api_01_machines-Default.crd.yaml",
		"MachineSet": "0000_10_machine-api_01_machinesets-Default.crd.yaml",
	}
	if o.faithful {
		files["MachineHealthCheck"] = "0000_10_machine-api_01_machinehealthchecks.crd.yaml"
	}
	return files
}

// refuseOpenShift returns an error for a cluster whose own controllers would be
// fought.
func refuseOpenShift(ctx context.Context, c client.Client) error {
	version := &unstructured.Unstructured{}
	version.SetGroupVersionKind(schema.GroupVersionKind{Group: "config.openshift.io", Version: "v1", Kind: "ClusterVersion"})
	err := c.Get(ctx, client.ObjectKey{Name: "version"}, version)
	switch {
	case err == nil:
		return errors.New("this is an OpenShift cluster: it has a Machine API of its own, with machines that cost money")
	case meta.IsNoMatchError(err), apierrors.IsNotFound(err):
		return nil
	default:
		return fmt.Errorf("finding out whether this is an OpenShift cluster: %w", err)
	}
}

// installCRDs installs the definitions that the cluster does not have yet, and
// waits until their kinds are served.
func installCRDs(ctx context.Context, c client.Client, definitions map[string]string, dir string) error {
	if dir == "" {
		var err error
		if dir, err = crdDir(ctx); err != nil {
			return err
		}
	}
	for kind, file := range definitions {
		raw, err := os.ReadFile(filepath.Join(dir, file))
		if err != nil {
			return fmt.Errorf("reading the definition of %s: %w", kind, err)
		}
		crd := &unstructured.Unstructured{}
		if err := yaml.Unmarshal(raw, &crd.Object); err != nil {
			return fmt.Errorf("reading the definition of %s: %w", kind, err)
		}
		if err := c.Create(ctx, crd); err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("installing the definition of %s: %w", kind, err)
		}
	}
	for kind := range definitions {
		if err := waitServed(ctx, c, kind); err != nil {
			return fmt.Errorf("waiting until %ss are served: %w", kind, err)
		}
	}
	return nil
}

func waitServed(ctx context.Context, c client.Client, kind string) error {
	return wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, served, true, func(ctx context.Context) (bool, error) {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(schema.GroupVersionKind{Group: "machine.openshift.io", Version: "v1beta1", Kind: kind + "List"})
		err := c.List(ctx, list, client.Limit(1))
		if meta.IsNoMatchError(err) || apierrors.IsNotFound(err) {
			return false, nil
		}
		return err == nil, err
	})
}

// crdDir asks the go command for the folder, since go:embed stops at module
// borders.
func crdDir(ctx context.Context) (string, error) {
	cmd := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", typesModule)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	dir := strings.TrimSpace(string(out))
	if err != nil || dir == "" {
		return "", fmt.Errorf("the go command does not know %s here: run it in the folder of this module, or name the folder of the definitions with --crds (%w)", typesModule, err)
	}
	return filepath.Join(dir, "machine", "v1beta1", "zz_generated.crd-manifests"), nil
}
