terraform {
  required_providers {
    kubetaint = {
      source  = "kubetaint/kubetaint"
      version = "~> 0.1"
    }
  }
}

provider "kubetaint" {
  config_path = "~/.kube/config"
}

# Router, image registry and monitoring run only on the infra machines. The taint keeps new
# pods of others off these machines.
resource "kubetaint_dedicated_nodes" "infra" {
  machine_sets = { selector = "role=infra", rollout = { strategy = "in_place" } }

  taints = [{ key = "node-role.kubernetes.io/infra", effect = "NoSchedule" }]
  labels = { "node-role.kubernetes.io/infra" = "" }

  workloads = [
    { kind = "IngressController", namespace = "openshift-ingress-operator", name = "default", pin = true },
    { kind = "Config", name = "cluster", pin = true },
    { kind = "ConfigMap", namespace = "openshift-monitoring", name = "cluster-monitoring-config", pin = true },
  ]
}
