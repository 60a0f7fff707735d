import {
  to = kubetaint_workload_tolerations.checkout
  id = "Deployment/shop/checkout"
}
