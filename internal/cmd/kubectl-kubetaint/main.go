// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

// The program kubectl-kubetaint is the kubectl plugin "kubectl kubetaint".
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	// Kubeconfigs may name an OIDC provider.
	_ "k8s.io/client-go/plugin/pkg/client/auth"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/kubectlplugin"
)

// version is set when a release is built.
var version = "dev"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	streams := genericiooptions.IOStreams{In: os.Stdin, Out: os.Stdout, ErrOut: os.Stderr}
	kubectlplugin.QuietClient()
	code := kubectlplugin.Run(ctx, os.Args[1:], version, genericclioptions.NewConfigFlags(true), streams)
	stop()
	os.Exit(code)
}
