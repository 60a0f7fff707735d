// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package taint

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// The API server checks the taints of nodes and the tolerations of pods. It does not check what custom
// resources, the templates of MachineSets and the annotations of namespaces list.
func TestFormat_printsNoTextOfOthersAsItIs(t *testing.T) {
	t.Parallel()
	const spoof = "x\n::error::y\x1b[31m\u202e"
	for name, text := range map[string]string{
		"a taint's key":         Format(corev1.Taint{Key: spoof, Effect: "NoExecute"}),
		"a taint's value":       FormatAll([]corev1.Taint{{Key: "a", Value: spoof, Effect: "NoExecute"}}),
		"a taint's effect":      ID{Key: "a", Effect: spoof}.String(),
		"a toleration's key":    FormatToleration(corev1.Toleration{Key: spoof, Operator: corev1.TolerationOpExists}),
		"a toleration's value":  FormatToleration(corev1.Toleration{Key: "a", Value: spoof}),
		"a toleration's effect": FormatToleration(corev1.Toleration{Key: "a", Effect: spoof}),
	} {
		if strings.ContainsAny(text, "\n\x1b\u202e") || strings.Contains(text, " ::error") {
			t.Errorf("%s is printed as %q", name, text)
		}
	}
	if text, err := (ID{Key: spoof, Effect: "NoExecute"}).MarshalText(); err != nil || string(text) != spoof+":NoExecute" {
		t.Errorf("an identity is kept as %q, %v", text, err)
	}
}

func TestParseRecord_refusesTextThatCannotBePrinted(t *testing.T) {
	t.Parallel()
	for field, mark := range map[string]Mark{
		"owner":      {Key: "a", Effect: "NoExecute", Owner: "x\n::error::y", Generation: "g"},
		"generation": {Key: "a", Effect: "NoExecute", Owner: "me", Generation: "\x1b[31m"},
		"previous":   {Key: "a", Effect: "NoExecute", Owner: "me", Generation: "g", Absent: true, Previous: new("\u202e")},
		"key":        {Key: "a ::error::y", Effect: "NoExecute", Owner: "me", Generation: "g"},
	} {
		got, err := ParseRecord(Record{mark}.String())
		if err == nil || strings.ContainsAny(err.Error(), "\n\x1b\u202e") {
			t.Errorf("%s: it is read as %v, %v", field, got, err)
		}
	}
}
