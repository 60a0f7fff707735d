module github.com/kubetaint/terraform-provider-kubetaint/internal/testbed

go 1.26
