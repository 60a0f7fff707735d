import {
  to = kubetaint_toleration_policy.gpu
  id = "gpu"
}
