provider "kubetaint" {
  snapshot = "cluster.kts"
}
