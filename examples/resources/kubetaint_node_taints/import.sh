# By node: node/NAME/KEY:EFFECT, several taints separated by commas.
terraform import kubetaint_node_taints.gpu 'node/worker-3/dedicated:NoExecute'

# By selector: selector/SELECTOR/KEY:EFFECT, several taints separated by commas.
terraform import kubetaint_node_taints.batch 'selector/pool=batch,zone in (a,b)/workload:NoSchedule,workload:NoExecute'
