resource "kubetaint_dedicated_nodes" "shop" {
  node_selector = "pool=shop"
  taints        = [{ key = "dedicated", value = "shop", effect = "NoExecute" }]
  labels        = { "example.com/dedicated" = "shop" }

  workloads = [
    { kind = "Deployment", namespace = "shop", name = "checkout", pin = true },
    { kind = "Deployment", namespace = "shop", name = "cart", pin = true },
  ]

  # Pods of others on these nodes are evicted.
  evictions = { max_pods = 10, protected_namespaces = ["kube-system"] }
}
