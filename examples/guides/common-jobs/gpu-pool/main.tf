resource "kubetaint_node_taints" "gpu" {
  node_selector = "accelerator=nvidia"
  taints        = [{ key = "nvidia.com/gpu", value = "present", effect = "NoSchedule" }]
  tolerated_by  = [kubetaint_workload_tolerations.device_plugin.id]
}

# Without this toleration, a new node has no device plug-in, and offers no GPU.
resource "kubetaint_workload_tolerations" "device_plugin" {
  workload    = { kind = "DaemonSet", namespace = "gpu-operator", name = "nvidia-device-plugin" }
  tolerations = [{ key = "nvidia.com/gpu", operator = "Exists", effect = "NoSchedule" }]
}
