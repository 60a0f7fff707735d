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

# The nodes of pool=shop are for the shop only. Taints and tolerations use the same
# value: change it here, and both change together.
locals {
  dedicated = [
    { key = "dedicated", value = "shop", effect = "NoExecute" },
  ]

  deployments = toset(["checkout", "cart", "search"])
}

resource "kubetaint_workload_tolerations" "shop" {
  for_each = local.deployments

  workload = {
    kind      = "Deployment"
    namespace = "shop"
    name      = each.key
  }

  tolerations = provider::kubetaint::tolerations_for(local.dedicated)
}

# DaemonSets that run on every node need a toleration too. Exists tolerates every
# value, so a changed value restarts no pod.
resource "kubetaint_workload_tolerations" "agents" {
  workload = {
    kind      = "DaemonSet"
    namespace = "platform"
    selector  = "tier=agent"
  }

  tolerations = [
    { key = "dedicated", operator = "Exists" },
  ]
}

resource "kubetaint_node_taints" "shop" {
  node_selector = "pool=shop"
  taints        = local.dedicated

  tolerated_by = concat(
    [for one in kubetaint_workload_tolerations.shop : one.id],
    [kubetaint_workload_tolerations.agents.id],
  )

  # Other pods on these nodes are evicted. More than ten, or any of these
  # namespaces, is an error at plan.
  evictions = {
    max_pods             = 10
    protected_namespaces = ["shop", "platform", "kube-system"]
  }
}
