// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package provider

import (
	"context"
	"encoding/json"
	"math/big"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/providerserver"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// fakeAPI is as much of an API server as data sources need. It answers in JSON,
// and knows what it was asked.
type fakeAPI struct {
	nodes   []corev1.Node
	pods    []corev1.Pod
	sets    []appsv1.ReplicaSet
	budgets []policyv1.PodDisruptionBudget
	// status is answered instead, by the path's last part.
	status map[string]int

	mu       sync.Mutex
	requests []string
}

// start serves the API on the loopback interface for as long as the test runs.
func (f *fakeAPI) start(t *testing.T) string {
	t.Helper()
	server := httptest.NewServer(f)
	t.Cleanup(server.Close)
	return server.URL
}

// ServeHTTP answers lists.
func (f *fakeAPI) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	plural := r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:]
	f.mu.Lock()
	f.requests = append(f.requests, r.Method+" "+plural+" "+r.UserAgent())
	f.mu.Unlock()
	kind := func(apiVersion, name string) metav1.TypeMeta {
		return metav1.TypeMeta{APIVersion: apiVersion, Kind: name}
	}
	meta := metav1.ListMeta{ResourceVersion: "1"}
	var answer any
	switch plural {
	case "nodes":
		answer = corev1.NodeList{TypeMeta: kind("v1", "NodeList"), ListMeta: meta, Items: f.nodes}
	case "pods":
		answer = corev1.PodList{TypeMeta: kind("v1", "PodList"), ListMeta: meta, Items: f.pods}
	case "replicasets":
		list := metav1.PartialObjectMetadataList{TypeMeta: kind("meta.k8s.io/v1", "PartialObjectMetadataList"), ListMeta: meta}
		for _, s := range f.sets {
			list.Items = append(list.Items, metav1.PartialObjectMetadata{TypeMeta: kind("meta.k8s.io/v1", "PartialObjectMetadata"), ObjectMeta: s.ObjectMeta})
		}
		answer = list
	case "jobs":
		answer = metav1.PartialObjectMetadataList{TypeMeta: kind("meta.k8s.io/v1", "PartialObjectMetadataList"), ListMeta: meta}
	case "poddisruptionbudgets":
		answer = policyv1.PodDisruptionBudgetList{TypeMeta: kind("policy/v1", "PodDisruptionBudgetList"), ListMeta: meta, Items: f.budgets}
	case "persistentvolumeclaims":
		answer = corev1.PersistentVolumeClaimList{TypeMeta: kind("v1", "PersistentVolumeClaimList"), ListMeta: meta}
	case "mutatingadmissionpolicies":
		answer = admissionregistrationv1.MutatingAdmissionPolicyList{TypeMeta: kind("admissionregistration.k8s.io/v1", "MutatingAdmissionPolicyList"), ListMeta: meta}
	case "persistentvolumes":
		answer = corev1.PersistentVolumeList{TypeMeta: kind("v1", "PersistentVolumeList"), ListMeta: meta}
	default:
		answer = batchv1.JobList{}
	}
	w.Header().Set("Content-Type", "application/json")
	if code := f.status[plural]; code != 0 {
		w.WriteHeader(code)
		answer = metav1.Status{TypeMeta: kind("v1", "Status"), Status: metav1.StatusFailure, Code: int32(code), Reason: metav1.StatusReasonForbidden, Message: plural + " is forbidden"}
	}
	if err := json.NewEncoder(w).Encode(answer); err != nil {
		panic(err)
	}
}

// read validates and reads a data source through the protocol, as Terraform
// does. Attributes that the configuration leaves out are null.
func read(t *testing.T, provider values, typeName string, config values) (map[string]any, []*tfprotov6.Diagnostic) {
	t.Helper()
	ctx := context.Background()
	server := providerserver.NewProtocol6(New("1.2.3")())()
	_, raw := block(t, provider)
	configured, err := server.ConfigureProvider(ctx, &tfprotov6.ConfigureProviderRequest{Config: encode(t, raw)})
	if err != nil || len(configured.Diagnostics) > 0 {
		t.Fatalf("configuring the provider: %v, %v", err, configured.Diagnostics)
	}
	schema, err := server.GetProviderSchema(ctx, &tfprotov6.GetProviderSchemaRequest{})
	if err != nil {
		t.Fatal(err)
	}
	typ := schema.DataSourceSchemas[typeName].ValueType()
	request := encode(t, value(t, typ, map[string]any(config)))
	validated, err := server.ValidateDataResourceConfig(ctx, &tfprotov6.ValidateDataResourceConfigRequest{TypeName: typeName, Config: request})
	if err != nil {
		t.Fatal(err)
	}
	if len(validated.Diagnostics) > 0 {
		return nil, validated.Diagnostics
	}
	resp, err := server.ReadDataSource(ctx, &tfprotov6.ReadDataSourceRequest{TypeName: typeName, Config: request})
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

func encode(t *testing.T, raw tftypes.Value) *tfprotov6.DynamicValue {
	t.Helper()
	out, err := tfprotov6.NewDynamicValue(raw.Type(), raw)
	if err != nil {
		t.Fatal(err)
	}
	return &out
}

// value makes a value of a type from maps, slices and scalars.
func value(t *testing.T, typ tftypes.Type, of any) tftypes.Value {
	t.Helper()
	if ready, ok := of.(tftypes.Value); ok {
		return ready
	}
	if of == nil {
		return tftypes.NewValue(typ, nil)
	}
	switch typ := typ.(type) {
	case tftypes.Object:
		attributes := map[string]tftypes.Value{}
		for name, kind := range typ.AttributeTypes {
			attributes[name] = value(t, kind, of.(map[string]any)[name])
		}
		return tftypes.NewValue(typ, attributes)
	case tftypes.Set:
		var elements []tftypes.Value
		for _, e := range of.([]any) {
			elements = append(elements, value(t, typ.ElementType, e))
		}
		return tftypes.NewValue(typ, elements)
	default:
		return tftypes.NewValue(typ, of)
	}
}

// plain takes a value apart into maps, slices and scalars.
func plain(t *testing.T, v tftypes.Value) any {
	t.Helper()
	if v.IsNull() || !v.IsKnown() {
		return nil
	}
	switch typ := v.Type(); {
	case typ.Is(tftypes.String):
		var s string
		must(t, v.As(&s))
		return s
	case typ.Is(tftypes.Bool):
		var b bool
		must(t, v.As(&b))
		return b
	case typ.Is(tftypes.Number):
		var n big.Float
		must(t, v.As(&n))
		i, _ := n.Int64()
		return i
	case typ.Is(tftypes.List{}), typ.Is(tftypes.Set{}):
		var elements []tftypes.Value
		must(t, v.As(&elements))
		out := []any{}
		for _, e := range elements {
			out = append(out, plain(t, e))
		}
		return out
	default:
		var attributes map[string]tftypes.Value
		must(t, v.As(&attributes))
		out := map[string]any{}
		for name, a := range attributes {
			out[name] = plain(t, a)
		}
		return out
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
