// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package fakeapi_test

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"text/template"
)

// The scripts of the conformance test. A scenario begins with "== TITLE". Its steps are
// separated by empty lines. The first line of a step is its method, its path and options;
// the lines after it are the body. Beside the methods of HTTP there are:
//
//	WATCH NAME PATH   begins a watch
//	EVENTS NAME N     reads N events of it
//	END NAME          reads all events until the server ends the watch
//	STOP NAME         ends a watch
//	ACCOUNT NAME      makes an account with the rules in the body
//	COMPACT           forgets the history of changes
//
// Bodies and paths name what earlier answers of the scenario had: $rv(NAME) and $uid(NAME)
// of an object, $more of a list, $list for the resource version of a list.
//
// A line "@since VERSION REASON" before a step, or after the title for all steps of a
// scenario, marks what older versions of Kubernetes answer in another way.
const scriptFolder = "testdata/conformance"

// step is one line of a script with its body.
type step struct {
	line    string
	method  string
	args    []string
	options map[string]string
	body    string
	mark    *mark
}

// scenario is a number of steps that share objects.
type scenario struct {
	title string
	steps []step
	mark  *mark
}

// suffix is the end of all names of objects in a script. The real API server gets another
// one for each run.
const suffix = "run0"

// scripts returns the scenarios of all scripts in the order of their files.
func scripts(t testing.TB) []scenario {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(scriptFolder, "*.txt"))
	if err != nil {
		t.Fatal(err)
	}
	var out []scenario
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		text, err := template.New(file).Funcs(macros).Parse(string(raw))
		if err != nil {
			t.Fatal(err)
		}
		var script strings.Builder
		if err := text.Execute(&script, nil); err != nil {
			t.Fatal(err)
		}
		found, err := parseScript(script.String())
		if err != nil {
			t.Fatalf("%s: %s", file, err)
		}
		out = append(out, found...)
	}
	return out
}

func parseScript(text string) ([]scenario, error) {
	var out []scenario
	for block := range strings.SplitSeq(text, "\n\n") {
		lines := strings.Split(strings.Trim(block, "\n"), "\n")
		title, isTitle := strings.CutPrefix(lines[0], "== ")
		if isTitle {
			lines = lines[1:]
		}
		lines, mark, err := cutNotes(lines)
		switch {
		case err != nil:
			return nil, err
		case isTitle && len(lines) > 0:
			return nil, fmt.Errorf("%q: no empty line after the title %q", lines[0], title)
		case isTitle:
			out = append(out, scenario{title: title, mark: mark})
		case len(lines) > 0 && len(out) == 0:
			return nil, fmt.Errorf("%q is in no scenario", lines[0])
		case len(lines) > 0:
			last := &out[len(out)-1]
			last.steps = append(last.steps, parseStep(lines, cmp.Or(mark, last.mark)))
		}
	}
	return out, nil
}

// cutNotes takes comments and a mark off the beginning of a block.
func cutNotes(lines []string) (rest []string, m *mark, err error) {
	for len(lines) > 0 {
		note, isMark := strings.CutPrefix(lines[0], "@since ")
		switch {
		case isMark:
			if m, err = parseMark(note); err != nil {
				return nil, nil, err
			}
		case lines[0] != "" && !strings.HasPrefix(lines[0], "#"):
			return lines, m, nil
		}
		lines = lines[1:]
	}
	return nil, m, nil
}

func parseStep(lines []string, m *mark) step {
	words := strings.Fields(lines[0])
	s := step{line: lines[0], method: words[0], options: map[string]string{}, body: strings.Join(lines[1:], "\n"), mark: m}
	for _, word := range words[1:] {
		name, value, has := strings.Cut(word, "=")
		if has && !strings.Contains(name, "/") {
			s.options[name] = value
		} else {
			s.args = append(s.args, word)
		}
	}
	return s
}

// macros are objects with all fields that the API server would default.
var macros = template.FuncMap{
	// pod is a pod on a node; none where the node is empty.
	"pod": func(name, node, labels string) string {
		at := ""
		if node != "" {
			at = fmt.Sprintf(`"nodeName":%q,`, node)
		}
		return fmt.Sprintf(`{"apiVersion":"v1","kind":"Pod","metadata":{"name":%q,"labels":{%s}},"spec":{%s%s,%s}}`, name, labels, at, podSpec, admittedSpec)
	},
	// podTemplate is that of a workload.
	"podTemplate": func(labels string) string {
		return fmt.Sprintf(`{"metadata":{"labels":{%s}},"spec":{%s,"restartPolicy":"Always"}}`, labels, podSpec)
	},
	// jobTemplate is that of a Job.
	"jobTemplate": func(labels string) string {
		return fmt.Sprintf(`{"metadata":{"labels":{%s}},"spec":{%s,"restartPolicy":"Never"}}`, labels, podSpec)
	},
}

const (
	podSpec = `"containers":[{"name":"main","image":"example.com/app:1","imagePullPolicy":"IfNotPresent","resources":{},` +
		`"terminationMessagePath":"/dev/termination-log","terminationMessagePolicy":"File"}],` +
		`"dnsPolicy":"ClusterFirst","schedulerName":"nobody","securityContext":{},"terminationGracePeriodSeconds":30`
	admittedSpec = `"restartPolicy":"Always","automountServiceAccountToken":false,"enableServiceLinks":true,"preemptionPolicy":"PreemptLowerPriority","priority":0,` +
		`"serviceAccount":"default","serviceAccountName":"default"`
)
