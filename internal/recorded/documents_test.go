// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package recorded_test

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/recorded"
)

const oneNode = "apiVersion: v1\nkind: Node\nmetadata: {name: one}\n"

func TestOpen_oneFileOfKubectlGetIsReadAsAFolderOfOne(t *testing.T) {
	t.Parallel()
	api := shop()
	defer api.Close()
	dir := kubectlGet(t, api.Client())
	content, err := os.ReadFile(filepath.Join(dir, "all.json"))
	if err != nil {
		t.Fatal(err)
	}
	inYAML, err := yaml.JSONToYAML(content)
	if err != nil {
		t.Fatal(err)
	}
	write(t, dir, "all.yaml", inYAML)
	whole, err := recorded.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	want, err := connect(t, whole.Transport()).Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"all.json", "all.yaml"} {
		c, err := recorded.Open(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if c.Content() != "2 nodes and 6 pods in 1 namespace" || !c.Taken().Equal(moment) {
			t.Errorf("%s has %s, taken %s", name, c.Content(), c.Taken())
		}
		wantObserved(t, want, connect(t, c.Transport()))
	}
}

func TestOpen_aSnapshotIsReadWhateverItsName(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, "cluster.json", shopFile(t))
	if c, err := recorded.Open(filepath.Join(dir, "cluster.json")); err != nil || c.Content() != "2 nodes and 6 pods" {
		t.Errorf("the snapshot: %v", err)
	}
}

func TestOpen_aFieldOfAnotherTypeIsNamed(t *testing.T) {
	t.Parallel()
	pod := func(spec string) string {
		return "apiVersion: v1\nkind: Pod\nmetadata: {namespace: shop, name: p}\nspec: " + spec + "\n"
	}
	for content, want := range map[string]string{
		pod("{containers: x}"):                      "sub/a.yaml: Pod shop/p: spec.containers has another type",
		pod("{containers: {name: x}}"):              "sub/a.yaml: Pod shop/p: spec.containers has another type",
		pod("{containers: [x]}"):                    "sub/a.yaml: Pod shop/p: spec.containers[0] has another type",
		pod("{tolerations: [{key: [x]}]}"):          "sub/a.yaml: Pod shop/p: spec.tolerations.key has another type",
		pod("{nodeSelector: {pool: {a: b}}}"):       "sub/a.yaml: Pod shop/p: spec.nodeSelector.pool has another type",
		pod("{priority: high}"):                     "sub/a.yaml: Pod shop/p: spec.priority has another type",
		oneNode + "spec: {taints: {key: x}}":        "sub/a.yaml: Node one: spec.taints has another type",
		oneNode + "status: {allocatable: [{a: b}]}": "sub/a.yaml: Node one: status.allocatable",
		// Fields that no verdict reads may have been taken out by hand.
		pod("{containers: [{name: x, env: REDACTED}], imagePullSecrets: REDACTED}"): "",
	} {
		dir := t.TempDir()
		write(t, dir, "sub/a.yaml", []byte(content))
		_, err := recorded.Open(dir)
		if want == "" && err != nil || want != "" && (err == nil || !strings.HasPrefix(err.Error(), filepath.FromSlash(want))) {
			t.Errorf("%s: %v, want %q", content, err, want)
		}
	}
}

func TestOpen_unrelatedFilesAreSkippedAndNamed(t *testing.T) {
	t.Parallel()
	const template = "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: {{ .Release.Name }}\n  {{- with .Values.labels }}\n  labels: {{ toYaml . }}\n  {{- end }}\n"
	for name, tt := range map[string]struct {
		content string
		skipped bool
	}{
		"chart/templates/web.yaml": {template, true},
		"chart/values.yaml":        {"replicas: 3\nitems: [1, 2]\n", false},
		"broken.yaml":              {"a: [\n", true},
		"broken.json":              {"{", true},
		"list.json":                {"[1, 2]", false},
		"service.yaml":             {"kind: Service\napiVersion: v1\nmetadata: [\n", true},
	} {
		dir := t.TempDir()
		write(t, dir, "nodes.yaml", []byte(oneNode))
		write(t, dir, name, []byte(tt.content))
		c, err := recorded.Open(dir)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if named := strings.Contains(c.Content(), "(skipped 1 file that cannot be read and name no object of a cluster: "+filepath.FromSlash(name)+")"); named != tt.skipped {
			t.Errorf("%s: %s", name, c.Content())
		}
	}
}

func TestOpen_anUnreadableFileOfAKindThatIsReadIsAnError(t *testing.T) {
	t.Parallel()
	for name, content := range map[string]string{
		"cut.json":      `{"apiVersion":"v1","kind":"List","items":[{"apiVersion":"v1","kind":"Pod","metadata":{"na`,
		"cut.yaml":      "apiVersion: v1\nitems:\n- apiVersion: v1\n  kind: Pod\n  metadata: {name: [\n",
		"machines.yaml": "kind: MachineList\nitems: [\n",
		// A text of a container may look like a template.
		"template.yaml": "kind: Pod\nmetadata:\n  uid: x\nspec:\n  text: |\n    {{ x }}\n  cut: [\n",
	} {
		dir := t.TempDir()
		write(t, dir, "nodes.yaml", []byte(oneNode))
		write(t, dir, name, []byte(content))
		if _, err := recorded.Open(dir); err == nil || !strings.HasPrefix(err.Error(), name+": ") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestOpen_largeFilesTakeBoundedMemory(t *testing.T) { //nolint:paralleltest // It measures memory.
	acctest.TooLong(t)
	const size = 9 << 20
	for _, tt := range []struct{ name, before, item, after, want string }{
		{"numbers.json", `{"kind":"List","items":[`, "1,", "1]}", "item 1 of a list is no object"},
		{"empty.json", `{"kind":"List","items":[`, "{},", "{}]}", "a list has more than 2000000 items"},
		{"one.json", `{"apiVersion":"v1","kind":"Pod","spec":[`, "1,", "1]}", "an object of kind Pod has 94372"},
		{"numbers.yaml", "kind: List\nitems: [", "1,", "1]\n", "the file has more than 2500000 values in YAML"},
		{"nested.yaml", "kind: List\nitems: [", "[[[[", "1]\n", "the file has more than 2500000 values in YAML"},
	} {
		dir := t.TempDir()
		write(t, dir, tt.name, []byte(tt.before+string(bytes.Repeat([]byte(tt.item), size/len(tt.item)))+tt.after))
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := recorded.Open(dir)
		runtime.ReadMemStats(&after)
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v", tt.name, err)
		}
		// Memory that was freed on the way counts as well.
		if used := (after.TotalAlloc - before.TotalAlloc) >> 20; used > 60*size>>20 {
			t.Errorf("%s: %d MiB of content took %d MiB", tt.name, size>>20, used)
		}
	}
}

func TestOpen_kindsOfAFolderAreBounded(t *testing.T) {
	t.Parallel()
	for groups, want := range map[int]string{2_000: "", 10_001: "there are more than 10000 kinds"} {
		var content strings.Builder
		for i := range groups {
			fmt.Fprintf(&content, `{"apiVersion":"g%06d.io/v1","kind":"K","metadata":{"name":"a"}}`+"\n", i)
		}
		content.WriteString(`{"apiVersion":"v1","kind":"Node","metadata":{"name":"a"}}`)
		dir := t.TempDir()
		write(t, dir, "a.json", []byte(content.String()))
		if _, err := recorded.Open(dir); want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%d kinds: %v", groups, err)
		}
	}
}

func TestOpen_aListInAListIsRefused(t *testing.T) { //nolint:paralleltest // It measures memory.
	const depth, size = 100, 1 << 20
	content := strings.Repeat(`{"apiVersion":"v1","kind":"List","items":[`, depth) +
		`{"apiVersion":"v1","kind":"Node","metadata":{"name":"a"},"pad":"` + strings.Repeat("x", size) + `"}` + strings.Repeat("]}", depth)
	dir := t.TempDir()
	write(t, dir, "a.json", []byte(content))
	var err error
	used := taken(func() { _, err = recorded.Open(dir) })
	if err == nil || err.Error() != "a.json: item 1 of a list is a list itself" {
		t.Errorf("error: %v", err)
	}
	// Each level would hold its content twice.
	if used > 30 {
		t.Errorf("%d lists of %d MiB take %d MiB", depth, size>>20, used)
	}
}

// FuzzFolder reads files of any content: Open returns an error or a cluster that answers.
func FuzzFolder(f *testing.F) {
	api := shop()
	defer api.Close()
	for _, path := range []string{"/api/v1/nodes", "/api/v1/pods", "/apis/argoproj.io/v1alpha1/rollouts", "/apis/policy/v1/poddisruptionbudgets"} {
		f.Add(list(f, api.Client(), path))
	}
	for _, text := range []string{
		oneNode, oneNode + "---\n" + oneNode, "", "{", "kind: List\nitems: [1]", "kind: NodeList\napiVersion: v1\nitems: [{metadata: {name: a}}, {}]",
		`{"kind":"List","items":[{"kind":"List","items":[{"apiVersion":"v1","kind":"Node","metadata":{"name":"a","labels":[1]}}]}]}`,
		"apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {containers: [{resources: {requests: {cpu: x}}}]}",
		"a: &a [x]\nb: [*a, *a]\nkind: Node", "apiVersion: v1\nkind: Node\nmetadata: {name: \"\", resourceVersion: 1}",
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		dir := t.TempDir()
		for _, name := range []string{"a.yaml", "b.json"} {
			path := filepath.Join(dir, name)
			if err := os.WriteFile(path, content, 0o600); err != nil {
				t.Fatal(err)
			}
			c, err := recorded.Open(path)
			if err != nil {
				continue
			}
			for path := range lists {
				request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, recorded.Host+path, nil)
				if err != nil {
					t.Fatal(err)
				}
				response, err := c.Transport().RoundTrip(request)
				if err != nil {
					t.Fatal(err)
				}
				// Objects that are not of their kind are refused when they are read.
				if response.StatusCode == http.StatusInternalServerError {
					t.Errorf("%s: %s", path, response.Status)
				}
				_ = response.Body.Close()
			}
		}
	})
}
