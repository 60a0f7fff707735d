resource "kubetaint_node_taints" "spot" {
  node_selector = "pool=spot"

  taints = [
    { key = "spot", effect = "NoExecute" },
  ]

  evictions = {
    max_pods             = 5
    protected_namespaces = ["kube-system", "payments"]
    protected_selector   = "tier=critical"
  }
}
