// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package placement

import (
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/upstream"
)

// ports reads ports such as "TCP/127.0.0.1/80".
func ports(notations ...string) corev1.Container {
	var out corev1.Container
	for _, one := range notations {
		parts := strings.Split(one, "/")
		port, err := strconv.Atoi(parts[2])
		if err != nil {
			panic(err)
		}
		out.Ports = append(out.Ports, corev1.ContainerPort{Protocol: corev1.Protocol(parts[0]), HostIP: parts[1], HostPort: int32(port)})
	}
	return out
}

// TestUpstream_nodePorts has the facts of k8s.io/kubernetes v1.37.2
// pkg/scheduler/framework/plugins/nodeports/node_ports_test.go: which host ports conflict.
func TestUpstream_nodePorts(t *testing.T) {
	t.Parallel()
	rows := upstream.Cases(t)
	always := corev1.ContainerRestartPolicyAlways
	type list = []string
	tests := []struct {
		name        string
		wants, used list
		// init is set where the ports are those of an init container, sidecar of a sidecar.
		init, sidecar bool
		want          answer
	}{
		// TestNodePorts.
		{name: "no ports"},
		{name: "another port", wants: list{"UDP/127.0.0.1/8080"}, used: list{"UDP/127.0.0.1/9090"}},
		{name: "the same UDP port", wants: list{"UDP/127.0.0.1/8080"}, used: list{"UDP/127.0.0.1/8080"}, want: unschedulable},
		{name: "the same TCP port", wants: list{"TCP/127.0.0.1/8080"}, used: list{"TCP/127.0.0.1/8080"}, want: unschedulable},
		{name: "another address", wants: list{"TCP/127.0.0.1/8080"}, used: list{"TCP/127.0.0.2/8080"}},
		{name: "another protocol", wants: list{"UDP/127.0.0.1/8080"}, used: list{"TCP/127.0.0.1/8080"}},
		{name: "the second port", wants: list{"UDP/127.0.0.1/8000", "UDP/127.0.0.1/8080"}, used: list{"UDP/127.0.0.1/8080"}, want: unschedulable},
		{name: "the first of two ports", wants: list{"TCP/127.0.0.1/8001", "UDP/127.0.0.1/8080"}, used: list{"TCP/127.0.0.1/8001", "UDP/127.0.0.1/8081"}, want: unschedulable},
		{name: "all addresses against one", wants: list{"TCP/0.0.0.0/8001"}, used: list{"TCP/127.0.0.1/8001"}, want: unschedulable},
		{name: "one of two on all addresses", wants: list{"TCP/10.0.10.10/8001", "TCP/0.0.0.0/8001"}, used: list{"TCP/127.0.0.1/8001"}, want: unschedulable},
		{name: "one address against all", wants: list{"TCP/127.0.0.1/8001"}, used: list{"TCP/0.0.0.0/8001"}, want: unschedulable},
		{name: "one address against all, another protocol", wants: list{"UDP/127.0.0.1/8001"}, used: list{"TCP/0.0.0.0/8001"}},
		{name: "one address against all, one of two protocols", wants: list{"UDP/127.0.0.1/8001"}, used: list{"TCP/0.0.0.0/8001", "UDP/0.0.0.0/8001"}, want: unschedulable},
		{name: "an init container", wants: list{"TCP//8001"}, used: list{"TCP/0.0.0.0/8001"}, init: true},
		{name: "a sidecar", wants: list{"TCP//8001"}, used: list{"TCP/0.0.0.0/8001"}, sidecar: true, want: unschedulable},

		// Test_isSchedulableAfterAssignedPodDeleted: a pod is tried again where a port becomes free.
		{name: "a pod without ports goes", wants: list{"TCP//8080"}},
		{name: "a pod with another port goes", wants: list{"TCP//8080"}, used: list{"TCP//8081"}},
		{name: "a pod with the port goes", wants: list{"TCP//8080"}, used: list{"TCP//8080"}, want: unschedulable},

		// TestFits.
		{name: "fits: another port", wants: list{"TCP/127.0.0.1/80"}, used: list{"TCP/127.0.0.1/9090"}},
		{name: "fits: four ports and three others", wants: list{"TCP/127.0.0.1/80", "TCP/127.0.1.1/80", "TCP/127.0.1.1/90", "TCP/127.0.1.1/100"}, used: list{"TCP/127.0.0.1/9090", "TCP/127.0.0.1/9191", "TCP/127.0.1.1/8080"}},
		{name: "fits: another protocol", wants: list{"TCP/127.0.0.1/80"}, used: list{"UDP/127.0.0.1/80"}},
		{name: "fits: the same port", wants: list{"TCP/127.0.0.1/80"}, used: list{"TCP/127.0.0.1/80"}, want: unschedulable},
		{name: "fits: one of four ports", wants: list{"TCP/127.0.0.1/80", "TCP/127.0.1.1/80", "TCP/127.0.1.1/90", "TCP/127.0.1.1/100"}, used: list{"TCP/127.0.0.1/9090", "TCP/127.0.1.1/90", "TCP/127.0.1.1/8080"}, want: unschedulable},
	}
	for _, tt := range tests {
		rows.Run(t, tt.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(having(node("n"), 9, 9)).run(fromAPI(&corev1.Pod{Spec: corev1.PodSpec{NodeName: "n", Containers: []corev1.Container{ports(tt.used...)}}}))
			spec, c := corev1.PodSpec{}, ports(tt.wants...)
			if tt.sidecar {
				c.RestartPolicy = &always
			}
			if tt.init || tt.sidecar {
				spec.InitContainers = []corev1.Container{c}
			} else {
				spec.Containers = []corev1.Container{c}
			}
			w.expect(t, fromAPI(&corev1.Pod{Spec: spec}), tt.want)
		})
	}
}
