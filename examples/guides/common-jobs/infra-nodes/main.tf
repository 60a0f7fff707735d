resource "kubetaint_dedicated_nodes" "infra" {
  machine_sets = { name = "infra", rollout = { strategy = "in_place" } }
  taints       = [{ key = "node-role.kubernetes.io/infra", effect = "NoSchedule" }]
  labels       = { "node-role.kubernetes.io/infra" = "" }

  workloads = [
    { kind = "IngressController", namespace = "openshift-ingress-operator", name = "default", pin = true },
    { kind = "Config", name = "cluster", pin = true }, # the image registry
    { kind = "ConfigMap", namespace = "openshift-monitoring", name = "cluster-monitoring-config", pin = true },
  ]
}
