# New pods of the namespace tolerate the taint of their team's nodes.
resource "kubetaint_namespace_tolerations" "payments" {
  namespace = "payments"

  default = [
    { key = "team", value = "payments", effect = "NoSchedule" },
  ]
}

# Pods of the namespace can have these tolerations only. Include those that the API
# server adds to every pod.
resource "kubetaint_namespace_tolerations" "sandbox" {
  namespace = "sandbox"

  allowed = [
    { key = "node.kubernetes.io/not-ready", operator = "Exists", effect = "NoExecute" },
    { key = "node.kubernetes.io/unreachable", operator = "Exists", effect = "NoExecute" },
    { key = "node.kubernetes.io/memory-pressure", operator = "Exists", effect = "NoSchedule" },
    { key = "spot", operator = "Exists" },
  ]
}
