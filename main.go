// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

// Command terraform-provider-kubetaint serves the provider to Terraform and
// OpenTofu.
package main

import (
	"flag"
	"fmt"
	"os"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6/tf6server"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/provider"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/tf/siblings"
)

// version and commit are set by the linker at release.
var (
	version = "dev"
	commit  = "unknown"
)

const address = "registry.terraform.io/kubetaint/kubetaint"

func main() {
	debug := flag.Bool("debug", false, "serve to a debugger, and print how to attach Terraform to it")
	show := flag.Bool("version", false, "print the version and exit")
	flag.Parse()
	if *show {
		fmt.Printf("terraform-provider-kubetaint %s (commit %s)\n", version, commit)
		return
	}
	var opts []tf6server.ServeOpt
	if *debug {
		opts = append(opts, tf6server.WithManagedDebug())
	} else {
		provider.DropUnreadLogs()
		provider.TuneCollector()
		siblings.Serve()
	}
	if err := tf6server.Serve(address, func() tfprotov6.ProviderServer { return provider.Server(provider.New(version)()) }, opts...); err != nil {
		fmt.Fprintln(os.Stderr, "terraform-provider-kubetaint: "+err.Error())
		os.Exit(1)
	}
}
