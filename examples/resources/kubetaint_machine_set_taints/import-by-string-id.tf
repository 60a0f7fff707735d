import {
  to = kubetaint_machine_set_taints.gpu
  id = "openshift-machine-api/cluster-x7k2p-gpu-us-east-1a/nvidia.com/gpu:NoSchedule"
}
