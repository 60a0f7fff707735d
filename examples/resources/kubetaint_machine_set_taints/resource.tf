# GPU machines for pods that tolerate the taint. One machine is added before the
# others are replaced, so the capacity stays.
resource "kubetaint_machine_set_taints" "gpu" {
  name = "cluster-x7k2p-gpu-us-east-1a"

  taints = [
    { key = "nvidia.com/gpu", value = "present", effect = "NoSchedule" },
  ]

  rollout = { strategy = "surge", max_surge = 1 }
}

# All infra MachineSets. No machine is replaced: each Machine and its node is
# changed, one after the other. A plan that evicts more than five pods is an error.
resource "kubetaint_machine_set_taints" "infra" {
  selector = "pool=infra"

  taints = [
    { key = "node-role.kubernetes.io/infra", effect = "NoSchedule" },
    { key = "node-role.kubernetes.io/infra", effect = "NoExecute" },
  ]

  rollout   = { strategy = "in_place" }
  evictions = { max_pods = 5 }

  # Wait until the router has its toleration.
  tolerated_by = [kubetaint_workload_tolerations.router.id]
}

resource "kubetaint_workload_tolerations" "router" {
  workload = {
    kind      = "IngressController"
    namespace = "openshift-ingress-operator"
    name      = "default"
  }

  tolerations = [
    { key = "node-role.kubernetes.io/infra", operator = "Exists" },
  ]
}

# Two machines are replaced at a time. A drain respects PodDisruptionBudgets.
resource "kubetaint_machine_set_taints" "batch" {
  name = "cluster-x7k2p-batch"

  taints = [
    { key = "workload", value = "batch", effect = "NoSchedule" },
  ]

  rollout  = { strategy = "rolling", max_unavailable = 2 }
  timeouts = { create = "3h", update = "3h", delete = "3h" }
}
