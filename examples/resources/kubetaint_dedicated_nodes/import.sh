# By selector: selector/SELECTOR/KEY:EFFECT, several taints separated by commas.
terraform import kubetaint_dedicated_nodes.gpu 'selector/pool=gpu/dedicated:NoExecute'

# By name: nodes/NAME,NAME/KEY:EFFECT.
terraform import kubetaint_dedicated_nodes.infra 'nodes/infra-0,infra-1,infra-2/node-role.kubernetes.io/infra:NoSchedule,node-role.kubernetes.io/infra:NoExecute'

# By MachineSet: machine_sets/NAMESPACE/NAME/KEY:EFFECT. Its rollout is template_only
# until the first apply.
terraform import kubetaint_dedicated_nodes.batch 'machine_sets/openshift-machine-api/batch-a/dedicated:NoSchedule'

# By a selector of MachineSets: machine_sets/NAMESPACE/SELECTOR/KEY:EFFECT.
terraform import kubetaint_dedicated_nodes.spot 'machine_sets/openshift-machine-api/pool=spot/dedicated:NoSchedule'
