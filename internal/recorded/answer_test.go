// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package recorded_test

import (
	"bytes"
	"context"
	"encoding/json"
	"path/filepath"
	"slices"
	"testing"

	apidiscoveryv2 "k8s.io/api/apidiscovery/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/recorded"
)

// nicknamed is a source whose resources have short names of their own.
type nicknamed struct{ recorded.Source }

// Served returns what the source serves.
func (n nicknamed) Served(ctx context.Context) ([]*metav1.APIResourceList, []schema.GroupVersion, error) {
	lists, stale, err := n.Source.Served(ctx)
	var out []*metav1.APIResourceList
	for _, list := range lists {
		list = list.DeepCopy()
		for i := range list.APIResources {
			list.APIResources[i].ShortNames = []string{"x" + list.APIResources[i].Name}
		}
		out = append(out, list)
	}
	return out, stale, err
}

func TestTransport_discoveryAnswersShortNames(t *testing.T) {
	t.Parallel()
	api := shop()
	defer api.Close()
	var file bytes.Buffer
	if _, err := recorded.Write(t.Context(), &file, nicknamed{connect(t, api.Client())}, recorded.Options{}); err != nil {
		t.Fatal(err)
	}
	folder, err := recorded.Open(mustGather(t, api.Client()))
	if err != nil {
		t.Fatal(err)
	}
	version1, err := recorded.Open(filepath.Join("testdata", "version1.kts"))
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]*recorded.Cluster{"snapshot": read(t, file.Bytes()), "folder": folder, "version 1": version1} {
		short := map[string][]string{}
		for _, path := range []string{"/api", "/apis"} {
			var groups apidiscoveryv2.APIGroupDiscoveryList
			if err := json.Unmarshal(list(t, c.Transport(), path), &groups); err != nil {
				t.Fatal(err)
			}
			for _, g := range groups.Items {
				for _, v := range g.Versions {
					for _, r := range v.Resources {
						short[r.Resource] = r.ShortNames
					}
				}
			}
		}
		for resource, want := range map[string]string{
			"nodes": "no", "pods": "po", "namespaces": "ns", "deployments": "deploy", "statefulsets": "sts", "daemonsets": "ds", "replicasets": "rs",
			"cronjobs": "cj", "poddisruptionbudgets": "pdb",
		} {
			if name == "snapshot" {
				want = "x" + resource
			}
			if !slices.Equal(short[resource], []string{want}) {
				t.Errorf("%s: short names of %s are %q", name, resource, short[resource])
			}
		}
	}
}
