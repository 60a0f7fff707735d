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

# The old pool is emptied in waves: what has no toleration leaves at once, the
# web servers after one minute, the database after ten. Giving a workload its
# seconds restarts its pods once, before the taints come.
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

  # NoExecute empties the nodes. NoSchedule keeps those away that tolerate
  # NoExecute for a time: the scheduler would put them back for that long.
  taints = [
    { key = "pool-retired", effect = "NoSchedule" },
    { key = "pool-retired", effect = "NoExecute" },
  ]

  tolerated_by = [for one in kubetaint_workload_tolerations.wave : one.id]

  # Pods that leave after a time count as well.
  evictions = {
    max_pods             = 40
    protected_namespaces = ["kube-system"]
  }
}
