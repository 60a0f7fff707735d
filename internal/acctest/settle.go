// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package acctest

import "testing"

// Settle applies a configuration, and fails the test where that fails or where a plan right
// after it is not empty and silent.
func (tf *Terraform) Settle(t testing.TB, i *Instance, config map[string]any) Diagnostics {
	t.Helper()
	d := tf.Apply(t, i, config)
	if d.Errors() != "" {
		t.Fatalf("apply: %s", d.Errors())
	}
	if again := tf.Plan(t, i, config); !again.Empty || len(again.Diagnostics) > 0 {
		t.Fatalf("a plan right after apply is not empty or not silent: %s%s%v", again.Diagnostics.Errors(), again.Diagnostics.Warnings(), tf.Attributes(t, i))
	}
	return d
}

// Destroy destroys an instance, and fails the test where that fails or leaves it in the
// state.
func (tf *Terraform) Destroy(t testing.TB, i *Instance) Diagnostics {
	t.Helper()
	d := tf.Apply(t, i, nil)
	if d.Errors() != "" || i.Exists() {
		t.Fatalf("destroy: %s", d.Errors())
	}
	return d
}
