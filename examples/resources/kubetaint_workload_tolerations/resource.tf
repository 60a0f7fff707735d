# A Deployment, by name. The plan warns of pods that restart.
resource "kubetaint_workload_tolerations" "checkout" {
  workload = {
    kind      = "Deployment"
    namespace = "shop"
    name      = "checkout"
  }

  tolerations = [
    {
      key    = "dedicated"
      value  = "shop"
      effect = "NoExecute"
    },
  ]
}

# All DaemonSets of a namespace with a label. Exists tolerates every value, so a
# changed value restarts no pod.
resource "kubetaint_workload_tolerations" "agents" {
  workload = {
    kind      = "DaemonSet"
    namespace = "platform"
    selector  = "tier=agent"
  }

  tolerations = [
    { key = "dedicated", operator = "Exists" },
  ]
}

# The taint waits until every running pod has the tolerations.
resource "kubetaint_node_taints" "shop" {
  node_selector = "pool=shop"

  taints = [
    { key = "dedicated", value = "shop", effect = "NoExecute" },
  ]

  tolerated_by = [
    kubetaint_workload_tolerations.checkout.id,
    kubetaint_workload_tolerations.agents.id,
  ]
}

# A CronJob's next jobs have the toleration. Running jobs do not change.
resource "kubetaint_workload_tolerations" "report" {
  workload = {
    kind      = "CronJob"
    namespace = "shop"
    name      = "report"
  }

  # Evicted an hour after the taint is added.
  tolerations = [
    { key = "dedicated", value = "shop", effect = "NoExecute", toleration_seconds = 3600 },
  ]
}

# OpenShift's operators revert changes to their workloads. Change their own
# object instead: the path is built in.
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

# Another custom resource, by API version and path.
resource "kubetaint_workload_tolerations" "prometheus" {
  workload = {
    api_version = "monitoring.coreos.com/v1"
    kind        = "Prometheus"
    namespace   = "monitoring"
    name        = "main"
  }

  path = "spec.tolerations"

  tolerations = [
    { key = "node-role.kubernetes.io/infra", operator = "Exists" },
  ]
}
