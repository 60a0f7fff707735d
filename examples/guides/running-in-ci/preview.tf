locals {
  dedicated = [{ key = "dedicated", value = "gpu", effect = "NoExecute" }]
}

resource "kubetaint_node_taints" "gpu" {
  node_selector = "pool=gpu"
  taints        = local.dedicated
  evictions     = { max_pods = 5 }
}

data "kubetaint_eviction_preview" "gpu" {
  node_selector = "pool=gpu"
  taints        = local.dedicated
}

output "taint_preview" {
  value = data.kubetaint_eviction_preview.gpu.markdown
}
