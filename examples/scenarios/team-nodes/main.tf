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

# The nodes of pool=shop are for the shop alone. What is said once here is used
# for both sides: change the value, and taints and tolerations change together.
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

# What runs on every node has to tolerate the taint as well. With Exists it does
# so whatever the value is, and is not restarted when the value changes.
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

  # Whoever else runs on these nodes leaves. More than ten pods, or any pod of
  # these namespaces, is an error at plan.
  evictions = {
    max_pods             = 10
    protected_namespaces = ["shop", "platform", "kube-system"]
  }
}
