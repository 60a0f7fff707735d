resource "kubetaint_node_taints" "batch" {
  node_selector = "pool=batch"
  taints        = [{ key = "dedicated", value = "batch", effect = "NoExecute" }]
  evictions     = { max_pods = 5 }
}
