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

# Nodes with GPUs are kept free of everything that needs none. NoSchedule evicts
# nobody: what runs there now stays until it ends.
resource "kubetaint_node_taints" "gpu" {
  node_selector = "accelerator=nvidia"

  taints = [
    { key = "nvidia.com/gpu", value = "present", effect = "NoSchedule" },
  ]

  tolerated_by = [
    kubetaint_workload_tolerations.device_plugin.id,
    kubetaint_workload_tolerations.training.id,
  ]
}

# Without its toleration, a new node of the pool would have no device plug-in,
# and no GPU to offer.
resource "kubetaint_workload_tolerations" "device_plugin" {
  workload = {
    kind      = "DaemonSet"
    namespace = "gpu-operator"
    name      = "nvidia-device-plugin"
  }

  tolerations = [
    { key = "nvidia.com/gpu", operator = "Exists", effect = "NoSchedule" },
  ]
}

# Every Deployment of the namespace that carries the label, those included that
# come later: they get the toleration at the next apply.
resource "kubetaint_workload_tolerations" "training" {
  workload = {
    kind      = "Deployment"
    namespace = "ml"
    selector  = "needs=gpu"
  }

  tolerations = [
    { key = "nvidia.com/gpu", operator = "Exists", effect = "NoSchedule" },
  ]
}

# Who would not be scheduled on these nodes again, although it runs there. The data source
# reads pods as they are now: what the resources above are about to give them has to be
# named. Workloads that a selector chooses cannot be: they are listed until they have it.
data "kubetaint_eviction_preview" "gpu" {
  node_selector = "accelerator=nvidia"

  taints = [
    { key = "nvidia.com/gpu", value = "present", effect = "NoSchedule" },
  ]

  added_tolerations = [
    {
      kind      = "DaemonSet"
      namespace = "gpu-operator"
      name      = "nvidia-device-plugin"

      tolerations = [
        { key = "nvidia.com/gpu", operator = "Exists", effect = "NoSchedule" },
      ]
    },
  ]
}

output "gpu_preview" {
  value = data.kubetaint_eviction_preview.gpu.markdown
}
