// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package recorded_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/recorded"
)

func TestOpen_aliasesOfALongTextAreRefusedBeforeTheyExpand(t *testing.T) { //nolint:paralleltest // It measures memory.
	const text, aliases = 64 << 10, 600
	expanding := "x: &x \"" + strings.Repeat("x", text) + "\"\ny: [" + strings.Repeat("*x,", aliases) + "1]\n"
	for name, tt := range map[string]struct{ content, want string }{
		"of an object":        {oneNode + expanding, "nodes.yaml: it has aliases in YAML"},
		"of a later document": {oneNode + "---\n" + oneNode + expanding, "nodes.yaml: it has aliases in YAML"},
		"after quotes":        {oneNode + "\"z\":\n  {\"x\":&x1 \"" + strings.Repeat("x", text) + "\",\"y\":[" + strings.Repeat("*x1 ,", aliases) + "1]}\n", "nodes.yaml: it has aliases in YAML"},
		"of a flow mapping":   {`{apiVersion: v1, kind: Node, metadata: {name: a}, x: &x "` + strings.Repeat("x", text) + `", y: [` + strings.Repeat("*x,", aliases) + "1]}\n", "nodes.yaml: it has aliases in YAML"},
	} {
		dir := t.TempDir()
		write(t, dir, "nodes.yaml", []byte(tt.content))
		var err error
		used := taken(func() { _, err = recorded.Open(dir) })
		if err == nil || !strings.HasPrefix(err.Error(), tt.want) {
			t.Errorf("%s: %v", name, err)
		}
		if used > 20 {
			t.Errorf("%s: %d KiB take %d MiB", name, len(tt.content)>>10, used)
		}
	}
}

func TestOpen_aFileWithAliasesAndWithoutObjectsIsSkipped(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, "nodes.yaml", []byte(oneNode))
	write(t, dir, "pipeline.yaml", []byte("a: &a {b: 1}\nc:\n  <<: *a\n"))
	c, err := recorded.Open(dir)
	if err != nil || !strings.HasSuffix(c.Content(), "(skipped 1 file that cannot be read and name no object of a cluster: pipeline.yaml)") {
		t.Errorf("%v", err)
	}
}

func TestOpen_textsThatLookLikeAliasesAreRead(t *testing.T) {
	t.Parallel()
	for name, content := range map[string]string{
		"a script":         oneNode + "x: |\n  sleep 1 &pid\n  ls *txt && kill $pid 2>&1\n",
		"a text in quotes": oneNode + "x: \"a &b *b\"\n",
		"a comment":        oneNode + "# &b *b\n",
		"JSON":             `{"apiVersion":"v1","kind":"Node","metadata":{"name":"one"},"x":"a &b *b"}` + "\n" + `{"apiVersion":"v1","kind":"Node","metadata":{"name":"two"}}`,
		"a flow mapping":   "{apiVersion: v1, kind: Node, metadata: {name: one}}",
		"an anchor":        oneNode + "x: &x 1\n",
	} {
		dir := t.TempDir()
		write(t, dir, "nodes.yaml", []byte(content))
		c, err := recorded.Open(filepath.Join(dir, "nodes.yaml"))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if want := fmt.Sprint(1+strings.Count(content, `"two"`), " node"); !strings.HasPrefix(c.Content(), want) {
			t.Errorf("%s: %s, want %s", name, c.Content(), want)
		}
	}
}

func TestOpen_aliasesInAConfigMapOfMonitoringTakeLittleMemory(t *testing.T) { //nolint:paralleltest // It measures memory.
	dir := t.TempDir()
	write(t, dir, "nodes.yaml", []byte(oneNode))
	write(t, dir, "config.yaml", []byte("apiVersion: v1\nkind: ConfigMap\nmetadata: {namespace: openshift-monitoring, name: cluster-monitoring-config}\ndata:\n  config.yaml: |\n"+
		"    x: &x \""+strings.Repeat("x", 64<<10)+"\"\n    prometheusK8s:\n      tolerations:\n"+strings.Repeat("      - key: *x\n", 1000)))
	var err error
	used := taken(func() { _, err = recorded.Open(dir) })
	if err != nil || used > 40 {
		t.Errorf("%d MiB: %v", used, err)
	}
}
