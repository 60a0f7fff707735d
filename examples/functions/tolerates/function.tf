locals {
  tolerations = [
    { key = "dedicated", operator = "Exists", effect = "NoExecute", toleration_seconds = 300 },
  ]
}

# true, for any value, although the pod is evicted after 300 seconds.
output "gpu" {
  value = provider::kubetaint::tolerates(local.tolerations, { key = "dedicated", value = "gpu", effect = "NoExecute" })
}

# false: the effect is another one.
output "no_schedule" {
  value = provider::kubetaint::tolerates(local.tolerations, { key = "dedicated", value = "gpu", effect = "NoSchedule" })
}
