// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package kubectlplugin_test

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/terraform-plugin-log/tflogtest"
)

// compareDrain compares the plugin with the plan of the action kubetaint_drain_nodes: the fields of each
// pod, which the plan logs, the numbers of each workload and of all, and the words. An action has no
// attributes that could be compared.
func (w *world) compareDrain() {
	w.t.Helper()
	node := w.pick(w.nodes...)
	options := []drainOption{{"pod_selector", "app in (app-0,app-2)", "--pod-selector=app in (app-0,app-2)"}, {"disable_eviction", true, "--disable-eviction"}}
	w.compareDrainWith(node, drainOption{})
	w.compareDrainWith(node, options[w.r.IntN(len(options))])
}

// drainOption is an option of a drain, as attribute and as flag.
type drainOption struct {
	attribute string
	value     any
	flag      string
}

func (w *world) compareDrainWith(node string, o drainOption) {
	w.t.Helper()
	config, args := map[string]any{"node_name": node}, []string{"preview", "drain", node}
	if o.attribute != "" {
		config[o.attribute], args = o.value, append(args, o.flag)
	}
	var log bytes.Buffer
	logging := *w.tf
	logging.Context = tflogtest.RootLogger(w.t.Context(), &log)
	said := logging.Walk(w.t).PlanAction("kubetaint_drain_nodes", config)
	got, data := w.reader.run(w.t, args...), w.reader.run(w.t, append(args, "-o", "json")...)
	if refused := said.Errors(); refused != "" {
		w.seen.refused.Add(1)
		if diff := cmp.Diff(stopping(refused), stopping(got.err)); diff != "" || len(stopping(refused)) == 0 || got.code != 1 || got.out != "" || data != got {
			w.t.Errorf("the action refuses the drain (%s), and the plugin says\n%s", refused, got)
		}
		return
	}
	w.seen.drains.Add(1)
	want, held, code := "Draining node \""+node+"\"", "", 0
	if o.attribute == "pod_selector" {
		want += " of pods matching \"app in (app-0,app-2)\""
	}
	want += map[bool]string{true: " deletes no pods\n", false: " evicts no pods\n"}[o.attribute == "disable_eviction"]
	warned := ""
	for _, d := range said {
		switch {
		case strings.HasPrefix(d.Summary, "Draining node") && (strings.Contains(d.Summary, " evict") || strings.Contains(d.Summary, " deletes ")):
			want = d.Summary + "\n\n" + strings.Trim(d.Detail, "\n") + "\n"
		case strings.HasPrefix(d.Summary, "No pod on "):
			want, warned = d.Summary+"\n", "Warning: "+d.Summary+". "
		case strings.HasSuffix(d.Summary, " gets stuck on PodDisruptionBudgets"):
			_, held, _ = strings.Cut(d.Detail, ":\n\n")
			code = 2
		}
	}
	w.compareDrainFields(w.loggedPods(&log), want, held, object(w.t, data.out, "EvictionPreview"))
	if code != 0 {
		w.seen.stuck.Add(1)
		heading, detail, _ := strings.Cut(want, "\n")
		want = heading + "\n\nThe drain gets stuck:\n" + strings.Trim(held, "\n") + "\n" + detail
	}
	if got.code != code || data.code != code || !strings.HasPrefix(got.out, want) || strings.Contains(got.err, "No pod on ") != (warned != "") || !strings.HasPrefix(got.err, warned) || data.err != got.err {
		w.t.Errorf("the action says\n%s\nand the plugin\n%s", want, got)
	}
}

// stopping returns the pods of a message that stop a drain, each with the reason and without the way out,
// which names attributes or flags.
func stopping(message string) (out []string) {
	for line := range strings.Lines(message) {
		if rest, is := strings.CutPrefix(line, "  pod "); is {
			out = append(out, rest[:strings.LastIndex(rest, ": ")])
		}
	}
	return out
}

// loggedPods returns the pods of a plan as the plugin's JSON has them.
func (w *world) loggedPods(log *bytes.Buffer) (out []any) {
	w.t.Helper()
	entries, err := tflogtest.MultilineJSONDecode(log)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, e := range entries {
		if e["verdict"] == nil {
			continue
		}
		// A drain has no taints. What has a place elsewhere can be told from the others.
		pod := map[string]any{"taint": nil, "toleration": nil, "after_seconds": nil, "owner": nil, "placement": nil, "budget": nil, "lost": false, "local_data": false}
		for name, value := range e {
			if !strings.HasPrefix(name, "@") && value != "" {
				pod[name] = value
			}
		}
		pod["namespace"], pod["name"], _ = strings.Cut(fmt.Sprint(e["pod"]), "/")
		delete(pod, "pod")
		out = append(out, pod)
	}
	return out
}

// rowOfTable is a row of a preview: the danger, the number of pods, such as 1, 0-1, 1/4 or 0-1/4, and the workload.
var rowOfTable = regexp.MustCompile(`(?m)^  ([A-Z]+\??|ok) +(?:\d+-)?(?:\d+/)?(\d+)  (\S+) (\S+)/(\S+)(?:  |$)`)

// compareDrainFields compares the plugin's JSON with the pods and the words of the action's plan.
func (w *world) compareDrainFields(pods []any, words, held string, got map[string]any) {
	w.t.Helper()
	w.seen.drained.Add(int64(len(pods)))
	answer, _ := got["pods"].([]any)
	for _, one := range answer {
		delete(one.(map[string]any), "reschedulable")
	}
	byName := func(all []any) map[string]any {
		out := map[string]any{}
		for _, one := range all {
			out[fmt.Sprint(one.(map[string]any)["namespace"], "/", one.(map[string]any)["name"])] = one
		}
		return out
	}
	if diff := cmp.Diff(byName(pods), byName(answer)); diff != "" || len(pods) != len(answer) {
		w.t.Errorf("the plugin has other pods than the action:\n%s", diff)
	}
	rows, counts := map[string]int{}, map[string]int{}
	for _, row := range rowOfTable.FindAllStringSubmatch(words, -1) {
		count, _ := strconv.Atoi(row[2])
		rows[row[3]+" "+row[4]+"/"+row[5]] += count
	}
	for _, one := range got["workloads"].([]any) {
		one := one.(map[string]any)
		if count := int(one["drained"].(float64)); count > 0 {
			counts[fmt.Sprintf("%s %s/%s", one["kind"], one["namespace"], one["name"])] = count
		}
	}
	if diff := cmp.Diff(rows, counts); diff != "" {
		w.t.Errorf("the plugin has other numbers of workloads than the action:\n%s\n%s", diff, words)
	}
	summary, heading := got["summary"].(map[string]any), strings.SplitN(words, "\n", 2)[0]
	for what, name := range map[string]string{`(?:evicts?|deletes) (\d+) pods?`: "drained", `(\d+) lost`: "lost", `(?:\d+-)?(\d+) pending`: "pending_max"} {
		count := 0
		if found := regexp.MustCompile(what).FindStringSubmatch(heading); found != nil {
			count, _ = strconv.Atoi(found[1])
		}
		if int(summary[name].(float64)) != count {
			w.t.Errorf("the action says %q, and the plugin has %s: %v", heading, name, summary[name])
		}
	}
	var stuck []string
	for line := range strings.Lines(held) {
		stuck = append(stuck, strings.TrimSpace(line))
	}
	stuck = slices.DeleteFunc(stuck, func(line string) bool { return line == "" })
	if len(got["stuck"].([]any)) != len(stuck) {
		w.t.Errorf("the action says that %q hold the drain, and the plugin has %v", stuck, got["stuck"])
	}
}
