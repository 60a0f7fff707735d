// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package yamledit

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var ours = Entry{{"key", "node-role.kubernetes.io/infra"}, {"operator", "Exists"}}

var foreign = Entry{{"key", "foreign"}, {"value", "1"}, {"tolerationSeconds", int64(300)}}

const (
	key  = "node-role.kubernetes.io/infra"
	seen = "- key: foreign\n  value: \"1\"\n  tolerationSeconds: 300\n"
)

var list = []string{"prometheusK8s", "tolerations"}

func lines(text string) string {
	return strings.ReplaceAll(strings.TrimPrefix(text, "\n"), "\t", "")
}

// parse reads a text that is in order.
func parse(t *testing.T, text string) *Document {
	t.Helper()
	d, err := Parse(text)
	if err != nil {
		t.Fatalf("%v: %q", err, text)
	}
	return d
}

// TestSetList_leavesTheRestAsItIs adds an entry, and takes it away again: the text is what it was.
func TestSetList_leavesTheRestAsItIs(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		before  string
		entries []Entry
		after   string
	}{
		"nothing is there": {"", nil, lines(`
			prometheusK8s:
			  tolerations:
			  - key: node-role.kubernetes.io/infra
			    operator: Exists
			`)},
		"comments alone": {"# by hand\n", nil, "# by hand\nprometheusK8s:\n  tolerations:\n  - key: node-role.kubernetes.io/infra\n    operator: Exists\n"},
		"another component, and odd habits": {
			"---\n# by hand\nenableUserWorkload:   true # yes\n\nalertmanagerMain:\n    volumeClaimTemplate: {spec: {resources: {requests: {storage: 40Gi}}}}\n\n# the end\n", nil,
			"---\n# by hand\nenableUserWorkload:   true # yes\n\nalertmanagerMain:\n    volumeClaimTemplate: {spec: {resources: {requests: {storage: 40Gi}}}}\n\n# the end\nprometheusK8s:\n  tolerations:\n  - key: node-role.kubernetes.io/infra\n    operator: Exists\n",
		},
		"the last line has no end": {"enableUserWorkload: true", nil, "enableUserWorkload: true\nprometheusK8s:\n  tolerations:\n  - key: node-role.kubernetes.io/infra\n    operator: Exists"},
		"lines end as on Windows":  {"enableUserWorkload: true\r\n", nil, "enableUserWorkload: true\r\nprometheusK8s:\r\n  tolerations:\r\n  - key: node-role.kubernetes.io/infra\r\n    operator: Exists\r\n"},
		"the component is there": {
			"prometheusK8s: # main\n    # how long\n    retention: 15d\nother: 1\n", nil,
			"prometheusK8s: # main\n    tolerations:\n    - key: node-role.kubernetes.io/infra\n      operator: Exists\n    # how long\n    retention: 15d\nother: 1\n",
		},
		"the list is there": {
			"prometheusK8s:\n  tolerations: # mine\n    # first\n    - key: foreign # x\n      value: \"1\"\n\n      tolerationSeconds: 300\n  # how long\n  retention: 15d\n", []Entry{foreign},
			"prometheusK8s:\n  tolerations: # mine\n    # first\n    - key: foreign # x\n      value: \"1\"\n\n      tolerationSeconds: 300\n    - key: node-role.kubernetes.io/infra\n      operator: Exists\n  # how long\n  retention: 15d\n",
		},
		"the list begins in the column of its key": {
			"prometheusK8s:\n  tolerations:\n  -\n    key: foreign\n    value: '1'\n    tolerationSeconds: 300", []Entry{foreign},
			"prometheusK8s:\n  tolerations:\n  -\n    key: foreign\n    value: '1'\n    tolerationSeconds: 300\n  - key: node-role.kubernetes.io/infra\n    operator: Exists",
		},
		"the list is in one line": {
			"prometheusK8s:\n  tolerations: [ {key: foreign, value: \"1\", tolerationSeconds: 300} ] # mine\n", []Entry{foreign},
			"prometheusK8s:\n  tolerations: [ {key: foreign, value: \"1\", tolerationSeconds: 300}, {\"key\": \"node-role.kubernetes.io/infra\", \"operator\": \"Exists\"} ] # mine\n",
		},
		"the component is in one line": {
			"prometheusK8s: {retention: 15d, x: 'it''s [1'} # mine\n", nil,
			"prometheusK8s: {retention: 15d, x: 'it''s [1', \"tolerations\": [{\"key\": \"node-role.kubernetes.io/infra\", \"operator\": \"Exists\"}]} # mine\n",
		},
		"the component is empty": {"prometheusK8s: {}\n", nil, "prometheusK8s: {\"tolerations\": [{\"key\": \"node-role.kubernetes.io/infra\", \"operator\": \"Exists\"}]}\n"},
		"all of it is JSON": {
			"{\n  \"a\": [1, {\"b\": \"}\"}]\n}\n", nil,
			"{\n  \"a\": [1, {\"b\": \"}\"}], \"prometheusK8s\": {\"tolerations\": [{\"key\": \"node-role.kubernetes.io/infra\", \"operator\": \"Exists\"}]}\n}\n",
		},
		"an empty object": {"{}", nil, "{\"prometheusK8s\": {\"tolerations\": [{\"key\": \"node-role.kubernetes.io/infra\", \"operator\": \"Exists\"}]}}"},
		"text in blocks, anchors and other alphabets elsewhere": {
			"größe: &a |+\n  # no comment\n  x\n\nb: *a\nprometheusK8s:\n  ä: ü\n  tolerations:\n  - {key: foreign, value: \"1\", tolerationSeconds: 300} # ß\n", []Entry{foreign},
			"größe: &a |+\n  # no comment\n  x\n\nb: *a\nprometheusK8s:\n  ä: ü\n  tolerations:\n  - {key: foreign, value: \"1\", tolerationSeconds: 300} # ß\n  - key: node-role.kubernetes.io/infra\n    operator: Exists\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			after, err := parse(t, tt.before).SetList(list, append(tt.entries[:len(tt.entries):len(tt.entries)], ours))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.after, after); diff != "" {
				t.Fatalf("added: %s", diff)
			}
			back, err := parse(t, after).SetList(list, tt.entries)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.before, back); diff != "" {
				t.Errorf("taken away: %s", diff)
			}
		})
	}
}

func TestSetList_changesWhatIsNamedAlone(t *testing.T) {
	t.Parallel()
	const mine = "  - key: node-role.kubernetes.io/infra\n    operator: Exists\n"
	other := Entry{{"key", "other"}}
	for name, tt := range map[string]struct {
		before  string
		entries []Entry
		after   string
	}{
		"one in the middle is replaced": {
			"prometheusK8s:\n  tolerations:\n  # one\n  - key: foreign\n    value: \"1\"\n    tolerationSeconds: 300\n  # two\n  - key: old\n  # three\n" + mine, []Entry{foreign, other, ours},
			"prometheusK8s:\n  tolerations:\n  # one\n  - key: foreign\n    value: \"1\"\n    tolerationSeconds: 300\n  - key: other\n  # two\n  # three\n" + mine,
		},
		"the first one goes":                   {"prometheusK8s:\n  tolerations:\n  - key: old\n" + mine, []Entry{ours}, "prometheusK8s:\n  tolerations:\n" + mine},
		"one is put in front":                  {"prometheusK8s:\n  tolerations:\n  # mine\n" + mine, []Entry{other, ours}, "prometheusK8s:\n  tolerations:\n  # mine\n  - key: other\n" + mine},
		"in one line, the first one goes":      {"prometheusK8s: {tolerations: [{key: old}, {key: other}]}\n", []Entry{other}, "prometheusK8s: {tolerations: [{key: other}]}\n"},
		"in one line, the last one of it goes": {"a: 1\nprometheusK8s: {tolerations: [{key: old}], b: 2}\n", nil, "a: 1\nprometheusK8s: {b: 2}\n"},
		"a list that holds nothing":            {"prometheusK8s:\n  tolerations:\n  retention: 1d\n", []Entry{ours}, "prometheusK8s:\n  tolerations:\n" + mine + "  retention: 1d\n"},
		"a null that is written out":           {"prometheusK8s: null # none\nb: 1\n", []Entry{ours}, "prometheusK8s: # none\n  tolerations:\n" + mine + "b: 1\n"},
		"the component keeps its comment":      {"prometheusK8s:\n  tolerations:\n" + mine + "  # retention: 15d\n", nil, "prometheusK8s:\n  # retention: 15d\n"},
		"the component goes with the last":     {"a: 1\nprometheusK8s:\n  tolerations:\n" + mine + "\n# b\nb: 2\n", nil, "a: 1\n\n# b\nb: 2\n"},
		"nothing is there and nothing wanted":  {"a: 1\n", nil, "a: 1\n"},
		"values that look like something else": {"", []Entry{{{"key", "yes"}, {"value", "0x1"}, {"effect", "a: b"}}}, "prometheusK8s:\n  tolerations:\n  - key: \"yes\"\n    value: \"0x1\"\n    effect: 'a: b'\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			after, err := parse(t, tt.before).SetList(list, tt.entries)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.after, after); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestSetFields_changesWhatIsNamedAlone(t *testing.T) {
	t.Parallel()
	empty, one := "", "1"
	set, gone := map[string]*string{key: &empty}, map[string]*string{key: nil}
	for name, tt := range map[string]struct {
		before  string
		changes map[string]*string
		after   string
	}{
		"nothing is there":             {"a: 1\n", set, "a: 1\nprometheusK8s:\n  nodeSelector:\n    node-role.kubernetes.io/infra: \"\"\n"},
		"the map is there":             {"prometheusK8s:\n  nodeSelector:\n      # mine\n      b: x # y\n", set, "prometheusK8s:\n  nodeSelector:\n      node-role.kubernetes.io/infra: \"\"\n      # mine\n      b: x # y\n"},
		"the map is in one line":       {"prometheusK8s:\n  nodeSelector: {b: x}\n", set, "prometheusK8s:\n  nodeSelector: {b: x, \"node-role.kubernetes.io/infra\": \"\"}\n"},
		"several, sorted":              {"", map[string]*string{"b": &one, "a": &one}, "prometheusK8s:\n  nodeSelector:\n    b: \"1\"\n    a: \"1\"\n"},
		"another value":                {"prometheusK8s:\n  nodeSelector:\n    node-role.kubernetes.io/infra: \"\"\n    b: x\n", map[string]*string{key: &one}, "prometheusK8s:\n  nodeSelector:\n    node-role.kubernetes.io/infra: \"1\"\n    b: x\n"},
		"one goes":                     {"prometheusK8s:\n  nodeSelector:\n    b: x\n    node-role.kubernetes.io/infra: \"\"\nc: 1\n", gone, "prometheusK8s:\n  nodeSelector:\n    b: x\nc: 1\n"},
		"the last one goes":            {"prometheusK8s:\n  nodeSelector:\n    node-role.kubernetes.io/infra: \"\"\n  retention: 1d\n", gone, "prometheusK8s:\n  retention: 1d\n"},
		"in one line, the last one":    {"prometheusK8s:\n  nodeSelector: {node-role.kubernetes.io/infra: \"\"}\n  retention: 1d\n", gone, "prometheusK8s:\n  retention: 1d\n"},
		"in one line, between others":  {"prometheusK8s:\n  nodeSelector: {a: x, node-role.kubernetes.io/infra: \"\", b: y}\n", gone, "prometheusK8s:\n  nodeSelector: {a: x, b: y}\n"},
		"in one line, behind others":   {"prometheusK8s:\n  nodeSelector: {a: x, node-role.kubernetes.io/infra: \"\"}\n", gone, "prometheusK8s:\n  nodeSelector: {a: x}\n"},
		"what is not there is removed": {"prometheusK8s:\n  retention: 1d\n", gone, "prometheusK8s:\n  retention: 1d\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			after, err := parse(t, tt.before).SetFields([]string{"prometheusK8s", "nodeSelector"}, tt.changes)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.after, after); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestParse_refusesWhatIsDamaged(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"a: [":              "did not find expected",
		"a: 1\na: 2\n":      "already defined",
		"a: 1\n---\nb: 2\n": "more than one document",
		"- a\n":             "not a mapping",
		"text":              "not a mapping",
		"1: a\n":            "not a mapping whose keys are strings",
		"\ta: 1\n":          "cannot start any token",
		"a: *b\n":           "unknown anchor",
		"null\n":            "not a mapping",
	} {
		problem := new(Error)
		if _, err := Parse(text); !errors.As(err, &problem) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

func TestSetList_refusesWhatWouldTouchMore(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"a: &x {b: 1}\nprometheusK8s: *x\n":                                     "line 2: an anchor, an alias or a merge key",
		"prometheusK8s: &x\n  b: 1\na: *x\n":                                    "an anchor",
		"prometheusK8s:\n  tolerations: &x\n  - key: b\na: *x\n":                "is used at prometheusK8s.tolerations",
		"a: &x {b: 1}\nprometheusK8s:\n  <<: *x\n":                              "a merge key",
		"prometheusK8s: 1\n":                                                    "prometheusK8s is not a mapping",
		"prometheusK8s:\n  tolerations: {}\n":                                   "prometheusK8s.tolerations is not a list",
		"{prometheusK8s: , a: 1}\n":                                             "give it the value {}",
		"a: |\n  no end":                                                        "without touching the rest",
		"a: 1\n...\n":                                                           "the end of the document",
		"prometheusK8s:\n  tolerations:\n  - key: b\n    value: |\n      # c\n": "without touching the rest",
	} {
		problem := new(Error)
		d := parse(t, text)
		entries := []Entry{ours}
		if strings.Contains(text, "value: |") {
			entries = []Entry{{{"key", "b"}, {"value", "# c\n"}}, ours}
		}
		if _, err := d.SetList(list, entries); !errors.As(err, &problem) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}
