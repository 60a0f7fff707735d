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

# Nodes with GPUs are kept for pods that request one: whoever makes such a pod, and
# whenever, it tolerates the taint and runs on these nodes.
resource "kubetaint_dedicated_nodes" "gpu" {
  node_selector = "accelerator=nvidia"

  taints = [
    { key = "nvidia.com/gpu", value = "present", effect = "NoSchedule" },
  ]

  labels = {
    "example.com/dedicated" = "gpu"
  }

  admission = {
    name = "gpu"
    pin  = true

    match = {
      requests = ["nvidia.com/gpu"]
    }
  }

  # The controller of DaemonSets asks the template: without the toleration there, a new
  # node would have no device plug-in, and no GPU to offer.
  workloads = [
    { kind = "DaemonSet", namespace = "gpu-operator", name = "nvidia-device-plugin" },
  ]
}

# Before anything is applied: who would leave if a node went away.
data "kubetaint_eviction_preview" "lost" {
  node_selector = "accelerator=nvidia"

  taints = [
    { key = "node.kubernetes.io/unreachable", effect = "NoExecute" },
  ]
}

output "lost" {
  value = data.kubetaint_eviction_preview.lost.markdown
}
