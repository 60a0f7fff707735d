// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package recorded_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/printable"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/recorded"
)

// hostile is a text in JSON that clears a terminal, sets its title and begins a line that a pipeline takes for a command.
const hostile = `\u001b[2J\u001b]0;x\u0007\n::error::x`

// wantPrintable checks that a message has nothing that controls a terminal or a pipeline.
func wantPrintable(t *testing.T, what, message string) {
	t.Helper()
	if message == "" || printable.Line(message) != message {
		t.Errorf("%s: %q", what, message)
	}
}

func TestCluster_textsOfAFileArePrintable(t *testing.T) {
	t.Parallel()
	for _, header := range []string{`"server":"` + hostile + `"`, `"cluster":"` + hostile + `"`} {
		file := sealed(t, 0, bytes.Join([][]byte{
			rec('H', `{`+header+`,"serves":[{"group":"`+hostile+`.x","version":"v1","stale":true}]}`),
			rec('K', `{"version":"v1","resource":"`+hostile+`","kind":"Job","state":"forbidden"}`),
		}, nil))
		c := read(t, file)
		wantPrintable(t, "name", c.Name())
		wantPrintable(t, "missing", strings.Join(c.Missing(), ", "))
	}
}

func TestRead_errorsOfAFileArePrintable(t *testing.T) {
	t.Parallel()
	kind := rec('K', `{"version":"v1","resource":"`+hostile+`","kind":"`+hostile+`"}`)
	for name, records := range map[string][][]byte{
		"an object of a kind": {rec('H', `{"serves":[]}`), kind, rec('O', `{}`)},
		"a record":            {rec(0x1b, "")},
		"an amount":           {rec('H', `{"serves":[]}`), rec('K', `{"group":"apps","version":"v1","resource":"deployments","kind":"Deployment"}`), rec('O', `{"metadata":{"name":"a"},"spec":{"`+hostile+`":"1e-99999"}}`)},
	} {
		_, err := recorded.Read(bytes.NewReader(sealed(t, 0, bytes.Join(records, nil))))
		if err == nil {
			t.Fatalf("%s: no error", name)
		}
		wantPrintable(t, name, err.Error())
	}
}

func TestOpen_errorsOfAFolderArePrintable(t *testing.T) {
	t.Parallel()
	for name, content := range map[string]string{
		"a\x1b[2J.yaml":     "kind: Pod\napiVersion: v1\nmetadata: [\n",
		"b\n::error::.json": `{"kind":"List","items":[1]}`,
	} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Skip(err)
		}
		_, err := recorded.Open(dir)
		if err == nil {
			t.Fatalf("%q: no error", name)
		}
		wantPrintable(t, name, err.Error())
	}
}
