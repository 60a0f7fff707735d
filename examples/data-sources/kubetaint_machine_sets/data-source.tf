# All MachineSets of openshift-machine-api, and those of one label.
data "kubetaint_machine_sets" "all" {}

data "kubetaint_machine_sets" "infra" {
  selector = "machine.openshift.io/cluster-api-machine-role=infra"
}

# Machines that differ from the current template, themselves or on their nodes, by
# MachineSet.
output "stale_machines" {
  value = {
    for set in data.kubetaint_machine_sets.all.machine_sets : set.name => [
      for machine in set.machines : machine.name if length(machine.differences) > 0
    ]
  }
}

# A warning in every plan while a rollout is interrupted.
check "no_rollout_is_interrupted" {
  assert {
    condition     = alltrue([for set in data.kubetaint_machine_sets.all.machine_sets : set.rollout == null])
    error_message = "A rollout has begun and not ended: apply again."
  }
}
