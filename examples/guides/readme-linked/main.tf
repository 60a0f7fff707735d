locals {
  dedicated = [{ key = "dedicated", value = "gpu", effect = "NoExecute" }]
}

resource "kubetaint_workload_tolerations" "trainer" {
  workload    = { kind = "Deployment", namespace = "ml", name = "trainer" }
  tolerations = provider::kubetaint::tolerations_for(local.dedicated)
}

resource "kubetaint_node_taints" "gpu" {
  node_selector = "pool=gpu"
  taints        = local.dedicated
  tolerated_by  = [kubetaint_workload_tolerations.trainer.id]
}
