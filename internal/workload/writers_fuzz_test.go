// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package workload

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// FuzzOwns: no managed fields make the provider panic. Those that hold a field hold what it is in, and those that
// hold an object as a whole hold each field of it.
func FuzzOwns(f *testing.F) {
	f.Add(`{"f:spec":{"f:template":{"f:spec":{"f:tolerations":{}}}}}`, "spec.template.spec.tolerations")
	f.Add(`{"f:spec":{"f:selector":{}}}`, "spec.selector.matchLabels")
	f.Add(`{"f:spec":{".":{},"f:nodeSelector":null}}`, "spec.")
	f.Add(`[{"f:spec":1}]`, "spec")
	f.Add(`{"f:":{}}`, "")
	f.Fuzz(func(t *testing.T, raw, joined string) {
		fields, path := &metav1.FieldsV1{}, strings.Split(joined, ".")
		fields.SetRawBytes([]byte(raw))
		if outer := path[:len(path)-1]; owns(fields, path) && !owns(fields, outer) {
			t.Errorf("%s holds %q, and not %q", raw, path, outer)
		}
		if inner := append(path, "inner"); ownsWhole(fields, path) && !ownsWhole(fields, inner) {
			t.Errorf("%s holds %q as a whole, and not %q", raw, path, inner)
		}
	})
}
