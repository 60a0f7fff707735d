// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package acctest

import (
	"sync"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
)

// valid are the configurations of providers and resources of which validation has said
// nothing.
var valid sync.Map

// validOnce validates a configuration unless it was found valid before: validation knows the
// configuration alone, and thousands of processes are started with few of them.
func validOnce(typeName string, config *tfprotov6.DynamicValue, validate func() []*tfprotov6.Diagnostic) Diagnostics {
	key := typeName + " " + string(config.MsgPack)
	if _, is := valid.Load(key); is {
		return nil
	}
	d := Diagnostics(validate())
	if len(d) == 0 {
		valid.Store(key, true)
	}
	return d
}

// warned are the summaries of a run's warnings and errors, with the instance that each is of. Command
// lines show warnings with equal summaries as one, of the first instance alone (Terraform's
// internal/tfdiags/consolidate_warnings.go, "and one more similar warning elsewhere").
type warned struct {
	mu sync.Mutex
	of map[string]*Instance
}

// once fails the test if one of these has the summary of another instance's.
func (w *warned) once(t testing.TB, i *Instance, all Diagnostics) {
	t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, d := range all {
		if first, found := w.of[d.Summary]; found && first != i {
			t.Errorf("an instance of %s and one of %s use the same summary, and a command line hides the second warning: %s", first.Type, i.Type, d.Summary)
		}
		if w.of == nil {
			w.of = map[string]*Instance{}
		}
		w.of[d.Summary] = i
	}
}
