// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package validation

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/testbed/modules/machineapi/cloud"
)

// ask asks a webhook as the API server does, about a MachineSet that changes.
func ask(t *testing.T, hook admissionregistrationv1.ValidatingWebhook, object, old *machinev1beta1.MachineSet) *admissionv1.AdmissionResponse {
	t.Helper()
	raw := func(ms *machinev1beta1.MachineSet) runtime.RawExtension {
		out, err := json.Marshal(ms)
		if err != nil {
			t.Fatal(err)
		}
		return runtime.RawExtension{Raw: out}
	}
	body, err := json.Marshal(&admissionv1.AdmissionReview{
		TypeMeta: metav1.TypeMeta{APIVersion: "admission.k8s.io/v1", Kind: "AdmissionReview"},
		Request:  &admissionv1.AdmissionRequest{UID: "1", Operation: admissionv1.Update, Object: raw(object), OldObject: raw(old)},
	})
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(hook.ClientConfig.CABundle)
	api := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: roots}}}
	defer api.CloseIdleConnections()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, *hook.ClientConfig.URL, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	answer, err := api.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	review := &admissionv1.AdmissionReview{}
	if err := json.NewDecoder(answer.Body).Decode(review); err != nil || review.Response == nil {
		t.Fatalf("the webhook answers %s, %v", answer.Status, err)
	}
	return review.Response
}

// TestServe_refusesWithTheStatusOfMissingRights, as OpenShift's webhooks do, and at the
// newest address where it has been started again.
func TestServe_refusesWithTheStatusOfMissingRights(t *testing.T) {
	t.Parallel()
	scheme := runtime.NewScheme()
	for _, install := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, machinev1beta1.Install} {
		if err := install(scheme); err != nil {
			t.Fatal(err)
		}
	}
	images := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: cloud.Namespace, Name: withdrawnImages}, Data: map[string]string{"old": ""}}
	objects := fake.NewClientBuilder().WithScheme(scheme).WithObjects(images).Build()
	addresses := map[string]bool{}
	for range 2 {
		if err := Serve(t.Context(), objects, scheme); err != nil {
			t.Fatal(err)
		}
		config := &admissionregistrationv1.ValidatingWebhookConfiguration{}
		if err := objects.Get(t.Context(), client.ObjectKey{Name: configuration}, config); err != nil || len(config.Webhooks) != 2 {
			t.Fatalf("the API server knows %+v, %v", config.Webhooks, err)
		}
		hook := config.Webhooks[1]
		addresses[*hook.ClientConfig.URL] = true
		if got := ask(t, hook, newSet(nil), newSet(nil)); !got.Allowed {
			t.Errorf("it refuses a good one: %+v", got.Result)
		}
		old := newSet(providerSpec(strings.Replace(good, "new", "old", 1)))
		if got := ask(t, hook, old, old); got.Allowed || got.Result.Code != http.StatusForbidden || got.Result.Reason != metav1.StatusReasonForbidden || !strings.Contains(got.Result.Message, "withdrawn") {
			t.Errorf("of a withdrawn image it says %+v", got)
		}
	}
	if len(addresses) != 2 {
		t.Errorf("the addresses are %v", addresses)
	}
}
