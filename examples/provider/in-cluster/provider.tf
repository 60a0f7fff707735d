# In a pod, the provider uses the pod's service account, unless a connection is
# set here or in environment variables.
provider "kubetaint" {}
