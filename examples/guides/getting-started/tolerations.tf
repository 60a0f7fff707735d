resource "kubetaint_workload_tolerations" "web" {
  workload    = { kind = "Deployment", namespace = "default", name = "web" }
  tolerations = provider::kubetaint::tolerations_for(local.dedicated)
}
