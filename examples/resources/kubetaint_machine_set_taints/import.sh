# By MachineSet: NAMESPACE/NAME/KEY:EFFECT, several taints separated by commas. A selector
# takes an import block with an identity (Terraform 1.12, OpenTofu 1.12).
terraform import kubetaint_machine_set_taints.gpu 'openshift-machine-api/cluster-x7k2p-gpu-us-east-1a/nvidia.com/gpu:NoSchedule'
