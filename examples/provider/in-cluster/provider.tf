# In a pod, the provider uses the pod's service account when nothing else is
# set: neither here nor in the environment variables.
provider "kubetaint" {}
