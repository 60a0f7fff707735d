variable "cluster_endpoint" {
  description = "Address of the API server, such as https://api.example.com:6443."
  type        = string
}

variable "cluster_ca_certificate" {
  description = "Certificate of the API server's authority, base64-encoded as in a kubeconfig."
  type        = string
}

# Ephemeral variables need Terraform 1.10 or OpenTofu 1.11. Terraform writes the value
# of any other variable into plan files, a sensitive one as well.
variable "cluster_token" {
  description = "Token of a service account with the ClusterRole kubetaint."
  type        = string
  sensitive   = true
  ephemeral   = true
}

provider "kubetaint" {
  host                   = var.cluster_endpoint
  cluster_ca_certificate = base64decode(var.cluster_ca_certificate)
  token                  = var.cluster_token
}
