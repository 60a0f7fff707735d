// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package recorded_test

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"testing"

	apidiscoveryv2 "k8s.io/api/apidiscovery/v2"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/recorded"
)

func TestTransport_discoveryAnswersShortNames(t *testing.T) {
	t.Parallel()
	api := shop()
	defer api.Close()
	file, _ := record(t, api.Client(), recorded.Options{})
	folder, err := recorded.Open(mustGather(t, api.Client()))
	if err != nil {
		t.Fatal(err)
	}
	version1, err := recorded.Open(filepath.Join("testdata", "version1.kts"))
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]*recorded.Cluster{"snapshot": read(t, file), "folder": folder, "version 1": version1} {
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
			if !slices.Equal(short[resource], []string{want}) {
				t.Errorf("%s: short names of %s are %q", name, resource, short[resource])
			}
		}
	}
}
