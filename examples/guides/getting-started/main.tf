terraform {
  required_providers {
    kubetaint = {
      source  = "kubetaint/kubetaint"
      version = "~> 0.1"
    }
  }
}

provider "kubetaint" {}

locals {
  dedicated = [{ key = "dedicated", value = "demo", effect = "NoExecute" }]
}

resource "kubetaint_node_taints" "demo" {
  node_name = "kubetaint-worker"
  taints    = local.dedicated
}
