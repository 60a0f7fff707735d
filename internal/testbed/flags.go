// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package main

import (
	"path/filepath"
	"strconv"
)

// Names of the components, which are also those of their pid and log files.
const (
	etcdName              = "etcd"
	apiServerName         = "kube-apiserver"
	controllerManagerName = "kube-controller-manager"
	schedulerName         = "kube-scheduler"
	kwokName              = "kwok"
	machineAPIName        = "machine-api"
)

// serviceAccountIssuer is the issuer of service account tokens.
const serviceAccountIssuer = "https://kubernetes.default.svc"

// auditPolicy logs each request once, without the noise that an idle cluster
// makes. A test that counts a client's requests selects by user. What tests' providers
// write to workloads and policies is logged with it: a test may leave only tolerations
// to retire whose taint is its own.
const auditPolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: None
  nonResourceURLs: ["/healthz*", "/livez*", "/readyz*"]
- level: None
  users:
  - system:apiserver
  - system:kube-controller-manager
  - system:kube-scheduler
  - system:kwok
  resources:
  - group: coordination.k8s.io
- level: Request
  userGroups: ["system:serviceaccounts:kubetaint-acctest"]
  verbs: [patch, update]
  resources:
  - group: apps
  - group: batch
  - group: admissionregistration.k8s.io
  omitStages: [RequestReceived]
- level: Metadata
`

// settings is all that the flags of a cluster's components depend on.
type settings struct {
	dir        string
	ports      map[string]int
	pki        *pki
	identities map[string]identity
}

func (s settings) path(name string) string {
	return filepath.Join(s.dir, name)
}

func (s settings) apiServerURL() string {
	return "https://" + address(s.ports[apiServerName])
}

func (s settings) etcdURL() string {
	return "http://" + address(s.ports[etcdName])
}

// etcdFlags trades durability for speed: the data live as long as the test.
func (s settings) etcdFlags() []string {
	peer := "http://" + address(s.ports[etcdPeerPort])
	return []string{
		"--name=testbed",
		"--data-dir=" + s.path("etcd"),
		"--listen-client-urls=" + s.etcdURL(),
		"--advertise-client-urls=" + s.etcdURL(),
		"--listen-peer-urls=" + peer,
		"--initial-advertise-peer-urls=" + peer,
		"--initial-cluster=testbed=" + peer,
		"--unsafe-no-fsync",
		"--log-level=warn",
	}
}

// apiServerFlags keeps every default that a client could notice, but for the
// ServiceAccount admission plug-in: pods need no token to be evicted, and with
// it they could not be made before their namespace has a service account.
func (s settings) apiServerFlags() []string {
	return append(s.servingFlags(apiServerName),
		"--etcd-servers="+s.etcdURL(),
		// Nothing outside this machine is to reach the server, so the default
		// service needs no endpoints, which may not be loopback addresses.
		"--advertise-address=127.0.0.1",
		"--endpoint-reconciler-type=none",
		"--token-auth-file="+s.path("tokens.csv"),
		"--authorization-mode=RBAC,Node",
		"--disable-admission-plugins=ServiceAccount",
		"--service-account-issuer="+serviceAccountIssuer,
		"--service-account-key-file="+s.pki.serviceAccountKeyFile,
		"--service-account-signing-key-file="+s.pki.serviceAccountKeyFile,
		"--service-cluster-ip-range=10.0.0.0/16",
		"--audit-policy-file="+s.path("audit-policy.yaml"),
		"--audit-log-path="+s.path("audit.log"),
		// A test reads one file: it must not be rotated away.
		"--audit-log-maxsize=100000",
		"--max-requests-inflight=2000",
		"--max-mutating-requests-inflight=1000",
	)
}

// controllerManagerFlags has time for nodes without a heartbeat: only the test
// decides which taints a node gets.
func (s settings) controllerManagerFlags() []string {
	return append(s.clientFlags(controllerManagerName),
		"--node-monitor-grace-period=1h",
		"--service-account-private-key-file="+s.pki.serviceAccountKeyFile,
		"--root-ca-file="+s.pki.caFile,
	)
}

// schedulerFlags have pods tried again soon whose turn the scheduler may have missed: its
// own failsafe against that comes after five minutes, when every test has given up.
func (s settings) schedulerFlags() []string {
	return append(s.clientFlags(schedulerName), "--pod-max-in-unschedulable-pods-duration=20s")
}

// kwokFlags makes kwok play the kubelet of marked nodes only, so that a test
// can have nodes without a kubelet.
func (s settings) kwokFlags() []string {
	return []string{
		"--kubeconfig=" + s.identities[kwokName].kubeconfig,
		"--config=" + s.path("kwok.yaml"),
		"--manage-all-nodes=false",
		"--manage-nodes-with-annotation-selector=kwok.x-k8s.io/node=fake",
		"--server-address=" + address(s.ports[kwokName]),
	}
}

// machineAPIFlags come before those of the caller, who may know better.
func (s settings) machineAPIFlags(m *machineAPI) []string {
	return append([]string{
		"--kubeconfig=" + s.identities[machineAPIName].kubeconfig,
		"--crds=" + m.crds,
		"--health-address=" + address(s.ports[machineAPIName]),
	}, m.flags...)
}

// clientFlags are those of components that are clients of the API server. The
// limits suit tests with thousands of pods.
func (s settings) clientFlags(name string) []string {
	return append(s.servingFlags(name),
		"--kubeconfig="+s.identities[name].kubeconfig,
		"--leader-elect=false",
		"--kube-api-qps=1000",
		"--kube-api-burst=2000",
	)
}

// servingFlags are those of the Kubernetes servers, which for two of them serve
// their health alone.
func (s settings) servingFlags(name string) []string {
	return []string{
		"--bind-address=127.0.0.1",
		"--secure-port=" + strconv.Itoa(s.ports[name]),
		"--tls-cert-file=" + s.pki.servingCertFile,
		"--tls-private-key-file=" + s.pki.servingKeyFile,
	}
}
