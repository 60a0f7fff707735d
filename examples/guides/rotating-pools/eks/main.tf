variable "node_group" {
  description = "An aws_eks_node_group, or an output of its module with these attributes."
  type        = object({ id = string, node_group_name = string })
}

# It refers to the node group, so Terraform destroys it first.
resource "terraform_data" "node_group" {
  input            = var.node_group.node_group_name
  triggers_replace = var.node_group.id

  lifecycle {
    action_trigger {
      events  = [before_destroy]
      actions = [action.kubetaint_drain_nodes.node_group]
    }
  }
}

action "kubetaint_drain_nodes" "node_group" {
  config {
    node_selector     = "eks.amazonaws.com/nodegroup=${caller.input}"
    delete_local_data = true
    timeout           = "2h"
  }
}
