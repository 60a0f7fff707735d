# What would this taint evict? Nothing is changed.
data "kubetaint_eviction_preview" "gpu" {
  node_selector = "pool=gpu"

  taints = [
    { key = "dedicated", value = "gpu", effect = "NoExecute" },
  ]
}

# In CI, terraform show -json of the plan has it: guide "Preview evictions in CI".
output "gpu_preview" {
  value = data.kubetaint_eviction_preview.gpu.markdown
}

# A failed check warns. In a precondition the same conditions stop the plan.
check "nothing_is_lost" {
  assert {
    condition     = data.kubetaint_eviction_preview.gpu.summary.lost == 0
    error_message = "Pods without a controller run on the nodes of the pool: nothing would recreate them."
  }

  assert {
    condition     = data.kubetaint_eviction_preview.gpu.summary.pending_max == 0
    error_message = "Some of the evicted pods would stay Pending."
  }

  assert {
    condition = alltrue([
      for pod in data.kubetaint_eviction_preview.gpu.pods : pod.namespace != "payments" || pod.verdict == "stays"
    ])
    error_message = "Pods of the namespace payments would be evicted."
  }
}

# Compares the strategies for a MachineSet, with the verdicts of a plan of
# kubetaint_machine_set_taints.
data "kubetaint_eviction_preview" "infra" {
  for_each = toset(["in_place", "surge", "rolling"])

  machine_sets = {
    selector = "pool=infra"
    rollout  = { strategy = each.key }
  }

  taints = [
    { key = "node-role.kubernetes.io/infra", effect = "NoExecute" },
  ]
}

output "infra_costs" {
  value = { for strategy, preview in data.kubetaint_eviction_preview.infra : strategy => preview.summary }
}

# What if this node becomes unreachable? Only previews accept taints of
# Kubernetes' own controllers.
data "kubetaint_eviction_preview" "outage" {
  node_name = "worker-3"

  taints = [
    { key = "node.kubernetes.io/unreachable", effect = "NoExecute" },
  ]
}
