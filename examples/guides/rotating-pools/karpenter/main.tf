variable "node_pool" {
  description = "The NodePool object: metadata of its kubernetes_manifest, and its UID."
  type        = object({ uid = string, name = string })
}

# It refers to the NodePool, so Terraform destroys it first.
resource "terraform_data" "node_pool" {
  input            = var.node_pool.name
  triggers_replace = var.node_pool.uid

  lifecycle {
    action_trigger {
      events  = [before_destroy]
      actions = [action.kubetaint_drain_nodes.node_pool]
    }
  }
}

action "kubetaint_drain_nodes" "node_pool" {
  config {
    node_selector     = "karpenter.sh/nodepool=${caller.input}"
    delete_local_data = true
    timeout           = "2h"
  }
}
