# Who tolerates a taint that is about to come?
data "kubetaint_workloads" "gpu" {
  taints = [
    { key = "dedicated", value = "gpu", effect = "NoExecute" },
  ]
}

# By namespace, kind and name: for ever, for some seconds, or not at all.
output "gpu_tolerance" {
  value = {
    for workload in data.kubetaint_workloads.gpu.workloads :
    "${workload.namespace}/${workload.kind}/${workload.name}" => (
      !workload.tolerates ? "no" : workload.for_seconds == null ? "for ever" : "for ${workload.for_seconds} s"
    )
  }
}

# Tolerations that have no effect, because an earlier one of the same pod decides.
output "shadowed" {
  value = flatten([
    for workload in data.kubetaint_workloads.gpu.workloads : [
      for taint in workload.taints :
      "${workload.namespace}/${workload.name}: ${taint.toleration} decides, not ${join(", ", taint.shadowed)}"
      if length(taint.shadowed) > 0
    ]
  ])
}

# Payments must sit out an outage of ten minutes. Taints of Kubernetes' own
# controllers are refused for writing, but not here.
data "kubetaint_workloads" "payments" {
  namespaces = ["payments"]
  selector   = "tier in (api,worker)"

  taints = [
    { key = "node.kubernetes.io/unreachable", effect = "NoExecute" },
    { key = "node.kubernetes.io/not-ready", effect = "NoExecute" },
  ]
}

check "payments_sit_out_an_outage" {
  assert {
    condition = alltrue([
      for workload in data.kubetaint_workloads.payments.workloads :
      workload.for_seconds == null ? true : workload.for_seconds >= 600
    ])
    error_message = "Some pods of the namespace payments leave an unreachable node in less than ten minutes."
  }
}
