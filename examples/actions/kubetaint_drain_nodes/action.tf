# Drains all nodes of a pool, within PodDisruptionBudgets:
#   terraform apply -invoke=action.kubetaint_drain_nodes.pool
action "kubetaint_drain_nodes" "pool" {
  config {
    node_selector     = "pool=gpu"
    delete_local_data = true

    evictions = {
      max_pods             = 200
      protected_namespaces = ["payments"]
    }
    timeout = "2h"
  }
}

# Drains one node when the input changes.
resource "terraform_data" "maintenance" {
  input = "2026-01"

  lifecycle {
    action_trigger {
      events  = [before_update]
      actions = [action.kubetaint_drain_nodes.node]
    }
  }
}

action "kubetaint_drain_nodes" "node" {
  config {
    node_name            = "worker-3"
    grace_period_seconds = 30
  }
}

# Evicts some pods of a pool.
action "kubetaint_drain_nodes" "web" {
  config {
    node_selector = "pool=gpu"
    pod_selector  = "app=web"
  }
}
