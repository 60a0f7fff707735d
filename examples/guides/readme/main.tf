resource "kubetaint_node_taints" "gpu" {
  node_selector = "pool=gpu"
  taints        = [{ key = "dedicated", value = "gpu", effect = "NoExecute" }]
}
