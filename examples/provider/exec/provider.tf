variable "cluster_name" {
  description = "Name of the cluster."
  type        = string
}

variable "cluster_endpoint" {
  description = "Address of the API server."
  type        = string
}

variable "cluster_ca_certificate" {
  description = "Certificate of the API server's authority, base64-encoded."
  type        = string
}

# A command prints credentials when they are needed, so none is stored.
provider "kubetaint" {
  host                   = var.cluster_endpoint
  cluster_ca_certificate = base64decode(var.cluster_ca_certificate)

  exec = {
    api_version = "client.authentication.k8s.io/v1"
    command     = "aws"
    args        = ["eks", "get-token", "--cluster-name", var.cluster_name]
    env = {
      AWS_PROFILE = "production"
    }
  }
}
