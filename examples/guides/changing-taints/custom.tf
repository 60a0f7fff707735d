resource "kubetaint_workload_tolerations" "prometheus" {
  workload = { api_version = "monitoring.coreos.com/v1", kind = "Prometheus", namespace = "monitoring", name = "main" }
  path     = "spec.tolerations"

  tolerations = provider::kubetaint::tolerations_for(local.team)
}
