import {
  to = kubetaint_namespace_tolerations.sandbox
  identity = {
    namespace = "sandbox"
  }
}
