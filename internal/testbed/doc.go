// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

// Command testbed gives kubetaint's tests a real Kubernetes cluster without
// containers, and the real command line tools, all built from Go modules.
//
// A cluster is etcd, kube-apiserver, kube-controller-manager and kube-scheduler
// as plain processes on loopback ports, so evictions are those of the real
// taint-eviction controller; kwok plays the kubelet of every node that carries
// the annotation kwok.x-k8s.io/node: fake. The five come from one multi-call
// binary, modules/controlplane, that is linked once.
//
// Commands:
//
//	testbed build [COMPONENT...]       build, by default what a cluster needs
//	testbed path COMPONENT             build when needed, print the binary's path
//	testbed path --installed terraform print the path of a terraform or tofu on PATH
//	                                   that is new enough, or else of a built one
//	testbed run [--dir DIR] -- CMD...  run CMD beside a cluster of its own
//	testbed up [--name NAME]           start a cluster in the background
//	testbed down [--name NAME]         stop it and remove its folder
//
// --kubernetes 1.34, or KUBETAINT_KUBERNETES=1.34, chooses an older control plane.
// All versions are built from the Go files of modules/controlplane: the newest by
// go.mod, and the others by files such as 1.34.mod.
//
// With --machine-api, run and up play OpenShift's Machine API on the cluster,
// modules/machineapi: MachineSets make Machines, and those make nodes of kwok.
// Without it the cluster knows no Machines. Its times are OpenShift's, minutes
// where a drain is stuck; --machine-api-flags '--drain-timeout=2s' sets others.
// --machine-api-flags --faithful adds the habits that OpenShift's has and most tests are
// spared.
//
// It is a module of its own, to be built first, since CMD runs in the caller's
// working directory and `go -C` would change that:
//
//	go -C internal/testbed build -o "$PWD/bin/testbed" .
//	bin/testbed run -- go test ./...
//
// Each folder of modules pins one component by its go.mod and go.sum, and another
// version of it by files such as 1.11.mod and 1.11.sum. Binaries are kept in the
// user's cache folder, or in KUBETAINT_CACHE, keyed by all that goes into them: a
// second clone builds nothing.
//
// CMD finds the cluster through KUBE_CONFIG_PATH and KUBECONFIG, an admin
// kubeconfig, and through KUBETAINT_TESTBED_DIR, a folder with these files:
//
//	kubeconfig            the same kubeconfig
//	audit.log             one JSON event per API request, at level Metadata
//	pids/COMPONENT.pid    the process id of a component
//	logs/COMPONENT.log    what a component wrote
//
// A component that dies is started again immediately on the same port and with the
// same data, so a test may kill the API server by its pid file. Everything is
// torn down when CMD ends, however it ends, and on Linux also when testbed
// itself is killed.
package main
