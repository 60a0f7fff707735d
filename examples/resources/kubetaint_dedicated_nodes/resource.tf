# GPU nodes for the workloads that need them, and for nobody else. Adding a
# workload, changing the value of a taint and destroying all of it are each one
# apply that evicts nobody.
resource "kubetaint_dedicated_nodes" "gpu" {
  node_selector = "pool=gpu"

  taints = [
    { key = "dedicated", value = "gpu", effect = "NoExecute" },
  ]

  labels = {
    "example.com/dedicated" = "gpu"
  }

  workloads = [
    # These pods may run on the nodes, and nowhere else.
    { kind = "Deployment", namespace = "ml", name = "training", pin = true },
    { kind = "StatefulSet", namespace = "ml", name = "cache", pin = true },
    # These pods may run on the nodes as well.
    { kind = "DaemonSet", namespace = "monitoring", name = "node-exporter" },
  ]

  # A plan that would evict anybody else is an error.
  evictions = {
    max_pods = 0
  }
}

# Infrastructure nodes of OpenShift, by name. The ingress controller may run there. To move
# it there, set spec.nodePlacement.nodeSelector of the IngressController: pin is only for
# kinds with a pod template.
resource "kubetaint_dedicated_nodes" "infra" {
  node_names = ["infra-0", "infra-1", "infra-2"]

  taints = [
    { key = "node-role.kubernetes.io/infra", effect = "NoSchedule" },
    { key = "node-role.kubernetes.io/infra", effect = "NoExecute" },
  ]

  labels = {
    "node-role.kubernetes.io/infra" = ""
  }

  workloads = [
    { kind = "IngressController", namespace = "openshift-ingress-operator", name = "default" },
  ]

  timeouts = {
    create = "30m"
  }
}

# The machines of an OpenShift MachineSet, those that come later included. The
# taints reach the machines that exist one after the other, by new machines.
resource "kubetaint_dedicated_nodes" "batch" {
  machine_sets = {
    name    = "batch-a"
    rollout = { strategy = "surge" }
  }

  taints = [
    { key = "dedicated", value = "batch", effect = "NoSchedule" },
  ]

  labels = {
    "example.com/dedicated" = "batch"
  }

  workloads = [
    { kind = "Deployment", namespace = "batch", name = "runner", pin = true },
  ]
}
