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

# Keeps pods without a toleration off GPU nodes. NoSchedule evicts no pods: those
# that run there now stay.
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

# Without this toleration, a new node has no device plug-in, and offers no GPU.
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

# All Deployments of the namespace with the label. New ones get the toleration at
# the next apply.
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

# Which running pods could not be scheduled on these nodes again. The data source reads
# pods as they are now, so name the tolerations that the resources above add. Workloads of a
# selector cannot be named: they are listed until they have the toleration.
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
