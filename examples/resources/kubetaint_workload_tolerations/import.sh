# KIND/NAMESPACE/NAME, or KIND/NAME for kinds without a namespace. For kinds that
# are not built in, and for selectors, use an import block with an identity.
terraform import kubetaint_workload_tolerations.checkout 'Deployment/shop/checkout'
