import {
  to = kubetaint_node_taints.batch
  identity = {
    target = "selector/pool=batch,zone in (a,b)"
    taints = ["workload:NoSchedule", "workload:NoExecute"]
  }
}
