# Taints of MachineSets that no resource manages yet:
#   terraform query -generate-config-out=taints.tf
list "kubetaint_machine_set_taints" "unmanaged" {
  provider         = kubetaint
  include_resource = true

  config {
    selector       = "machine.openshift.io/cluster-api-machine-role=infra"
    unmanaged_only = true
  }
}
