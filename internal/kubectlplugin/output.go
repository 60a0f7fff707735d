// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package kubectlplugin

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/printers"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/preview"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/printable"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/tf/message"
)

// Formats of answers that kubectl does not have, beside those of its printers.
const (
	formatTable    = "table"
	formatWide     = "wide"
	formatMarkdown = "markdown"
)

// apiVersion is that of the objects that -o json, yaml, jsonpath and go-template have.
const apiVersion = "kubetaint.io/v1alpha1"

// output is the flag --output.
type output struct {
	format string
	// own are the formats that are written here.
	own      []string
	data     *genericclioptions.JSONYamlPrintFlags
	template *genericclioptions.KubeTemplatePrintFlags
	// printer is kubectl's, nil for a format that is written here.
	printer printers.ResourcePrinter
}

func (o *output) flag(cmd *cobra.Command, own ...string) {
	o.own, o.data, o.template = own, genericclioptions.NewJSONYamlPrintFlags(), genericclioptions.NewKubeTemplatePrintFlags()
	o.template.AddFlags(cmd)
	cmd.Flags().StringVarP(&o.format, "output", "o", formatTable, "Output format. One of: ("+strings.Join(o.allowed(), ", ")+").")
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(o.allowed(), cobra.ShellCompDirectiveNoFileComp))
}

func (o *output) allowed() []string {
	return slices.Concat(o.own, o.data.AllowedFormats(), o.template.AllowedFormats())
}

// check finds the printer. Errors: there is no such format, or its template is wrong, in kubectl's words.
func (o *output) check() (err error) {
	if slices.Contains(o.own, o.format) {
		return nil
	}
	if o.printer, err = o.data.ToPrinter(o.format); genericclioptions.IsNoCompatiblePrinterError(err) {
		o.printer, err = o.template.ToPrinter(o.format)
	}
	if genericclioptions.IsNoCompatiblePrinterError(err) {
		return genericclioptions.NoCompatiblePrinterError{OutputFormat: &o.format, AllowedFormats: o.allowed()}
	}
	return err
}

// print writes an answer as an object of this kind by kubectl's printer; false for another format.
func (o *output) print(to io.Writer, kind string, answer any) (bool, error) {
	if o.printer == nil {
		return false, nil
	}
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(answer)
	if err != nil {
		return true, err
	}
	object := &unstructured.Unstructured{Object: fields}
	object.SetAPIVersion(apiVersion)
	object.SetKind(kind)
	return true, o.printer.PrintObj(object, to)
}

// write writes an answer, and what makes it worth less than it looks to ErrOut.
func (p *plugin) write(f *previewFlags, answer preview.WhatIf) error {
	heading, detail := answer.Words()
	for _, gap := range answer.Report.Gaps {
		if f.output.format != formatTable && f.output.format != formatWide || !strings.Contains(detail, gap) {
			fmt.Fprintln(p.ErrOut, "Warning: the preview is not complete: "+gap)
		}
	}
	if answer.Unmatched != "" {
		fmt.Fprintln(p.ErrOut, "Warning: "+heading+". If that is not intended, "+message.CheckLabels(answer.Unmatched)+".")
	}
	results := answer.Results(f.all)
	if done, err := f.output.print(p.Out, "EvictionPreview", &results); done {
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
