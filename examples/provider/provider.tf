terraform {
  required_providers {
    kubetaint = {
      source  = "kubetaint/kubetaint"
      version = "~> 0.1"
    }
  }
}

# A kubeconfig and one of its contexts. Neither KUBECONFIG nor ~/.kube/config
# is read unless it is named here or in KUBE_CONFIG_PATH.
provider "kubetaint" {
  config_path    = "~/.kube/config"
  config_context = "production"

  # Stands in every mark on the nodes: configurations that share a cluster
  # should have different ones.
  owner = "platform-team"

  # No resource may make a pod of these namespaces leave.
  evictions = {
    protected_namespaces = ["kube-system", "monitoring"]
  }
}
