locals {
  team = [{ key = "team", value = "a", effect = "NoExecute" }]
}

resource "kubetaint_workload_tolerations" "checkout" {
  workload    = { kind = "Deployment", namespace = "shop", name = "checkout" }
  tolerations = provider::kubetaint::tolerations_for(local.team)
}

resource "kubetaint_workload_tolerations" "log_shipper" {
  workload    = { kind = "DaemonSet", namespace = "platform", name = "log-shipper" }
  tolerations = provider::kubetaint::tolerations_for(local.team)
}

resource "kubetaint_node_taints" "pool_a" {
  node_selector = "pool=a"
  taints        = local.team

  tolerated_by = [
    kubetaint_workload_tolerations.checkout.id,
    kubetaint_workload_tolerations.log_shipper.id,
  ]
}
