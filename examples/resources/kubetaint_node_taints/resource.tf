# One node, by name. The plan names every pod that leaves.
resource "kubetaint_node_taints" "gpu" {
  node_name = "worker-3"

  taints = [
    {
      key    = "dedicated"
      value  = "gpu"
      effect = "NoExecute"
    },
  ]
}

# Every node of a pool, those included that join it later. A plan that would
# evict more than five pods, or any pod of these namespaces, is an error.
resource "kubetaint_node_taints" "batch" {
  node_selector = "pool=batch,zone in (a,b)"

  taints = [
    { key = "workload", value = "batch", effect = "NoSchedule" },
    { key = "workload", value = "batch", effect = "NoExecute" },
  ]

  evictions = {
    max_pods             = 5
    protected_namespaces = ["kube-system", "payments"]
    protected_selector   = "tier=critical"
  }
}

# A taint that must not be there. Destroying the resource puts it back.
resource "kubetaint_node_taints" "single_node" {
  node_name = "master-0"

  absent_taints = [
    { key = "node-role.kubernetes.io/control-plane", effect = "NoSchedule" },
  ]
}

# A taint that somebody has put there by hand is taken on instead of refused.
# Destroying the resource then removes it.
resource "kubetaint_node_taints" "adopted" {
  node_name   = "worker-7"
  on_conflict = "adopt"

  taints = [
    { key = "maintenance", effect = "NoSchedule" },
  ]
}
