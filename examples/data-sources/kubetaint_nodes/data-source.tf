# Every node, with its labels, its taints and who owns them.
data "kubetaint_nodes" "all" {}

# Workers with a taint of this key, with any value and effect.
data "kubetaint_nodes" "dedicated" {
  selector = "node-role.kubernetes.io/worker"

  taint = {
    key = "dedicated"
  }
}

# Taints that no kubetaint resource owns, by node.
output "foreign_taints" {
  value = {
    for node in data.kubetaint_nodes.all.nodes : node.name => [
      for taint in node.taints : provider::kubetaint::format_taint(taint) if taint.owner == null
    ]
  }
}
