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

  # Part of every ownership record. Configurations that share a cluster should
  # have different owners.
  owner = "platform-team"

  # Default for every resource; a resource can override it.
  evictions = {
    protected_namespaces = ["kube-system", "monitoring"]
  }
}
