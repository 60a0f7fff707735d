// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package record_test

import (
	"cmp"
	"slices"
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
