# Taints of workers that no resource manages yet:
#   terraform query -generate-config-out=taints.tf
list "kubetaint_node_taints" "unmanaged" {
  provider         = kubetaint
  include_resource = true

  config {
    selector       = "node-role.kubernetes.io/worker"
    unmanaged_only = true
  }
}
