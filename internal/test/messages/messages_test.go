// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package messages

import (
	"testing"
)

// asked is a test that notes whether it has failed, and runs its cleanup when told to.
type asked struct {
	testing.TB

	name            string
	skipped, failed bool
	cleanups        []func()
}

func (a *asked) Helper()               {}
func (a *asked) Name() string          { return a.name }
func (a *asked) Skipped() bool         { return a.skipped }
func (a *asked) Errorf(string, ...any) { a.failed = true }
func (a *asked) Cleanup(f func())      { a.cleanups = append(a.cleanups, f) }
func (a *asked) end() {
	for _, f := range a.cleanups {
		f()
	}
}

// TestExpect_failsATestThatDoesNotProduceTheMessage: only texts of the test itself and of its subtests count.
func TestExpect_failsATestThatDoesNotProduceTheMessage(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		from    string
		got     string
		detail  bool
		skipped bool
		fails   bool
	}{
		"the text in a detail":           {from: "a", got: `Unable to find "web" here`, detail: true, fails: true},
		"the message":                    {from: "a", got: `Unable to find "web" here`},
		"the message of a subtest":       {from: "a/case/deeper", got: `Unable to find "web" here`},
		"another message":                {from: "a", got: "Unable to find", fails: true},
		"the message over two lines":     {from: "a", got: "Unable to find\nit here", fails: true},
		"the message of another test":    {from: "b", got: `Unable to find "web" here`, fails: true},
		"no message of a skipped test":   {from: "a", skipped: true},
		"another message of a skipped":   {from: "a", got: "Unable to find", skipped: true},
		"no message":                     {from: "a", fails: true},
		"the message of a namesake test": {from: "ab", got: `Unable to find "web" here`, fails: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := &asked{name: name + " a", skipped: tt.skipped}
			Expect(a, "Unable to find … here")
			say := Got
			if tt.detail {
				say = GotDetail
			}
			say(&asked{name: name + " " + tt.from}, tt.got)
			a.end()
			if a.failed != tt.fails {
				t.Errorf("failed is %v, want %v", a.failed, tt.fails)
			}
		})
	}
}

// TestExpectDetail_needsADetail: a summary with the same text does not count.
func TestExpectDetail_needsADetail(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		say   func(testing.TB, ...string)
		fails bool
	}{"a detail": {GotDetail, false}, "a summary": {Got, true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := &asked{name: "detail " + name}
			ExpectDetail(a, "did not write it")
			tt.say(a, "This resource did not write it.")
			a.end()
			if a.failed != tt.fails {
				t.Errorf("failed is %v, want %v", a.failed, tt.fails)
			}
		})
	}
}
