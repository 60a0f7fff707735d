// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package taint_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
)

// FuzzFormatParse holds Format and Parse to be inverse to each other: every
// valid taint is read back as it was, and every text that is read is written
// in one form that reads as the same taint.
func FuzzFormatParse(f *testing.F) {
	f.Add("dedicated", "gpu", "NoExecute")
	f.Add("example.com/dedicated", "", "NoSchedule")
	f.Add("a=b", "c:d", "PreferNoSchedule")
	f.Add("", "", "")
	f.Fuzz(func(t *testing.T, key, value, effect string) {
		want := corev1.Taint{Key: key, Value: value, Effect: corev1.TaintEffect(effect)}
		text := taint.Format(want)
		got, err := taint.Parse(text)
		valid := len(taint.Validate(want)) == 0
		if valid && err != nil {
			t.Fatalf("the valid taint %+v is written as %q, which is refused: %v", want, text, err)
		}
		if valid && got != want {
			t.Fatalf("%+v is written as %q and read as %+v", want, text, got)
		}
		if err != nil {
			return
		}
		if again, err := taint.Parse(taint.Format(got)); err != nil || again != got {
			t.Fatalf("%q is read as %+v, which is written and read as %+v, %v", text, got, again, err)
		}
	})
}
