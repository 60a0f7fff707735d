// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package kubectlplugin

import (
	"context"
	"errors"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/kube"
)

// Exit codes beside 0.
const (
	failed = 1
	// exceeded is that of a preview that exceeds a limit, and of a drain that gets stuck.
	exceeded = 2
)

// comparisonFlag names the flag for what the provider block calls comparison_operators.
const comparisonFlag = "comparison-operators"

// plugin is what its commands share.
type plugin struct {
	genericiooptions.IOStreams
	config  *genericclioptions.ConfigFlags
	version string
	// comparison is what --comparison-operators says, if it is set.
	comparison *bool
	// snapshot is the file that --snapshot names.
	snapshot string
	// cache is a folder that is removed in the end.
	cache string
}

// Run runs the plugin with arguments, and returns its exit code. The answer is written to Out, and all
// else to ErrOut. The flags hold what is known of the connection before the arguments are read.
func Run(ctx context.Context, args []string, version string, config *genericclioptions.ConfigFlags, streams genericiooptions.IOStreams) (code int) {
	config.WithWrapConfigFn(kube.ReadOnly(config.WrapConfigFn))
	p := &plugin{IOStreams: streams, config: config, version: version, comparison: new(bool)}
	root := p.command()
	root.SetArgs(args)
	defer p.forget()
	return p.exit(root.ExecuteContext(ctx))
}

const rootLong = `Preview which pods a change evicts, before it is made.

The commands read the cluster, or a snapshot of it, and write nothing to it. They return the
same results as the Terraform provider kubetaint, which makes such changes.`

// command returns the whole tree of commands.
func (p *plugin) command() *cobra.Command {
	root := &cobra.Command{
		Use:          "kubectl-kubetaint",
		Annotations:  map[string]string{cobra.CommandDisplayNameAnnotation: "kubectl kubetaint"},
		Short:        "Preview evictions by taints, drains and rollouts of MachineSets",
		Long:         rootLong,
		Version:      p.version,
		SilenceUsage: true, SilenceErrors: true,
		Args: cobra.ArbitraryArgs,
		RunE: group,

		PersistentPreRunE: p.begin,
	}
	// Without the short form, which is that of kubectl's log level.
	root.Flags().Bool("version", false, "Print the version.")
	root.SetIn(p.In)
	root.SetOut(p.Out)
	root.SetErr(p.ErrOut)
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error { return usage(cmd, err.Error()) })
	p.config.AddFlags(root.PersistentFlags())
	root.PersistentFlags().BoolVar(p.comparison, comparisonFlag, false, "Whether the cluster's feature gate TaintTolerationComparisonOperators is on. Without the flag, pods that depend on it may be evicted.")
	root.PersistentFlags().StringVar(&p.snapshot, snapshotFlag, "", "File or folder to read in place of the cluster: a snapshot, a must-gather, or the output of kubectl get -o yaml.")
	root.SetUsageTemplate(usageTemplate + globalFlags(root))
	root.AddCommand(p.previewCommand(), p.toleratesCommand(), p.untoleratedCommand(), p.snapshotCommand())
	root.InitDefaultCompletionCmd()
	return root
}

// group is a command that has others and does nothing by itself.
func group(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usage(cmd, "unknown command \""+args[0]+"\" for \""+cmd.CommandPath()+"\"")
	}
	return cmd.Help()
}

// usageTemplate is cobra's with those flags of every command that are not about the connection: kubectl
// lists the others.
const usageTemplate = `Usage:{{if .HasAvailableSubCommands}}
  {{.CommandPath}} [command]{{else}}
  {{.UseLine}}{{end}}{{if .HasExample}}

Examples:
{{.Example}}{{end}}{{if .HasAvailableSubCommands}}

Available Commands:{{range .Commands}}{{if .IsAvailableCommand}}
  {{rpad .Name .NamePadding }} {{.Short}}{{end}}{{end}}{{end}}{{if .HasAvailableLocalFlags}}

Flags:
{{.LocalNonPersistentFlags.FlagUsages | trimTrailingWhitespaces}}{{end}}

Global Flags:
`

// globalFlags are the flags of every command that help shows, and where the others are.
func globalFlags(root *cobra.Command) string {
	shown := pflag.NewFlagSet("", pflag.ContinueOnError)
	for _, name := range []string{"namespace", snapshotFlag, comparisonFlag} {
		shown.AddFlag(root.PersistentFlags().Lookup(name))
	}
	return shown.FlagUsages() + `
Flags of the connection are those of kubectl, such as --context and --kubeconfig.
Use "kubectl options" to list them.
`
}

// usageError is a mistake in the arguments.
type usageError struct{ command, message string }

// Error returns the message, and where help is, in kubectl's words
// (k8s.io/kubectl v0.37.2 pkg/cmd/util/helpers.go, UsageErrorf).
func (e *usageError) Error() string {
	return e.message + "\nSee '" + e.command + " -h' for help and examples"
}

func usage(cmd *cobra.Command, message string) error {
	return &usageError{cmd.CommandPath(), message}
}

// errNo is the error of a question whose answer, which is written already, is no.
var errNo = errors.New("no")
