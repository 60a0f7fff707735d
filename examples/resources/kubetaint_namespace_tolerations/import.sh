# The name of the namespace.
terraform import kubetaint_namespace_tolerations.payments payments
