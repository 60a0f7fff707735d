# Before, in the same place:
#
#   resource "kubernetes_node_taint" "gpu" {
#     metadata {
#       name = "worker-3"
#     }
#     taint {
#       key    = "dedicated"
#       value  = "gpu"
#       effect = "NoExecute"
#     }
#   }

resource "kubetaint_node_taints" "gpu" {
  node_name = "worker-3"

  taints = [
    { key = "dedicated", value = "gpu", effect = "NoExecute" },
  ]
}

moved {
  from = kubernetes_node_taint.gpu
  to   = kubetaint_node_taints.gpu
}
