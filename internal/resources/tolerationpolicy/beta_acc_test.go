// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package tolerationpolicy_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	apidiscoveryv2 "k8s.io/api/apidiscovery/v2"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
)

// TestAccTolerationPolicy_onAClusterThatServesV1beta1Alone: Kubernetes 1.34 and 1.35 have
// policies in v1beta1, which this API server serves as well. That it serves them in v1 is
// kept from the provider.
func TestAccTolerationPolicy_onAClusterThatServesV1beta1Alone(t *testing.T) {
	t.Parallel()
	const group, v1 = "admissionregistration.k8s.io", "/apis/admissionregistration.k8s.io/v1/mutating"
	s := stageOn(t, acctest.Beside(t))
	proxy := s.c.Proxy(t)
	proxy.Spoil(func(r acctest.Request) acctest.Fault {
		if strings.HasPrefix(r.Path, v1) {
			return acctest.Unserved
		}
		return acctest.None
	})
	proxy.Reword(func(path string, answer []byte) []byte {
		var all apidiscoveryv2.APIGroupDiscoveryList
		if path != "/apis" || json.Unmarshal(answer, &all) != nil {
			return answer
		}
		for _, g := range all.Items {
			for i := range g.Versions {
				if v := &g.Versions[i]; g.Name == group && v.Version == "v1" {
					v.Resources = slices.DeleteFunc(v.Resources, func(r apidiscoveryv2.APIResourceDiscovery) bool {
						return strings.HasPrefix(r.Resource, "mutatingadmission")
					})
				}
			}
		}
		answer, err := json.Marshal(all)
		if err != nil {
			t.Error(err)
		}
		return answer
	})
	s.tf = &acctest.Terraform{Provider: proxy.Provider(t, s.c)}
	name, i := acctest.Name(t, "policy"), fresh()
	s.apply(i, s.config(name, "team=a:NoSchedule", nil))
	s.becomes("tolerations", s.given, "team=a:NoSchedule")
	s.apply(i, s.config(name, "team=b:NoSchedule", map[string]any{"pin": map[string]any{"pool": "b"}}))
	s.becomes("tolerations", s.given, "team=b:NoSchedule")
	s.remove(name)
	if d := s.tf.Walk(t).Refresh(i); d.Errors() != "" || i.Exists() {
		t.Fatalf("the state keeps a policy that is gone: %s", d.Errors())
	}
	i = fresh()
	s.apply(i, s.config(name, "team=c:NoSchedule", nil))
	if got, d := s.tf.Import(t, "kubetaint_toleration_policy", name); d.Errors() != "" || !got.Exists() {
		t.Fatal(d.Errors())
	}
	// Previews know the tolerations of policies, too.
	node := acctest.Name(t, "node")
	s.c.Node(t, acctest.Node{Name: node, Taints: acctest.Parse(t, "team=c:NoSchedule")})
	s.c.Pod(t, s.namespace, "bare", node, nil)
	if _, d := s.tf.Data(t, "kubetaint_eviction_preview", map[string]any{"node_name": node, "taints": acctest.Objects(t, "x:NoExecute")}); d.Errors()+d.Warnings() != "" {
		t.Fatalf("%s%s", d.Errors(), d.Warnings())
	}
	s.tf.Destroy(s.t, i)
	s.gone(name)
	beta := 0
	for _, r := range proxy.Requests() {
		if strings.HasPrefix(r.Path, "/apis/"+group+"/v1beta1/mutating") && r.Write() {
			beta++
		}
	}
	// Two objects are made, changed and deleted, and each is tried before but for the last.
	if beta < 6 {
		t.Fatalf("only %d writes went by v1beta1", beta)
	}
}
