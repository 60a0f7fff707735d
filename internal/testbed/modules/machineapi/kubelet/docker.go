// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package kubelet

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"strings"
)

const (
	// start writes the kubeconfig, which comes on standard input, and lets the unit of
	// kind's node image run the kubelet under another name. The flags stand after those
	// of kubeadm, and the last of a flag counts.
	start = `set -eu
cat > /etc/kubernetes/played.conf
echo "KUBELET_EXTRA_ARGS=--hostname-override=$0 --kubeconfig=/etc/kubernetes/played.conf --runtime-cgroups=/system.slice/containerd.service" > /etc/default/kubelet
systemctl reset-failed kubelet 2> /dev/null || true
systemctl restart kubelet`
	// stop leaves nothing of the Node that the worker served: neither its pods nor what
	// the kubelet has written down of them.
	stop = `set -eu
systemctl stop kubelet
crictl --timeout 30s rmp --all --force > /dev/null 2>&1 || true
awk '$2 ~ "^/var/lib/kubelet/pods/" { print $2 }' /proc/mounts | xargs --no-run-if-empty umount
rm -rf /var/lib/kubelet/pods /var/lib/kubelet/*_state`
)

// docker runs commands in the containers that kind makes.
type docker struct {
	// controlPlane is the container that has the cluster's certificate authority.
	controlPlane string
}

func (d *docker) start(ctx context.Context, worker, node string) error {
	// The kubelet is who it says to be, so that what the API server forbids nodes is
	// forbidden here as well.
	kubeconfig, err := inside(ctx, d.controlPlane, "", "kubeadm", "kubeconfig", "user",
		"--config=/kind/kubeadm.conf", "--client-name=system:node:"+node, "--org=system:nodes")
	if err != nil {
		return err
	}
	_, err = inside(ctx, worker, kubeconfig, "bash", "-c", start, node)
	return err
}

func (d *docker) stop(ctx context.Context, worker string) error {
	_, err := inside(ctx, worker, "", "bash", "-c", stop)
	return err
}

// inside runs a command in a container and returns what it writes.
func inside(ctx context.Context, container, input string, command ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "docker", append([]string{"exec", "--interactive", container}, command...)...)
	cmd.Stdin = strings.NewReader(input)
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("running %s in the container %s: %w: %s", command[0], container, err, strings.TrimSpace(said.String()))
	}
	return string(out), nil
}
