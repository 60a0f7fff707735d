import {
  to = kubetaint_machine_set_taints.infra
  identity = {
    selector = "pool=infra"
    taints   = ["node-role.kubernetes.io/infra:NoSchedule", "node-role.kubernetes.io/infra:NoExecute"]
  }
}
