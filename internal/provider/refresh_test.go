// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package provider

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"

	"github.com/hashicorp/terraform-plugin-framework/providerserver"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/fakeapi"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/fakeapi/controllers"
)

// TestRefresh_whereNoIdentityIsStored refreshes as Terraform before 1.12 and OpenTofu do,
// which store no identity of a resource: with a cluster that cannot be read every resource
// keeps its state with a warning, and one whose object is gone drops it.
func TestRefresh_whereNoIdentityIsStored(t *testing.T) {
	t.Parallel()
	unknown := values{"host": tftypes.NewValue(tftypes.String, tftypes.UnknownValue)}
	empty := func() http.RoundTripper {
		api := fakeapi.New(controllers.MachineAPI...)
		api.Add(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: metav1.NamespaceSystem, UID: "cluster"}})
		return api.Client()
	}
	schemas, err := providerserver.NewProtocol6(New("test")())().GetProviderSchema(t.Context(), &tfprotov6.GetProviderSchemaRequest{})
	must(t, err)
	for name, tt := range map[string]struct {
		block     values
		transport func() http.RoundTripper
		// warns is in the summary of the only diagnostic, and none is wanted where it is empty.
		warns string
	}{
		"the API server is out of reach": {connected(), func() http.RoundTripper { return respond(nil, syscall.ECONNREFUSED) }, "Unable to read the cluster at "},
		"the credentials have expired":   {values{"host": fakeapi.Host, "token": "t"}, func() http.RoundTripper { return respond(unauthorized(), nil) }, "the credentials were refused"},
		"the certificate is not trusted": {connected(), func() http.RoundTripper {
			return respond(nil, &tls.CertificateVerificationError{Err: x509.UnknownAuthorityError{}})
		}, "no trusted connection"},
		"the command for credentials fails": {connected(), func() http.RoundTripper {
			return respond(nil, errors.New("getting credentials: exec: executable aws failed with exit code 1"))
		}, "no trusted connection"},
		"the provider block is not known yet":     {unknown, empty, "the provider block is not known yet"},
		"the cluster has nothing of the resource": {connected(), empty, ""},
	} {
		for typeName := range schemas.ResourceSchemas {
			t.Run(typeName+" "+name, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					got := refreshWithoutIdentity(t, tt.transport(), tt.block, typeName)
					said := summaries(got.Diagnostics)
					if tt.warns == "" {
						if len(said) > 0 {
							t.Errorf("it says %v, want nothing", said)
						}
						return
					}
					if len(said) != 1 || !strings.HasPrefix(said[0], "WARNING") || !strings.Contains(said[0], tt.warns) {
						t.Errorf("it says %v, want one warning: %s", said, tt.warns)
					}
					if got.NewState == nil || got.NewIdentity == nil {
						t.Fatal("the state or the identity is lost")
					}
				})
			})
		}
	}
}

// refreshWithoutIdentity reads a resource in the state that is kept for tests.
func refreshWithoutIdentity(t *testing.T, transport http.RoundTripper, of values, typeName string) *tfprotov6.ReadResourceResponse {
	t.Helper()
	server := providerserver.NewProtocol6(NewWithTransport("1.2.3", transport)())()
	_, raw := block(t, of)
	_, err := server.ConfigureProvider(t.Context(), &tfprotov6.ConfigureProviderRequest{Config: encode(t, raw)})
	must(t, err)
	kept, err := os.ReadFile(filepath.Join("testdata", "state", typeName+".v0.json"))
	must(t, err)
	state, err := server.UpgradeResourceState(t.Context(), &tfprotov6.UpgradeResourceStateRequest{TypeName: typeName, RawState: &tfprotov6.RawState{JSON: kept}})
	must(t, err)
	private := []byte(`{"ownership":"eyJnZW5lcmF0aW9uIjoiZzEifQ=="}`)
	got, err := server.ReadResource(t.Context(), &tfprotov6.ReadResourceRequest{TypeName: typeName, CurrentState: state.UpgradedState, Private: private})
	must(t, err)
	return got
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// respond answers every request alike.
func respond(response func() *http.Response, err error) http.RoundTripper {
	return roundTripper(func(*http.Request) (*http.Response, error) {
		if err != nil {
			return nil, err
		}
		return response(), nil
	})
}

func unauthorized() func() *http.Response {
	return func() *http.Response {
		return &http.Response{
			StatusCode: http.StatusUnauthorized, Header: http.Header{"Content-Type": {"application/json"}},
			Body: io.NopCloser(strings.NewReader(`{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Unauthorized","message":"Unauthorized","code":401}`)),
		}
	}
}
