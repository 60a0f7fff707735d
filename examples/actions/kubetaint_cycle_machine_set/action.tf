# Replaces all machines of a MachineSet, with one more at a time:
#   terraform apply -invoke=action.kubetaint_cycle_machine_set.infra
action "kubetaint_cycle_machine_set" "infra" {
  config {
    name    = "cluster-abcde-infra-a"
    rollout = { strategy = "surge" }

    evictions = {
      max_pods             = 200
      protected_namespaces = ["payments"]
    }
    timeout = "2h"
  }
}
