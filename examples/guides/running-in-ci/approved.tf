resource "kubetaint_node_taints" "ml" {
  node_selector = "pool=ml"

  taints = [
    { key = "dedicated", value = "ml", effect = "NoExecute" },
  ]

  evictions = {
    only = [
      "ml/*",
      "shop/Deployment/web",
    ]
  }
}
