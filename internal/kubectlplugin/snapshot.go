// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package kubectlplugin

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/cli-runtime/pkg/genericclioptions"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/kube"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/recorded"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/tf/message"
)

// snapshotFlag names the flag for what the provider block calls snapshot.
const snapshotFlag = "snapshot"

const snapshotLong = `Record what previews read of the cluster into a file.

The file has no environment variables, images, commands, Secrets and foreign annotations. With
--snapshot, other commands read it in place of the cluster, and so does the provider kubetaint with
"snapshot" in its block.

Kinds that the credentials may not list are marked in the file, and named here.`

const snapshotExample = `  # Record the cluster
  kubectl kubetaint snapshot -o cluster.kts

  # Preview a taint on it, without a connection
  kubectl kubetaint preview nodes -l pool=gpu dedicated=gpu:NoExecute --snapshot cluster.kts

  # Record it without the names of its objects
  kubectl kubetaint snapshot -o cluster.kts --hash-names`

func (p *plugin) snapshotCommand() *cobra.Command {
	var file string
	options := recorded.Options{Version: p.version}
	cmd := &cobra.Command{
		Use:     "snapshot -o FILE",
		Short:   "Record the cluster into a file, without secrets",
		Long:    snapshotLong,
		Example: snapshotExample,
	}
	cmd.Flags().StringVarP(&file, "output", "o", "", "File to write, - for standard output.")
	cmd.Flags().BoolVar(&options.HashNames, "hash-names", false, "Whether to replace names of objects and values of labels by hashes.")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) > 0:
			return usage(cmd, "unexpected arguments: "+strings.Join(args, " "))
		case file == "":
			return usage(cmd, "--output must be specified")
		case p.snapshot != "":
			return usage(cmd, "--snapshot cannot be used here: record a cluster")
		}
		cluster, err := p.connect()
		if err != nil {
			return err
		}
		if file == "-" {
			summary, err := recorded.Write(cmd.Context(), p.Out, cluster, options)
			p.warnMissing(summary.Missing)
			return err
		}
		summary, err := recorded.WriteFile(cmd.Context(), file, cluster, options)
		if err != nil {
			return err
		}
		p.warnMissing(summary.Missing)
		fmt.Fprintf(p.Out, "%s written: %s and %s\n", file, message.Count(summary.Nodes, "node"), message.Count(summary.Pods, "pod"))
		return nil
	}
	return cmd
}

// warnMissing names the kinds that are not in a snapshot.
func (p *plugin) warnMissing(kinds []string) {
	if len(kinds) > 0 {
		fmt.Fprintln(p.ErrOut, "Warning: not in the snapshot: "+strings.Join(kinds, ", "))
	}
}

// begin comes before every command.
func (p *plugin) begin(cmd *cobra.Command, _ []string) error {
	if err := p.content(cmd); err != nil {
		return err
	}
	return p.fromSnapshot(cmd)
}

// fromSnapshot has a command read the file that --snapshot names, and reports its age.
func (p *plugin) fromSnapshot(cmd *cobra.Command) error {
	read, err := p.openSnapshot(cmd)
	if err != nil || read == nil {
		return err
	}
	of := ""
	if name := read.Name(); name != "" {
		of = " of " + name
	}
	fmt.Fprintf(p.ErrOut, "Warning: from the snapshot %s%s, %s: %s\n", kube.Shown(p.snapshot), of, read.Age(time.Now()), read.Content())
	p.warnMissing(read.Missing())
	return nil
}

// openSnapshot makes the file that --snapshot names what is read in place of the cluster. It returns nil
// without the flag. The kubeconfig is not read then, and flags of the connection are a mistake.
func (p *plugin) openSnapshot(cmd *cobra.Command) (*recorded.Cluster, error) {
	if !cmd.Flags().Changed(snapshotFlag) || cmd.Name() == snapshotFlag {
		return nil, nil
	}
	if clash := p.connectionFlags(cmd); len(clash) > 0 {
		return nil, usage(cmd, "--snapshot cannot be used with "+strings.Join(clash, ", "))
	}
	read, err := recorded.Open(p.snapshot)
	if unreadable, is := errors.AsType[*fs.PathError](err); is {
		err = unreadable.Err // The whole of it names the path again.
	}
	if err != nil {
		return nil, fmt.Errorf("unable to read the snapshot %s: %w", kube.Shown(p.snapshot), err)
	}
	config := genericclioptions.NewConfigFlags(true).WithWrapConfigFn(kube.ReadOnly(kube.Through(recorded.Host, read.Transport())))
	config.Namespace = p.config.Namespace
	*config.KubeConfig = os.DevNull
	// The cache of what a server has goes by its name, and all snapshots have the same.
	if *config.CacheDir, err = os.MkdirTemp("", "kubectl-kubetaint-"); err != nil {
		return nil, err
	}
	p.config, p.cache = config, *config.CacheDir
	return read, nil
}

// connectionFlags returns the flags of the connection that are set, without --namespace.
func (p *plugin) connectionFlags(cmd *cobra.Command) (set []string) {
	connection := pflag.NewFlagSet("", pflag.ContinueOnError)
	p.config.AddFlags(connection)
	connection.VisitAll(func(f *pflag.Flag) {
		if cmd.Flags().Changed(f.Name) && f.Name != "namespace" {
			set = append(set, "--"+f.Name)
		}
	})
	return set
}

// forget removes what was cached of a snapshot.
func (p *plugin) forget() {
	if p.cache != "" {
		_ = os.RemoveAll(p.cache) // It is in the folder for temporary files.
	}
}
