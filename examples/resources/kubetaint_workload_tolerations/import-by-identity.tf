import {
  to = kubetaint_workload_tolerations.agents
  identity = {
    kind      = "DaemonSet"
    namespace = "platform"
    selector  = "tier=agent"
  }
}

import {
  to = kubetaint_workload_tolerations.prometheus
  identity = {
    api_version = "monitoring.coreos.com/v1"
    kind        = "Prometheus"
    namespace   = "monitoring"
    name        = "main"
    path        = "spec.tolerations"
  }
}
