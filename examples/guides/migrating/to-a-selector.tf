removed {
  from = kubernetes_node_taint.pool

  lifecycle {
    destroy = false
  }
}

import {
  to = kubetaint_node_taints.pool
  id = "selector/pool=gpu/dedicated:NoExecute"
}

resource "kubetaint_node_taints" "pool" {
  node_selector = "pool=gpu"

  taints = [
    { key = "dedicated", value = "gpu", effect = "NoExecute" },
  ]
}
