# The name of the policy.
terraform import kubetaint_toleration_policy.gpu gpu
