# Taints of nodes and a preview of them, from one definition: a plan as JSON has no warnings,
# and policies check the preview's summary instead.
terraform {
  required_providers {
    kubetaint = {
      source = "kubetaint/kubetaint"
    }
  }
}

variable "node_selector" {
  description = "Label selector of the nodes, in kubectl's syntax."
  type        = string
}

variable "taints" {
  description = "Taints that the nodes must have."
  type        = set(object({ key = string, value = optional(string), effect = string }))
}

resource "kubetaint_node_taints" "this" {
  node_selector = var.node_selector
  taints        = var.taints
}

data "kubetaint_eviction_preview" "this" {
  node_selector = var.node_selector
  taints        = var.taints
}

output "summary" {
  description = "Counts of pods by what becomes of them."
  value       = data.kubetaint_eviction_preview.this.summary
}

output "markdown" {
  description = "The preview as Markdown, for a comment on a pull request."
  value       = data.kubetaint_eviction_preview.this.markdown
}
