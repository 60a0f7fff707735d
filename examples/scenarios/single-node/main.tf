terraform {
  required_providers {
    kubetaint = {
      source  = "kubetaint/kubetaint"
      version = "~> 0.1"
    }
  }
}

provider "kubetaint" {
  config_path = "~/.kube/config"
}

# On a cluster of one node, workloads run beside the control plane. kubeadm taints
# its node, and this removes the taint. Destroying the resource puts it back.
resource "kubetaint_node_taints" "single_node" {
  node_selector = "node-role.kubernetes.io/control-plane"

  absent_taints = [
    { key = "node-role.kubernetes.io/control-plane", effect = "NoSchedule" },
  ]
}
