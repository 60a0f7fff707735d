# Uncordons all nodes of a pool:
#   terraform apply -invoke=action.kubetaint_uncordon_nodes.pool
action "kubetaint_uncordon_nodes" "pool" {
  config {
    node_selector = "pool=gpu"
  }
}

# Drains a node before its maintenance, and uncordons it afterwards.
resource "terraform_data" "maintenance" {
  input = "2026-01"

  lifecycle {
    action_trigger {
      events  = [before_update]
      actions = [action.kubetaint_drain_nodes.node]
    }
    action_trigger {
      events  = [after_update]
      actions = [action.kubetaint_uncordon_nodes.node]
    }
  }
}

action "kubetaint_drain_nodes" "node" {
  config {
    node_name = "worker-3"
  }
}

action "kubetaint_uncordon_nodes" "node" {
  config {
    node_name = "worker-3"
  }
}
