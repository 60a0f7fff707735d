// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package main

import (
	"flag"
	"fmt"
	"os"
	"strings"
)

// kubernetesEnv names the version of Kubernetes where --kubernetes does not.
const kubernetesEnv = "KUBETAINT_KUBERNETES"

// kubernetesVersions are the versions that a control plane can have. The first one is
// the default.
var kubernetesVersions = []string{"v1.37.2", "v1.36.5", "v1.35.8", "v1.34.12"}

// controlPlanes returns one component for each version. All are built from the same
// Go files: the default from the folder's go.mod, the others from files such as
// 1.36.mod, which each repeat the staging repositories in their version.
func controlPlanes() []component {
	const kube = "k8s.io/component-base/version."
	var planes []component
	for i, version := range kubernetesVersions {
		minor := minorOf(version)
		c := component{
			name:    clusterComponent,
			folder:  clusterComponent,
			title:   "kube control plane",
			version: version,
			module:  "k8s.io/kubernetes",
			pkg:     ".",
			binary:  "controlplane",
			vars: []string{
				kube + "gitVersion=" + version,
				kube + "gitMajor=1",
				kube + "gitMinor=" + strings.TrimPrefix(minor, "1."),
				kube + "gitTreeState=clean",
				"sigs.k8s.io/kwok/pkg/consts.Version=v0.8.0",
			},
			cold: "7 minutes",
		}
		if i > 0 {
			c.name += "-" + minor
			c.modFile = minor + ".mod"
		}
		planes = append(planes, c)
	}
	return planes
}

// minorOf returns 1.36 for v1.36.5.
func minorOf(version string) string {
	major, rest, _ := strings.Cut(strings.TrimPrefix(version, "v"), ".")
	minor, _, _ := strings.Cut(rest, ".")
	return major + "." + minor
}

// controlPlaneFor returns the name of the component for a version such as 1.36 or
// v1.36.5, and of the default for none.
func controlPlaneFor(version string) (string, error) {
	var minors []string
	for _, c := range controlPlanes() {
		minor := minorOf(c.version)
		switch strings.TrimPrefix(version, "v") {
		case "", minor, strings.TrimPrefix(c.version, "v"):
			return c.name, nil
		}
		minors = append(minors, minor)
	}
	return "", usageError{fmt.Errorf("no control plane of Kubernetes %s, want one of %s", version, strings.Join(minors, ", "))}
}

// addKubernetesFlag adds the flag that chooses the version to a command.
func addKubernetesFlag(flags *flag.FlagSet) *string {
	return flags.String("kubernetes", os.Getenv(kubernetesEnv), "`version` of Kubernetes, such as 1.36")
}
