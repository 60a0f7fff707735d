locals {
  taints = [
    { key = "dedicated", value = "gpu", effect = "NoSchedule" },
    { key = "maintenance", effect = "NoExecute" },
  ]
}

# [{ key = "maintenance", value = null, effect = "NoExecute" }]
output "missing" {
  value = provider::kubetaint::untolerated(local.taints, [
    { key = "dedicated", value = "gpu" },
  ])
}
