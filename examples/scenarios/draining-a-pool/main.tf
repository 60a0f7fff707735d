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

# Pods without a toleration are evicted immediately, the web servers after one
# minute, the database after ten. The tolerations restart these pods once, before
# the taints are written.
locals {
  seconds = {
    "Deployment/shop/web" = 60
    "StatefulSet/data/db" = 600
  }
}

resource "kubetaint_workload_tolerations" "wave" {
  for_each = local.seconds

  workload = {
    kind      = split("/", each.key)[0]
    namespace = split("/", each.key)[1]
    name      = split("/", each.key)[2]
  }

  tolerations = [
    { key = "pool-retired", operator = "Exists", effect = "NoExecute", toleration_seconds = each.value },
  ]
}

resource "kubetaint_node_taints" "old" {
  node_selector = "pool=old"

  # NoExecute empties the nodes. NoSchedule keeps evicted pods away: they tolerate
  # NoExecute for a time, so the scheduler could place them here again.
  taints = [
    { key = "pool-retired", effect = "NoSchedule" },
    { key = "pool-retired", effect = "NoExecute" },
  ]

  tolerated_by = [for one in kubetaint_workload_tolerations.wave : one.id]

  # Pods of all waves count.
  evictions = {
    max_pods             = 40
    protected_namespaces = ["kube-system"]
  }
}
