# One node. The plan lists every workload whose pods are evicted.
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

# All nodes of a pool. A plan that evicts more than five pods or a pod of these
# namespaces, loses a pod, or has more than two that stay Pending, is an error.
resource "kubetaint_node_taints" "batch" {
  node_selector = "pool=batch,zone in (a,b)"

  taints = [
    { key = "workload", value = "batch", effect = "NoSchedule" },
    { key = "workload", value = "batch", effect = "NoExecute" },
  ]

  evictions = {
    max_pods             = 5
    max_pending          = 2
    max_lost             = 0
    protected_namespaces = ["kube-system", "payments"]
    protected_selector   = "tier=critical"
  }
}

# Removes a taint. Destroying the resource restores it.
resource "kubetaint_node_taints" "single_node" {
  node_name = "master-0"

  absent_taints = [
    { key = "node-role.kubernetes.io/control-plane", effect = "NoSchedule" },
  ]
}

# Adopts a taint that was added by hand. Destroying the resource removes it.
resource "kubetaint_node_taints" "adopted" {
  node_name   = "worker-7"
  on_conflict = "adopt"

  taints = [
    { key = "maintenance", effect = "NoSchedule" },
  ]
}
