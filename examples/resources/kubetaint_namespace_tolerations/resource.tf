# Every pod that is made in the namespace tolerates the taint of its team's nodes.
resource "kubetaint_namespace_tolerations" "payments" {
  namespace = "payments"

  default = [
    { key = "team", value = "payments", effect = "NoSchedule" },
  ]
}

# Pods of the namespace may tolerate this and nothing else. What every pod has must be
# allowed as well.
resource "kubetaint_namespace_tolerations" "sandbox" {
  namespace = "sandbox"

  allowed = [
    { key = "node.kubernetes.io/not-ready", operator = "Exists", effect = "NoExecute" },
    { key = "node.kubernetes.io/unreachable", operator = "Exists", effect = "NoExecute" },
    { key = "node.kubernetes.io/memory-pressure", operator = "Exists", effect = "NoSchedule" },
    { key = "spot", operator = "Exists" },
  ]
}
