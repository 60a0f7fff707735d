# KIND/NAMESPACE/NAME, or KIND/NAME for kinds without a namespace. Other kinds
# than those that the provider knows, and selectors, take an import block with an
# identity.
terraform import kubetaint_workload_tolerations.checkout 'Deployment/shop/checkout'
