# { key = "dedicated", value = "gpu", effect = "NoExecute" }
output "taint" {
  value = provider::kubetaint::parse_taint("dedicated=gpu:NoExecute")
}

# Taints of a resource, written as kubectl shows them.
resource "kubetaint_node_taints" "gpu" {
  node_name = "worker-3"
  taints    = [for t in ["dedicated=gpu:NoExecute", "dedicated=gpu:NoSchedule"] : provider::kubetaint::parse_taint(t)]
}
