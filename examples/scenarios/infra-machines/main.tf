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

# Infra machines are for OpenShift's own services.
# They are tainted in place: no machine is replaced, and NoSchedule evicts no pod.
resource "kubetaint_machine_set_taints" "infra" {
  name = "infra"

  taints = [
    { key = "node-role.kubernetes.io/infra", effect = "NoSchedule" },
  ]

  rollout      = { strategy = "in_place" }
  tolerated_by = [for one in kubetaint_workload_tolerations.infra : one.id]
}

# These workloads tolerate the taint before it is added.
resource "kubetaint_workload_tolerations" "infra" {
  for_each = {
    logs   = { kind = "StatefulSet", namespace = "logging", name = "loki" }
    images = { kind = "Deployment", namespace = "artifacts", name = "registry" }
  }

  workload = each.value

  tolerations = [
    { key = "node-role.kubernetes.io/infra", operator = "Exists" },
  ]
}
