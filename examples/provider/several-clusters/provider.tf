provider "kubetaint" {
  alias          = "east"
  config_path    = "~/.kube/config"
  config_context = "east"
}

provider "kubetaint" {
  alias          = "west"
  config_path    = "~/.kube/config"
  config_context = "west"
}

resource "kubetaint_node_taints" "east" {
  provider      = kubetaint.east
  node_selector = "pool=gpu"
  taints        = [{ key = "dedicated", value = "gpu", effect = "NoSchedule" }]
}

resource "kubetaint_node_taints" "west" {
  provider      = kubetaint.west
  node_selector = "pool=gpu"
  taints        = [{ key = "dedicated", value = "gpu", effect = "NoSchedule" }]
}
