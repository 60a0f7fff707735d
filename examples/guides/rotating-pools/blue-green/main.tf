variable "drained" {
  description = "Node pools that are drained, because others replace them."
  type        = set(string)
  default     = ["blue"]
}

# Created once the pool is drained. A drain that fails is repeated by the next apply.
resource "terraform_data" "drained" {
  for_each = var.drained

  lifecycle {
    action_trigger {
      events  = [before_create]
      actions = [action.kubetaint_drain_nodes.pool[each.key]]
    }
  }
}

action "kubetaint_drain_nodes" "pool" {
  for_each = var.drained

  config {
    node_selector     = "pool=${each.key}"
    delete_local_data = true
    timeout           = "2h"

    # No eviction until the new pool, or other nodes, have room for every pod.
    evictions = {
      max_pending = 0
    }
  }
}
