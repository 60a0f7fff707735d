// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package record_test

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/record"
)

type mark struct {
	Key   string `json:"key"`
	Owner string `json:"owner"`
}

func byKey(a, b mark) int { return cmp.Compare(a.Key, b.Key) }

func TestFormat(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		marks []mark
		want  string
	}{
		"no marks are no annotation":                {nil, ""},
		"marks of one owner stand in a group":       {[]mark{{"c", "x"}, {"b", "y"}, {"a", "x"}, {"d", "x"}}, `[{"owner":"x","generation":null,"entries":[{"key":"a"},{"key":"c"},{"key":"d"}]},{"key":"b","owner":"y"}]`},
		"marks stand in order, whatever theirs was": {[]mark{{"b", "y"}, {"a", "x"}}, `[{"key":"a","owner":"x"},{"key":"b","owner":"y"}]`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			before := slices.Clone(tt.marks)
			if got := record.Format(tt.marks, byKey); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
			if !slices.Equal(before, tt.marks) {
				t.Errorf("the marks themselves were put into another order: %v", tt.marks)
			}
		})
	}
}

func TestParse(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		value string
		want  []mark
		err   string
	}{
		"no annotation is no marks":                   {"", nil, ""},
		"what was written is read":                    {`[{"key":"a","owner":"x"}]`, []mark{{"a", "x"}}, ""},
		"marks of a group have its owner":             {`[{"owner":"x","entries":[{"key":"a"},{"key":"b","owner":"z"}]},{"key":"c","owner":"y"}]`, []mark{{"a", "x"}, {"b", "x"}, {"c", "y"}}, ""},
		"marks of a group that is no list":            {`[{"owner":"x","entries":1}]`, nil, "the annotation example.com/owned cannot be read"},
		"an empty group":                              {`[{"owner":"x","entries":[]}]`, nil, ""},
		"a list that is cut off names the annotation": {`[{"key":`, nil, "the annotation example.com/owned cannot be read"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := record.Parse[mark]("example.com/owned", tt.value)
			if !slices.Equal(got, tt.want) {
				t.Errorf("got %v, want %v", got, tt.want)
			}
			if (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
				t.Errorf("got error %v, want %q", err, tt.err)
			}
		})
	}
}

// A thousand entries of one resource, whose id lists all of them, fit into an annotation.
func TestFormat_writesALongOwnerOnce(t *testing.T) {
	t.Parallel()
	owner := strings.Repeat("a.long.key.of.a.taint.example.com/with-a-name:NoExecute,", 20)
	marks := make([]mark, 1000)
	for i := range marks {
		marks[i] = mark{Key: "a.long.key.of.a.taint.example.com/with-a-name-" + strconv.Itoa(i), Owner: owner}
	}
	if got := len(record.Format(marks, byKey)); got > record.Most {
		t.Errorf("the record has %d bytes, and annotations can have %d", got, record.Most)
	}
}
