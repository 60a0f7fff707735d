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

# GPU nodes for pods that request a GPU. Every such pod tolerates the taint and runs
# on these nodes, also pods that are created later.
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

  # The DaemonSet controller decides by the template. Without the toleration there, a
  # new node has no device plug-in, and offers no GPU.
  workloads = [
    { kind = "DaemonSet", namespace = "gpu-operator", name = "nvidia-device-plugin" },
  ]
}

# Which pods are evicted if a node is lost.
data "kubetaint_eviction_preview" "lost" {
  node_selector = "accelerator=nvidia"

  taints = [
    { key = "node.kubernetes.io/unreachable", effect = "NoExecute" },
  ]
}

output "lost" {
  value = data.kubetaint_eviction_preview.lost.markdown
}
