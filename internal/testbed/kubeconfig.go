// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package main

import (
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// adminUser is the name of the kubeconfig's user in the audit log.
const adminUser = "kubetaint-admin"

// identity is a user of the cluster.
type identity struct {
	user       string
	token      string
	kubeconfig string
}

// identities makes one user for the tests and one for each component, so that
// the audit log tells them apart. All are in system:masters: the cluster is a
// test's own, and the controller manager would otherwise need a service account
// per controller.
func identities(dir string) map[string]identity {
	users := map[string]identity{
		"admin": {user: adminUser, kubeconfig: filepath.Join(dir, "kubeconfig")},
	}
	for name, user := range map[string]string{
		controllerManagerName: "system:kube-controller-manager",
		schedulerName:         "system:kube-scheduler",
		kwokName:              "system:kwok",
		machineAPIName:        "system:machine-api",
	} {
		users[name] = identity{user: user, kubeconfig: filepath.Join(dir, "kubeconfigs", name)}
	}
	for name, id := range users {
		id.token = rand.Text()
		users[name] = id
	}
	return users
}

// writeIdentities writes the API server's token file and every kubeconfig.
func writeIdentities(users map[string]identity, tokenFile, server string, caPEM []byte) error {
	var tokens strings.Builder
	for _, id := range users {
		fmt.Fprintf(&tokens, "%s,%s,%s,\"system:masters\"\n", id.token, id.user, id.user)
		if err := os.MkdirAll(filepath.Dir(id.kubeconfig), 0o755); err != nil {
			return fmt.Errorf("writing kubeconfigs: %w", err)
		}
		if err := os.WriteFile(id.kubeconfig, kubeconfig(server, id, caPEM), 0o600); err != nil {
			return fmt.Errorf("writing kubeconfigs: %w", err)
		}
	}
	if err := os.WriteFile(tokenFile, []byte(tokens.String()), 0o600); err != nil {
		return fmt.Errorf("writing the token file: %w", err)
	}
	return nil
}

// kubeconfig renders a kubeconfig of one cluster and one user.
func kubeconfig(server string, id identity, caPEM []byte) []byte {
	return fmt.Appendf(nil, `apiVersion: v1
kind: Config
clusters:
- name: testbed
  cluster:
    server: %s
    certificate-authority-data: %s
contexts:
- name: testbed
  context:
    cluster: testbed
    user: %[3]s
current-context: testbed
users:
- name: %[3]s
  user:
    token: %[4]s
`, server, base64.StdEncoding.EncodeToString(caPEM), id.user, id.token)
}
