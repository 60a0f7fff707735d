# Which workloads tolerate a new taint?
data "kubetaint_workloads" "gpu" {
  taints = [
    { key = "dedicated", value = "gpu", effect = "NoExecute" },
  ]
}

# For each workload: forever, for some seconds, or not at all.
output "gpu_tolerance" {
  value = {
    for workload in data.kubetaint_workloads.gpu.workloads :
    "${workload.namespace}/${workload.kind}/${workload.name}" => (
      !workload.tolerates ? "no" : workload.for_seconds == null ? "forever" : "for ${workload.for_seconds} s"
    )
  }
}

# Tolerations without effect, because an earlier one in the same pod decides.
output "shadowed" {
  value = flatten([
    for workload in data.kubetaint_workloads.gpu.workloads : [
      for taint in workload.taints :
      "${workload.namespace}/${workload.name}: ${taint.toleration} decides, not ${join(", ", taint.shadowed)}"
      if length(taint.shadowed) > 0
    ]
  ])
}

# Payments must survive ten minutes of a node outage. Only data sources accept
# taints of Kubernetes' own controllers.
data "kubetaint_workloads" "payments" {
  namespaces = ["payments"]
  selector   = "tier in (api,worker)"

  taints = [
    { key = "node.kubernetes.io/unreachable", effect = "NoExecute" },
    { key = "node.kubernetes.io/not-ready", effect = "NoExecute" },
  ]
}

check "payments_survive_an_outage" {
  assert {
    condition = alltrue([
      for workload in data.kubetaint_workloads.payments.workloads :
      workload.for_seconds == null ? true : workload.for_seconds >= 600
    ])
    error_message = "Some pods of the namespace payments are evicted from an unreachable node in less than ten minutes."
  }
}
