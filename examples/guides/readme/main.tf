terraform {
  required_providers {
    kubetaint = {
      source  = "kubetaint/kubetaint"
      version = "~> 0.1"
    }
  }
}

provider "kubetaint" {
  config_path = "~/.kube/config"
}

resource "kubetaint_node_taints" "gpu" {
  node_selector = "pool=gpu"

  taints = [
    { key = "dedicated", value = "gpu", effect = "NoExecute" },
  ]

  evictions = {
    max_pods             = 5
    protected_namespaces = ["kube-system"]
  }
}
