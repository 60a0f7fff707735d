// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package recorded_test

import (
	"slices"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/recorded"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/fakeapi"
)

// TestWrite_webhooksOfARecordingAreThoseOfTheCluster: one is called for pods of a label, another one not.
func TestWrite_webhooksOfARecordingAreThoseOfTheCluster(t *testing.T) {
	t.Parallel()
	hook := func(name, app string) *admissionregistrationv1.ValidatingWebhookConfiguration {
		return &admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: name}, Webhooks: []admissionregistrationv1.ValidatingWebhook{{
			Name: "hook.example.com", ObjectSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}}, NamespaceSelector: &metav1.LabelSelector{},
			ClientConfig: admissionregistrationv1.WebhookClientConfig{URL: new("https://" + canary)},
			Rules: []admissionregistrationv1.RuleWithOperations{{
				Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create},
				Rule:       admissionregistrationv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"pods"}},
			}},
		}}}
	}
	api := fakeapi.New()
	api.Add(hook("called", "web"), hook("silent", "api"))
	called := func(t *testing.T, c *recorded.Cluster, app string) snapshot.Unmodelled {
		t.Helper()
		got, err := connect(t, c.Transport()).Unmodelled(t.Context(), false, []*snapshot.Pod{{Namespace: "shop", Labels: labels.Set{"app": app}}})
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	file, _ := record(t, api.Client(), recorded.Options{})
	wantAbsent(t, plain(t, file), canary)
	dir := t.TempDir()
	write(t, dir, "nodes.json", list(t, api.Client(), "/api/v1/nodes"))
	write(t, dir, "webhooks.json", list(t, api.Client(), "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"))
	write(t, dir, "pods.yaml", []byte("{apiVersion: v1, kind: Pod, metadata: {name: web, namespace: shop}}"))
	folder, err := recorded.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]*recorded.Cluster{"the recording": read(t, file), "the folder": folder} {
		if got := called(t, c, "web"); !slices.Equal(got.Webhooks, []string{"called"}) || got.WebhooksUnread {
			t.Errorf("%s has %+v", name, got)
		}
	}
	hashed, _ := record(t, api.Client(), recorded.Options{HashNames: true})
	if got := called(t, read(t, hashed), "web"); got.WebhooksUnread {
		t.Errorf("with hashed names it has %+v", got)
	}
}
