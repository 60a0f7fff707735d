// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package kubectlplugin

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/printers"
	"sigs.k8s.io/yaml"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/preview"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/printable"
)

// Formats of answers.
const (
	formatTable    = "table"
	formatWide     = "wide"
	formatJSON     = "json"
	formatYAML     = "yaml"
	formatMarkdown = "markdown"
)

// output is the flag --output.
type output struct {
	format  string
	allowed []string
}

func (o *output) flag(cmd *cobra.Command, allowed ...string) {
	o.allowed = allowed
	cmd.Flags().StringVarP(&o.format, "output", "o", formatTable, "Output format. One of: ("+strings.Join(allowed, ", ")+").")
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(allowed, cobra.ShellCompDirectiveNoFileComp))
}

// check returns an error for a format that there is not, in kubectl's words.
func (o *output) check() error {
	if !slices.Contains(o.allowed, o.format) {
		return fmt.Errorf("unable to match a printer suitable for the output format %q, allowed formats are: %s", o.format, strings.Join(o.allowed, ","))
	}
	return nil
}

// data writes a value as JSON or YAML; false for another format.
func (o *output) data(to io.Writer, value any) (bool, error) {
	switch o.format {
	case formatJSON:
		e := json.NewEncoder(to)
		e.SetIndent("", "    ")
		e.SetEscapeHTML(false)
		return true, e.Encode(value)
	case formatYAML:
		raw, err := yaml.Marshal(value)
		if err == nil {
			_, err = to.Write(raw)
		}
		return true, err
	}
	return false, nil
}

// write writes an answer, and what makes it worth less than it looks to ErrOut.
func (p *plugin) write(f *previewFlags, answer preview.Change) error {
	heading, detail := answer.Words()
	for _, gap := range answer.Report.Gaps {
		if f.output.format != formatTable && f.output.format != formatWide || !strings.Contains(detail, gap) {
			fmt.Fprintln(p.ErrOut, "Warning: the preview is not complete: "+gap)
		}
	}
	results := answer.Results(f.all)
	if done, err := f.output.data(p.Out, results); done {
		return err
	}
	if f.output.format == formatMarkdown {
		_, err := io.WriteString(p.Out, results.Markdown)
		return err
	}
	if stuck := answer.FirstStuck(); len(stuck) > 0 {
		heading += "\n\n" + preview.StuckHeading + ":\n  " + strings.Join(stuck, "\n  ")
	}
	paragraphs := []string{heading, strings.Trim(detail, "\n"), answer.Cordoned()}
	if doubts := answer.FirstDoubts(); len(doubts) > 0 {
		paragraphs = append(paragraphs, "What may go wrong:\n  "+strings.Join(doubts, "\n  "))
	}
	paragraphs = slices.DeleteFunc(paragraphs, func(one string) bool { return one == "" })
	if _, err := fmt.Fprintln(p.Out, strings.Join(paragraphs, "\n\n")); err != nil {
		return err
	}
	if f.output.format == formatWide && len(results.Pods) > 0 {
		return writePods(p.Out, results.Pods)
	}
	return nil
}

// writePods writes a row for each pod.
func writePods(to io.Writer, pods []preview.Pod) error {
	rows := [][]string{{"NAMESPACE", "NAME", "NODE", "OWNER", "VERDICT", "AFTER", "TAINT", "TOLERATION", "PLACEMENT", "PDB", "REASON"}}
	for _, v := range pods {
		after := ""
		if v.AfterSeconds != nil {
			after = strconv.FormatInt(*v.AfterSeconds, 10) + "s"
		}
		rows = append(rows, []string{v.Namespace, v.Name, v.Node, text(v.Owner), v.Verdict, after, text(v.Taint), text(v.Toleration), text(v.Placement), text(v.Budget), v.Reason})
	}
	if _, err := fmt.Fprintln(to); err != nil {
		return err
	}
	return writeRows(to, rows)
}

// writeRows writes columns as kubectl does.
func writeRows(to io.Writer, rows [][]string) error {
	w := printers.GetNewTabWriter(to)
	for _, row := range rows {
		for i, cell := range row {
			if row[i] = printable.Line(cell); cell == "" {
				row[i] = "<none>"
			}
		}
		if _, err := fmt.Fprintln(w, strings.Join(row, "\t")); err != nil {
			return err
		}
	}
	return w.Flush()
}

// text returns "" for nil.
func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
