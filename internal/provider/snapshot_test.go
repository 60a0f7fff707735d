// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package provider

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/terraform-plugin-framework/providerserver"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/kube"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/recorded"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/fakeapi"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/messages"
)

// recordedHost is an address to which clients send tokens.
const recordedHost = "https://fakeapi.test"

// snapshotOf records a cluster as it was three hours ago.
func snapshotOf(t *testing.T, api *fakeapi.Server, token string) string {
	t.Helper()
	source, err := kube.New(kube.Config{Host: recordedHost, Token: token, Transport: api.Client()})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "cluster.kts")
	ago := func() time.Time { return time.Now().Add(-3 * time.Hour) }
	if _, err := recorded.WriteFile(t.Context(), path, source, recorded.Options{Now: ago}); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestSnapshot_theProviderWarnsOnceOfItsAge(t *testing.T) {
	t.Parallel()
	api := shop()
	path := snapshotOf(t, api, "")
	data, diags := configure(t, values{"snapshot": path}, map[string]string{"KUBE_HOST": "https://other.test", "KUBE_TOKEN": "secret", "KUBE_CONFIG_PATH": "/none"})
	if diags.HasError() || len(diags) != 1 {
		t.Fatalf("diagnostics: %v", diags)
	}
	if got, want := diags[0].Summary(), `The plan is made from the snapshot "`+path+`", taken 3 hours ago`; got != want {
		t.Errorf("summary %q, want %q", got, want)
	}
	if got, want := diags[0].Detail(), "It has 2 nodes and 3 pods of the cluster "+recordedHost+" as of "; !strings.HasPrefix(got, want) {
		t.Errorf("detail %q, want %q", got, want)
	}
	if strings.Contains(diags[0].Detail(), "Not in the snapshot") {
		t.Errorf("detail %q names missing kinds", diags[0].Detail())
	}
	nodes, err := data.Cluster.Nodes(t.Context())
	if err != nil || len(nodes) != 2 {
		t.Errorf("%d nodes: %v", len(nodes), err)
	}
}

func TestSnapshot_whatIsMissingIsNamed(t *testing.T) {
	t.Parallel()
	api := shop()
	token := api.Account("recorder", rule("", "nodes", "pods"), rule("apps", "deployments", "replicasets"))
	_, diags := configure(t, values{"snapshot": snapshotOf(t, api, token)}, nil)
	if diags.HasError() || len(diags) != 1 {
		t.Fatalf("diagnostics: %v", diags)
	}
	want := "\n\nNot in the snapshot: cronjobs.batch, csidrivers.storage.k8s.io, csinodes.storage.k8s.io, csistoragecapacities.storage.k8s.io, daemonsets.apps, jobs.batch, limitranges, mutatingadmissionpolicies.admissionregistration.k8s.io, " +
		"mutatingadmissionpolicybindings.admissionregistration.k8s.io, mutatingwebhookconfigurations.admissionregistration.k8s.io, namespaces, persistentvolumeclaims, persistentvolumes, poddisruptionbudgets.policy, priorityclasses.scheduling.k8s.io, replicationcontrollers, resourcequotas, statefulsets.apps, storageclasses.storage.k8s.io, validatingwebhookconfigurations.admissionregistration.k8s.io. " +
		"The plan treats these as kinds that there is no permission to list."
	if got := diags[0].Detail(); !strings.HasSuffix(got, want) {
		t.Errorf("detail %q, want %q at its end", got, want)
	}
}

func TestSnapshot_everyDataSourceReadsItAsTheCluster(t *testing.T) {
	t.Parallel()
	api := shop()
	path := snapshotOf(t, api, "")
	for name, config := range map[string]values{
		previewData:   {"node_name": "a", "taints": []any{object{"key": "team", "value": "blue", "effect": "NoExecute"}}, "include_unaffected": true},
		nodesData:     {"selector": "pool=gpu"},
		workloadsData: {"taints": []any{object{"key": "team", "value": "blue", "effect": "NoExecute"}}},
	} {
		want, diags := read(t, api.Client(), connected(), name, config)
		if len(diags) > 0 {
			t.Fatalf("%s: %v", name, diags)
		}
		got, diags := readSnapshot(t, path, name, config)
		if len(diags) > 0 {
			t.Fatalf("%s: %v", name, diags)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s is another one from the snapshot: %s", name, diff)
		}
	}
}

// readSnapshot reads a data source from a snapshot; the warning of the provider is dropped.
func readSnapshot(t *testing.T, path, typeName string, config values) (map[string]any, []*tfprotov6.Diagnostic) {
	t.Helper()
	ctx := context.Background()
	server := providerserver.NewProtocol6(New("1.2.3")())()
	_, raw := block(t, values{"snapshot": path})
	if configured, err := server.ConfigureProvider(ctx, &tfprotov6.ConfigureProviderRequest{Config: encode(t, raw)}); err != nil || len(configured.Diagnostics) != 1 {
		t.Fatalf("configuring the provider: %v, %v", err, configured.Diagnostics)
	}
	schema, err := server.GetProviderSchema(ctx, &tfprotov6.GetProviderSchemaRequest{})
	if err != nil {
		t.Fatal(err)
	}
	typ := schema.DataSourceSchemas[typeName].ValueType()
	resp, err := server.ReadDataSource(ctx, &tfprotov6.ReadDataSourceRequest{TypeName: typeName, Config: encode(t, value(t, typ, map[string]any(config)))})
	if err != nil {
		t.Fatal(err)
	}
	state, err := resp.State.Unmarshal(typ)
	if err != nil {
		t.Fatal(err)
	}
	out, _ := plain(t, state).(map[string]any)
	return out, resp.Diagnostics
}

func TestSnapshot_filesThatCannotBeReadAreNamed(t *testing.T) {
	t.Parallel()
	messages.Expect(t, "Unable to read the snapshot")
	path := snapshotOf(t, shop(), "")
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	file := func(name string, content []byte) string {
		at := filepath.Join(dir, name)
		if err := os.WriteFile(at, content, 0o600); err != nil {
			t.Fatal(err)
		}
		return at
	}
	newer := slices.Clone(whole)
	newer[len("kubetaint snapshot\n")] = 9
	for at, want := range map[string]string{
		file("truncated.kts", whole[:len(whole)-20]): "its end is missing",
		file("pods.txt", []byte("kind: PodList")):    "it is neither a file that kubectl kubetaint snapshot has written, nor a .yaml or .json file, nor a folder",
		file("pods.yaml", []byte("kind: PodList")):   "it has neither nodes nor pods",
		file("newer.kts", newer):                     "a newer version has written it: update the provider",
		filepath.Join(dir, "none.kts"):               "no such file or directory",
		t.TempDir():                                  "it has neither nodes nor pods",
	} {
		data, diags := configure(t, values{"snapshot": at}, nil)
		if data != nil || diags.ErrorsCount() != 1 || diags[0].Summary() != `Unable to read the snapshot "`+at+`"` || !strings.Contains(diags[0].Detail(), "cannot be used: "+want) {
			t.Errorf("%s: %v", at, diags)
		}
		messages.GotAll(t, diags)
	}
}

// A file's content in the place of its path is a likely mistake, and diagnostics end in logs.
func TestSnapshot_contentInThePlaceOfAPathIsNotPrinted(t *testing.T) {
	t.Parallel()
	for name, content := range map[string]string{
		"a kubeconfig":             "apiVersion: v1\nkind: Config\nusers:\n- name: u\n  user:\n    token: secret\n",
		"a kubeconfig on one line": "{kind: Config, users: [{name: u, user: {token: secret}}]}",
		"a kubeconfig in the home": "~/{users: [{user: {token: secret}}]}",
		"a token":                  strings.Repeat("secret", 100),
		"a null byte":              "secret\x00",
	} {
		data, diags := configure(t, values{"snapshot": content}, nil)
		if data != nil || diags.ErrorsCount() != 1 || !strings.HasPrefix(diags[0].Summary(), "Unable to read the snapshot (") {
			t.Errorf("%s: %v", name, diags)
		}
		for _, d := range diags {
			if strings.Contains(d.Summary()+d.Detail(), "secret") {
				t.Errorf("%s: the diagnostic shows the content: %s\n%s", name, d.Summary(), d.Detail())
			}
		}
	}
}

func TestSnapshot_unknownPathIsAConnectionThatIsNotKnown(t *testing.T) {
	t.Parallel()
	data, diags := configure(t, values{"snapshot": unknownString}, map[string]string{"KUBE_HOST": "https://other.test"})
	if len(diags) > 0 || data.Cluster != nil {
		t.Errorf("cluster %v, diagnostics %v", data.Cluster, diags)
	}
}

func TestSnapshot_conflictsWithEveryAttributeOfAConnection(t *testing.T) {
	t.Parallel()
	names := slices.Sorted(func(yield func(string) bool) {
		for name := range connectionAttributes() {
			if !yield(name) {
				return
			}
		}
	})
	if len(names) < 15 {
		t.Fatalf("only %d attributes of a connection", len(names))
	}
	server := providerserver.NewProtocol6(New("1.2.3")())()
	for _, name := range names {
		of := values{"snapshot": "cluster.kts"}
		switch name {
		case "insecure":
			of[name] = true
		case "config_paths":
			continue
		default:
			of[name] = "x"
		}
		_, raw := block(t, of)
		resp, err := server.ValidateProviderConfig(context.Background(), &tfprotov6.ValidateProviderConfigRequest{Config: encode(t, raw)})
		if err != nil || len(resp.Diagnostics) == 0 || resp.Diagnostics[0].Severity != tfprotov6.DiagnosticSeverityError {
			t.Errorf("snapshot with %s: %v, %v", name, err, resp.Diagnostics)
		}
	}
}

// rule is the right to list and get resources of a group.
func rule(group string, resources ...string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{APIGroups: []string{group}, Resources: resources, Verbs: []string{"get", "list"}}
}
