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

# kubeadm taints the control-plane node. This removes the taint, so that workloads
# can run there. Destroying the resource restores it.
resource "kubetaint_node_taints" "single_node" {
  node_selector = "node-role.kubernetes.io/control-plane"

  absent_taints = [
    { key = "node-role.kubernetes.io/control-plane", effect = "NoSchedule" },
  ]
}
