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
  default     = null
}

variable "absent_taints" {
  description = "Taints that the nodes must not have."
  type        = set(object({ key = string, effect = string }))
  default     = null
}

variable "tolerated_by" {
  description = "Ids of tolerations and policies that pods rely on."
  type        = set(string)
  default     = null
}

variable "evictions" {
  description = "Limits on evicted pods, checked again before the first write."
  type = object({
    max_pods             = optional(number)
    max_pending          = optional(number)
    max_lost             = optional(number)
    only                 = optional(set(string))
    protected_namespaces = optional(set(string))
    protected_selector   = optional(string)
    stranded             = optional(string)
  })
  default = null
}

variable "added_tolerations" {
  description = "Tolerations that the same plan adds to workloads: the preview assumes them."
  type = list(object({
    kind      = string
    namespace = optional(string)
    name      = string

    tolerations = set(object({
      key                = optional(string)
      operator           = optional(string)
      value              = optional(string)
      effect             = optional(string)
      toleration_seconds = optional(number)
    }))
  }))
  default = null
}

resource "kubetaint_node_taints" "this" {
  node_selector = var.node_selector
  taints        = var.taints
  absent_taints = var.absent_taints
  tolerated_by  = var.tolerated_by
  evictions     = var.evictions
}

data "kubetaint_eviction_preview" "this" {
  node_selector     = var.node_selector
  taints            = var.taints
  absent_taints     = var.absent_taints
  added_tolerations = var.added_tolerations
}

output "summary" {
  description = "Counts of pods by what becomes of them."
  value       = data.kubetaint_eviction_preview.this.summary
}

output "markdown" {
  description = "The preview as Markdown, for a comment on a pull request."
  value       = data.kubetaint_eviction_preview.this.markdown
}
