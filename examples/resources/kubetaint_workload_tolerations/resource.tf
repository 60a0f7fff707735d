# A Deployment, by name. The plan says how many pods restart.
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

# Every DaemonSet of a namespace that a selector matches, those included that
# come later. Exists matches every value: when the value of the taint changes,
# these pods need no restart.
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

# The taint relies on these tolerations: they are added first, and it waits until
# every live pod carries them.
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

# Nobody waits here: a CronJob's next jobs have the toleration, and those that
# run keep what they have.
resource "kubetaint_workload_tolerations" "report" {
  workload = {
    kind      = "CronJob"
    namespace = "shop"
    name      = "report"
  }

  # Its pods may stay for an hour after the taint comes.
  tolerations = [
    { key = "dedicated", value = "shop", effect = "NoExecute", toleration_seconds = 3600 },
  ]
}

# OpenShift's operators put back what is changed in the workloads that they own.
# The path in their own objects is known to the provider.
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

# Any other custom resource, by its API version and the path to its tolerations.
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
