variable "node_pool" {
  description = "A google_container_node_pool, or an output of its module with these attributes."
  type        = object({ id = string, name = string })
}

# It refers to the node pool, so Terraform destroys it first.
resource "terraform_data" "node_pool" {
  input            = var.node_pool.name
  triggers_replace = var.node_pool.id

  lifecycle {
    action_trigger {
      events  = [before_destroy]
      actions = [action.kubetaint_drain_nodes.node_pool]
    }
  }
}

action "kubetaint_drain_nodes" "node_pool" {
  config {
    node_selector     = "cloud.google.com/gke-nodepool=${caller.input}"
    delete_local_data = true
    timeout           = "2h"
  }
}
