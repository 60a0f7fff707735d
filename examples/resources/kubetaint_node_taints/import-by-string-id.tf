import {
  to = kubetaint_node_taints.gpu
  id = "node/worker-3/dedicated:NoExecute"
}
