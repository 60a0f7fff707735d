# "dedicated=gpu:NoExecute"
output "with_value" {
  value = provider::kubetaint::format_taint({ key = "dedicated", value = "gpu", effect = "NoExecute" })
}

# "maintenance:NoSchedule"
output "without_value" {
  value = provider::kubetaint::format_taint({ key = "maintenance", effect = "NoSchedule" })
}
