resource "kubetaint_node_taints" "single_node" {
  node_selector = "node-role.kubernetes.io/control-plane"
  absent_taints = [{ key = "node-role.kubernetes.io/control-plane", effect = "NoSchedule" }]
}
