import {
  to = kubetaint_dedicated_nodes.gpu
  id = "selector/pool=gpu/dedicated:NoExecute"
}
