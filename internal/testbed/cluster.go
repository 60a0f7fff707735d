// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
)

// etcdPeerPort names the port that etcd wants for peers that it never has.
const etcdPeerPort = "etcd-peer"

// dirEnv tells a command where the cluster's files are.
const dirEnv = "KUBETAINT_TESTBED_DIR"

// cluster is a running cluster.
type cluster struct {
	settings
	programs
	held      []*port
	processes []*process
}

// programs is what a cluster runs.
type programs struct {
	controlPlane string
	// apiServerFlags and controllerManagerFlags come after the test bed's own.
	apiServerFlags, controllerManagerFlags []string
	// machineAPI is nil for a cluster without one.
	machineAPI *machineAPI
}

// startCluster starts a cluster with its files in dir and returns when it can be
// used. A cluster that did not start is torn down again.
func startCluster(ctx context.Context, run programs, cache, dir string) (*cluster, error) {
	c := &cluster{programs: run}
	if err := c.prepare(ctx, cache, dir); err != nil {
		c.stop()
		return nil, err
	}
	if err := c.start(ctx); err != nil {
		c.stop()
		return nil, err
	}
	return c, nil
}

// prepare reserves ports and writes all files, so that components can be
// configured before any of them runs.
func (c *cluster) prepare(ctx context.Context, cache, dir string) error {
	c.dir = dir
	c.ports = map[string]int{}
	for _, name := range []string{etcdName, etcdPeerPort, apiServerName, controllerManagerName, schedulerName, kwokName, machineAPIName} {
		port, err := reservePort(cache)
		if err != nil {
			return err
		}
		c.held = append(c.held, port)
		c.ports[name] = port.number
	}
	for _, sub := range []string{"pids", "logs"} {
		if err := os.MkdirAll(c.path(sub), 0o755); err != nil {
			return fmt.Errorf("making the cluster's folder: %w", err)
		}
	}
	var err error
	if c.pki, err = newPKI(c.path("pki")); err != nil {
		return err
	}
	c.identities = identities(dir)
	if err := writeIdentities(c.identities, c.path("tokens.csv"), c.apiServerURL(), c.pki.caPEM); err != nil {
		return err
	}
	if err := os.WriteFile(c.path("audit-policy.yaml"), []byte(auditPolicy), 0o644); err != nil {
		return fmt.Errorf("writing the audit policy: %w", err)
	}
	stages, err := exec.CommandContext(ctx, c.controlPlane, "kwok-stages").Output()
	if err != nil {
		return fmt.Errorf("asking kwok for its stages: %w", err)
	}
	if err := os.WriteFile(c.path("kwok.yaml"), append(stages, gracefulStage...), 0o644); err != nil {
		return fmt.Errorf("writing kwok's stages: %w", err)
	}
	return nil
}

// gracefulStage has kwok delete pods with a label when their grace periods end. Of the stages that match a pod it takes one
// with a weight, so that all other pods are deleted immediately.
const gracefulStage = `
---
apiVersion: kwok.x-k8s.io/v1alpha1
kind: Stage
metadata:
  name: pod-delete-after-grace-period
spec:
  resourceRef:
    apiGroup: v1
    kind: Pod
  selector:
    matchLabels:
      testbed.kubetaint.io/grace-period: taken
    matchExpressions:
    - key: .metadata.deletionTimestamp
      operator: Exists
  weight: 1
  delay:
    durationMilliseconds: 0
    durationFrom:
      expressionFrom: .metadata.deletionTimestamp
  next:
    delete: true
`

// start starts the components in the order in which they need each other. The
// clients of the API server would survive an earlier start, but only by waiting
// longer than it takes.
func (c *cluster) start(ctx context.Context) error {
	client := newProbeClient(c.pki.caPEM)
	defer client.CloseIdleConnections()
	local := func(scheme, name, path string) probe {
		return probe{client: client, url: scheme + "://" + address(c.ports[name]) + path}
	}
	// Every controller runs once the default service account exists, which the
	// controller manager makes; any identity but the admin's may ask, so that the
	// audit log is the test's alone.
	account := probe{
		client: client,
		url:    c.apiServerURL() + "/api/v1/namespaces/default/serviceaccounts/default",
		token:  c.identities[kwokName].token,
	}

	etcd, err := c.launch(etcdName, c.etcdFlags())
	if err != nil {
		return err
	}
	if err := local("http", etcdName, "/health").wait(ctx, etcd); err != nil {
		return err
	}
	apiServer, err := c.launch(apiServerName, append(c.settings.apiServerFlags(), c.programs.apiServerFlags...))
	if err != nil {
		return err
	}
	if err := local("https", apiServerName, "/readyz").wait(ctx, apiServer); err != nil {
		return err
	}
	manager, err := c.launch(controllerManagerName, append(c.settings.controllerManagerFlags(), c.programs.controllerManagerFlags...))
	if err != nil {
		return err
	}
	scheduler, err := c.launch(schedulerName, c.schedulerFlags())
	if err != nil {
		return err
	}
	kwok, err := c.launch(kwokName, c.kwokFlags())
	if err != nil {
		return err
	}
	if err := account.wait(ctx, manager); err != nil {
		return err
	}
	if err := local("https", schedulerName, "/readyz").wait(ctx, scheduler); err != nil {
		return err
	}
	if err := local("http", kwokName, "/healthz").wait(ctx, kwok); err != nil {
		return err
	}
	if c.machineAPI == nil {
		return nil
	}
	machineAPI, err := c.launchProgram(machineAPIName, c.machineAPI.binary, c.machineAPIFlags(c.machineAPI))
	if err != nil {
		return err
	}
	return local("http", machineAPIName, "/readyz").wait(ctx, machineAPI)
}

// launch starts one component of the multi-call binary.
func (c *cluster) launch(name string, flags []string) (*process, error) {
	return c.launchProgram(name, c.controlPlane, append([]string{name}, flags...))
}

// launchProgram starts a program under supervision.
func (c *cluster) launchProgram(name, binary string, args []string) (*process, error) {
	p := newProcess(c.dir, name, binary, args)
	if err := p.run(); err != nil {
		return nil, err
	}
	c.processes = append(c.processes, p)
	return p, nil
}

// stop stops the components in reverse order, so that none sees another one
// missing, and gives the ports back.
func (c *cluster) stop() {
	for _, p := range slices.Backward(c.processes) {
		p.stop()
	}
	for _, port := range c.held {
		port.lock.release()
	}
	c.processes, c.held = nil, nil
}

// environment returns what a command needs to find the cluster.
func (c *cluster) environment() []string {
	return clusterEnvironment(c.dir)
}

// clusterEnvironment returns the variables for the cluster in a folder.
func clusterEnvironment(dir string) []string {
	config := filepath.Join(dir, "kubeconfig")
	return []string{
		"KUBE_CONFIG_PATH=" + config,
		"KUBECONFIG=" + config,
		dirEnv + "=" + dir,
	}
}
