locals {
  dedicated = [{ key = "dedicated", value = "gpu", effect = "NoExecute" }]
}

resource "kubetaint_node_taints" "gpu" {
  node_selector = "pool=gpu"
  taints        = local.dedicated
}

data "kubetaint_eviction_preview" "gpu" {
  node_selector = "pool=gpu"
  taints        = local.dedicated
}

check "nothing_is_lost" {
  assert {
    condition     = data.kubetaint_eviction_preview.gpu.summary.lost == 0
    error_message = "Pods without a controller would be lost."
  }
}
