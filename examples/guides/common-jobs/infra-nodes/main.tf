resource "kubetaint_dedicated_nodes" "infra" {
  machine_sets = { name = "infra", rollout = { strategy = "in_place" } }
  taints       = [{ key = "node-role.kubernetes.io/infra", effect = "NoSchedule" }]
  labels       = { "node-role.kubernetes.io/infra" = "" }

  workloads = [
    { kind = "IngressController", namespace = "openshift-ingress-operator", name = "default" },
    { kind = "Config", name = "cluster" }, # the image registry
  ]
}
