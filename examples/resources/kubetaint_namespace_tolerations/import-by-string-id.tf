import {
  to = kubetaint_namespace_tolerations.payments
  id = "payments"
}
