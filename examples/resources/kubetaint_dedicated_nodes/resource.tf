# GPU nodes for some workloads only.
resource "kubetaint_dedicated_nodes" "gpu" {
  node_selector = "pool=gpu"

  taints = [
    { key = "dedicated", value = "gpu", effect = "NoExecute" },
  ]

  labels = {
    "example.com/dedicated" = "gpu"
  }

  workloads = [
    # These pods run on the nodes only.
    { kind = "Deployment", namespace = "ml", name = "training", pin = true },
    { kind = "StatefulSet", namespace = "ml", name = "cache", pin = true },
    # These pods can run on the nodes too.
    { kind = "DaemonSet", namespace = "monitoring", name = "node-exporter" },
  ]

  # A plan that evicts other pods is an error.
  evictions = {
    max_pods = 0
  }
}

# OpenShift infra nodes, by name. The ingress controller can run there.
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

# The machines of an OpenShift MachineSet, new ones included. Existing machines are
# replaced one after the other.
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
