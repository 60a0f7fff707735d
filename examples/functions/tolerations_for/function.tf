locals {
  taints = [
    { key = "dedicated", value = "gpu", effect = "NoExecute" },
  ]
}

# One list serves both sides: the taints of the nodes, and the tolerations of
# the pods that run there.
resource "kubetaint_node_taints" "gpu" {
  node_selector = "pool=gpu"
  taints        = local.taints
}

# [{ key = "dedicated", operator = "Equal", value = "gpu", effect = "NoExecute", toleration_seconds = null }]
output "tolerations" {
  value = provider::kubetaint::tolerations_for(local.taints)
}
