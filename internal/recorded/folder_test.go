// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package recorded_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/kube"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/recorded"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/fakeapi"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/workload"
)

// lists are the addresses of the shop's lists, and where a must-gather has them.
var lists = map[string]string{
	"/api/v1/nodes": "cluster-scoped-resources/core/nodes/all.yaml", "/api/v1/persistentvolumes": "cluster-scoped-resources/core/persistentvolumes/all.yaml",
	"/api/v1/namespaces": "cluster-scoped-resources/core/namespaces/all.yaml",
	"/api/v1/pods":       "namespaces/shop/core/pods.yaml", "/api/v1/persistentvolumeclaims": "namespaces/shop/core/persistentvolumeclaims.yaml",
	"/apis/apps/v1/deployments": "namespaces/shop/apps/deployments.yaml", "/apis/apps/v1/replicasets": "namespaces/shop/apps/replicasets.yaml",
	"/apis/apps/v1/statefulsets": "namespaces/shop/apps/statefulsets.yaml", "/apis/apps/v1/daemonsets": "namespaces/shop/apps/daemonsets.yaml",
	"/apis/batch/v1/jobs": "namespaces/shop/batch/jobs.yaml", "/apis/batch/v1/cronjobs": "namespaces/shop/batch/cronjobs.yaml",
	"/api/v1/resourcequotas":                     "namespaces/shop/core/resourcequotas.yaml",
	"/api/v1/limitranges":                        "namespaces/shop/core/limitranges.yaml",
	"/apis/policy/v1/poddisruptionbudgets":       "namespaces/shop/policy/poddisruptionbudgets.yaml",
	"/apis/argoproj.io/v1alpha1/rollouts":        "namespaces/shop/argoproj.io/rollouts/roll.yaml",
	"/api/v1/configmaps":                         "namespaces/shop/core/configmaps.yaml",
	"/apis/scheduling.k8s.io/v1/priorityclasses": "cluster-scoped-resources/scheduling.k8s.io/priorityclasses/all.yaml",
	"/apis/storage.k8s.io/v1/storageclasses":     "cluster-scoped-resources/storage.k8s.io/storageclasses/all.yaml", "/apis/storage.k8s.io/v1/csidrivers": "cluster-scoped-resources/storage.k8s.io/csidrivers/all.yaml",
	"/apis/storage.k8s.io/v1/csinodes": "cluster-scoped-resources/storage.k8s.io/csinodes/all.yaml", "/apis/storage.k8s.io/v1/csistoragecapacities": "namespaces/shop/storage.k8s.io/csistoragecapacities.yaml",
	"/apis/apps/v1/controllerrevisions": "namespaces/shop/apps/controllerrevisions.yaml",
}

// list returns a list as the API server prints it.
func list(t testing.TB, transport http.RoundTripper, path string) []byte {
	t.Helper()
	request, err := http.NewRequestWithContext(context.Background(), http.MethodGet, fakeapi.Host+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Accept", "application/json")
	response, err := transport.RoundTrip(request)
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("%s: %d %s: %v", path, response.StatusCode, body, err)
	}
	return body
}

func write(t *testing.T, dir, name string, content []byte) {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(path, moment, moment); err != nil {
		t.Fatal(err)
	}
}

// mustGather writes the shop as must-gather does; each object also has a file of its own there.
func mustGather(t *testing.T, transport http.RoundTripper, without ...string) string {
	t.Helper()
	dir := t.TempDir()
	for path, name := range lists {
		if slices.Contains(without, path) {
			continue
		}
		content, err := yaml.JSONToYAML(list(t, transport, path))
		if err != nil {
			t.Fatal(err)
		}
		write(t, dir, "image-sha256/"+name, content)
	}
	write(t, dir, "image-sha256/namespaces/shop/pods/web-1-x/main/main/logs/current.log", []byte("{ no object"))
	write(t, dir, "image-sha256/version.yaml", []byte("just: values\n---\n- a list\n---\n"))
	write(t, dir, "timestamp", []byte("2026-11-01"))
	return dir
}

// kubectlGet writes the shop as one list of all kinds, in JSON.
func kubectlGet(t *testing.T, transport http.RoundTripper) string {
	t.Helper()
	dir := t.TempDir()
	all := map[string]any{"kind": "List", "apiVersion": "v1", "metadata": map[string]any{"resourceVersion": ""}}
	var items []any
	for path := range lists {
		var one map[string]any
		if err := json.Unmarshal(list(t, transport, path), &one); err != nil {
			t.Fatal(err)
		}
		for _, item := range one["items"].([]any) {
			object := item.(map[string]any)
			object["kind"], object["apiVersion"] = strings.TrimSuffix(one["kind"].(string), "List"), one["apiVersion"]
			items = append(items, object)
		}
	}
	all["items"] = items
	content, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	write(t, dir, "all.json", content)
	return dir
}

func TestOpen_aFolderIsObservedAsTheLiveCluster(t *testing.T) {
	t.Parallel()
	api := shop()
	defer api.Close()
	for name, dir := range map[string]string{"must-gather": mustGather(t, api.Client()), "kubectl get": kubectlGet(t, api.Client())} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, err := recorded.Open(dir)
			if err != nil {
				t.Fatal(err)
			}
			if !c.Taken().Equal(moment) || c.Content() != "2 nodes and 6 pods in 1 namespace" {
				t.Errorf("taken %s, with %s", c.Taken(), c.Content())
			}
			want := []string{"mutatingadmissionpolicies.admissionregistration.k8s.io", "mutatingadmissionpolicybindings.admissionregistration.k8s.io", "replicationcontrollers"}
			if got := c.Missing(); !slices.Equal(got, want) {
				t.Errorf("missing are %q, want %q", got, want)
			}
			live, recording := connect(t, api.Client()), connect(t, c.Transport())
			want1, err := live.Snapshot(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			want1.Gaps = []string{"MutatingAdmissionPolicies could not be read (they are not in the snapshot): what they add to new pods is not considered"}
			wantObserved(t, want1, recording)
		})
	}
}

func TestOpen_whatAFolderDoesNotHaveIsNotTakenForAbsent(t *testing.T) {
	t.Parallel()
	api := shop()
	defer api.Close()
	c, err := recorded.Open(mustGather(t, api.Client(), "/apis/policy/v1/poddisruptionbudgets", "/apis/apps/v1/replicasets", "/api/v1/namespaces"))
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range []string{"poddisruptionbudgets.policy", "replicasets.apps", "namespaces"} {
		if !slices.Contains(c.Missing(), kind) {
			t.Errorf("%s is not among the missing kinds %q", kind, c.Missing())
		}
	}
	recording := connect(t, c.Transport())
	if _, err := recording.Budgets(t.Context()); !errors.Is(err, kube.ErrForbidden) {
		t.Errorf("PodDisruptionBudgets: %v", err)
	}
	s, err := recording.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, sentence := range slices.Concat(s.Gaps, s.OwnerGaps) {
		if strings.Contains(sentence, "permission") {
			t.Errorf("rights are named, and not the folder: %s", sentence)
		}
	}
	if len(s.OwnerGaps) != 1 || !strings.HasPrefix(s.OwnerGaps[0], "ReplicaSets could not be read (they are not in the snapshot): ") {
		t.Errorf("gaps of owners: %q", s.OwnerGaps)
	}
	if _, err := recording.ID(t.Context()); !errors.Is(err, kube.ErrForbidden) {
		t.Errorf("the id of the cluster: %v", err)
	}
}

func TestOpen_aNamespaceThatAFolderDoesNotHaveIsNotKnown(t *testing.T) {
	t.Parallel()
	api := shop()
	defer api.Close()
	c, err := recorded.Open(mustGather(t, api.Client()))
	if err != nil {
		t.Fatal(err)
	}
	recording := connect(t, c.Transport())
	if _, err := recording.NamespaceLists(t.Context(), "other"); !errors.Is(err, kube.ErrForbidden) {
		t.Errorf("a namespace of which there is no file: %v", err)
	}
	for namespace, want := range map[string]error{"shop": kube.ErrNotFound, "other": kube.ErrForbidden} {
		ref := workload.Ref{APIVersion: "apps/v1", Kind: "Deployment", Namespace: namespace, Name: "none"}
		if _, err := recording.Workload(t.Context(), ref, []string{"spec", "template", "spec", "tolerations"}); !errors.Is(err, want) {
			t.Errorf("a Deployment in the namespace %s: %v, want %v", namespace, err, want)
		}
	}
}

// A ResourceQuota can be about pods whose preferred affinity names other namespaces.
func TestOpen_aFolderKeepsWhichNamespacesPreferredAffinityNames(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		term string
		want bool
	}{
		"none":              {"{topologyKey: zone}", false},
		"a list":            {"{topologyKey: zone, namespaces: [other]}", true},
		"every namespace":   {"{topologyKey: zone, namespaceSelector: {}}", true},
		"those by selector": {"{topologyKey: zone, namespaceSelector: {matchLabels: {team: red}}}", true},
	} {
		for _, kind := range []string{"podAffinity", "podAntiAffinity"} {
			dir := t.TempDir()
			write(t, dir, "node.yaml", []byte("apiVersion: v1\nkind: Node\nmetadata: {name: a}\n"))
			write(t, dir, "pod.yaml", []byte("apiVersion: v1\nkind: Pod\nmetadata: {name: p, namespace: app}\nspec: {nodeName: a, affinity: {"+kind+
				": {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 1, podAffinityTerm: "+tt.term+"}]}}}\n"))
			c, err := recorded.Open(dir)
			if err != nil {
				t.Fatal(err)
			}
			s, err := connect(t, c.Transport()).Snapshot(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if pods := s.Pods["a"]; len(pods) != 1 || pods[0].Demand.OtherNamespaces != tt.want {
				t.Errorf("%s, %s: read as %v", name, kind, pods)
			}
		}
	}
}

// A folder keeps which nodes pods prefer, and that they prefer nodes by other pods.
func TestOpen_aFolderKeepsWhatPodsPrefer(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, "node.yaml", []byte("apiVersion: v1\nkind: Node\nmetadata: {name: a}\n"))
	write(t, dir, "pod.yaml", []byte(`
apiVersion: v1
kind: Pod
metadata: {name: p, namespace: app}
spec:
  nodeName: a
  affinity:
    nodeAffinity:
      preferredDuringSchedulingIgnoredDuringExecution:
      - weight: 7
        preference: {matchExpressions: [{key: zone, operator: In, values: [a]}]}
    podAntiAffinity:
      preferredDuringSchedulingIgnoredDuringExecution:
      - weight: 1
        podAffinityTerm: {topologyKey: zone, labelSelector: {matchLabels: {app: web}}, namespaces: [other]}
  topologySpreadConstraints: [{maxSkew: 2, topologyKey: zone, whenUnsatisfiable: ScheduleAnyway, labelSelector: {matchLabels: {app: db}}}]
`))
	c, err := recorded.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	s, err := connect(t, c.Transport()).Snapshot(t.Context())
	if err != nil || len(s.Pods["a"]) != 1 {
		t.Fatalf("%v: %v", s, err)
	}
	p := s.Pods["a"][0]
	want := []corev1.PreferredSchedulingTerm{{Weight: 7, Preference: corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{{Key: "zone", Operator: corev1.NodeSelectorOpIn, Values: []string{"a"}}}}}}
	if diff := cmp.Diff(want, p.Scheduling.Preferred); diff != "" || len(p.Rules.Preferred) != 1 || len(p.Rules.SoftSpread) != 1 {
		t.Fatalf("read as %+v: %s", p, diff)
	}
	if term, spread := p.Rules.Preferred[0], p.Rules.SoftSpread[0]; term.Weight != -1 || term.TopologyKey+"/"+term.Selector.String()+"/"+strings.Join(term.Namespaces, "") != "zone/app=web/other" ||
		spread.MaxSkew != 2 || spread.Selector.String() != "app=db" {
		t.Errorf("read as %+v", p.Rules)
	}
}

func TestOpen_theNewerOfTwoObjectsCounts(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	node := func(version, label string) []byte {
		return []byte("apiVersion: v1\nkind: Node\nmetadata: {name: one, resourceVersion: '" + version + "', labels: {is: " + label + "}}\n")
	}
	write(t, dir, "a.yaml", node("9", "old"))
	write(t, dir, "b.yaml", node("10", "new"))
	write(t, dir, "c.yaml", node("8", "older"))
	c, err := recorded.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	nodes, err := connect(t, c.Transport()).Nodes(t.Context())
	if err != nil || len(nodes) != 1 || nodes[0].Labels["is"] != "new" {
		t.Errorf("nodes: %v, %v", nodes, err)
	}
	if age := recorded.ReportAge(moment.Add(150 * time.Minute).Sub(c.Taken())); age != "2 hours" {
		t.Errorf("its age is %s", age)
	}
}

func TestOpen_foldersWithoutACluster(t *testing.T) {
	t.Parallel()
	empty, broken := t.TempDir(), t.TempDir()
	write(t, empty, "values.yaml", []byte("replicas: 3\n"))
	write(t, broken, "sub/pods.yaml", []byte("kind: PodList\nitems:\n- metadata: {name: [\n"))
	if _, err := recorded.Open(empty); !errors.Is(err, recorded.ErrNoObjects) {
		t.Errorf("a folder without objects: %v", err)
	}
	if _, err := recorded.Open(broken); err == nil || !strings.HasPrefix(err.Error(), filepath.Join("sub", "pods.yaml")+": ") {
		t.Errorf("a folder with a broken file: %v", err)
	}
	link := filepath.Join(empty, "link")
	if err := os.Symlink(broken, link); err != nil {
		t.Fatal(err)
	}
	if _, err := recorded.Open(link); err == nil || errors.Is(err, recorded.ErrNoObjects) {
		t.Errorf("a link to a folder is not followed: %v", err)
	}
	if _, err := recorded.Open(filepath.Join(empty, "none")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a folder that is not there: %v", err)
	}
}
