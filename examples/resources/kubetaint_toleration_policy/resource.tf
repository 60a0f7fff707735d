# Pods that request a GPU tolerate the taint that keeps other pods off GPU nodes.
resource "kubetaint_toleration_policy" "gpu" {
  name = "gpu"

  match = {
    requests = ["nvidia.com/gpu"]
  }

  tolerations = [
    { key = "nvidia.com/gpu", operator = "Exists", effect = "NoSchedule" },
  ]
}

# Pods of two namespaces run on their team's nodes only.
resource "kubetaint_toleration_policy" "payments" {
  name = "payments"

  match = {
    namespaces = ["payments", "payments-batch"]
  }

  tolerations = [
    { key = "team", value = "payments", effect = "NoSchedule" },
  ]

  pin = {
    "example.com/team" = "payments"
  }
}

# The policy is written before the taint, and removed after it.
resource "kubetaint_node_taints" "payments" {
  node_selector = "example.com/team=payments"

  taints = [
    { key = "team", value = "payments", effect = "NoSchedule" },
  ]

  tolerated_by = [kubetaint_toleration_policy.payments.id]
}
