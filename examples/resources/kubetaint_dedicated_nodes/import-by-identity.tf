import {
  to = kubetaint_dedicated_nodes.infra
  identity = {
    target = "nodes/infra-0,infra-1,infra-2"
    taints = ["node-role.kubernetes.io/infra:NoSchedule", "node-role.kubernetes.io/infra:NoExecute"]
  }
}
