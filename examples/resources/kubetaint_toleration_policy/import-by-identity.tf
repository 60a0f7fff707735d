import {
  to = kubetaint_toleration_policy.payments
  identity = {
    name = "payments"
  }
}
