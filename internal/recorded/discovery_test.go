// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package recorded_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"sync/atomic"
	"testing"

	apidiscoveryv2 "k8s.io/api/apidiscovery/v2"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/recorded"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/fakeapi"
)

// stale is a transport to an API server that could not reach the server of a group the last time, and cannot for
// some requests more.
type stale struct {
	http.RoundTripper
	group, version string
	resources      string
	left           *atomic.Int32
}

// RoundTrip answers for the group.
func (s stale) RoundTrip(r *http.Request) (*http.Response, error) {
	code, body := http.StatusServiceUnavailable, []byte(`{"kind":"Status","apiVersion":"v1","status":"Failure","code":503}`)
	switch {
	case r.URL.Path == "/apis":
		return s.discovery(r)
	case r.URL.Path != "/apis/"+s.group+"/"+s.version:
		return s.RoundTripper.RoundTrip(r)
	case s.left.Add(-1) < 0:
		code, body = http.StatusOK, []byte(`{"kind":"APIResourceList","apiVersion":"v1","groupVersion":"`+s.group+"/"+s.version+`","resources":[`+s.resources+`]}`)
	}
	return &http.Response{StatusCode: code, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(bytes.NewReader(body)), Request: r}, nil
}

// discovery answers what the cluster serves, without the group's kinds (k8s.io/kube-aggregator v0.37.2
// pkg/apiserver/handler_discovery.go).
func (s stale) discovery(r *http.Request) (*http.Response, error) {
	response, err := s.RoundTripper.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	var groups apidiscoveryv2.APIGroupDiscoveryList
	if err := json.NewDecoder(response.Body).Decode(&groups); err != nil {
		return nil, err
	}
	for i := range groups.Items {
		if groups.Items[i].Name == s.group {
			groups.Items[i].Versions = []apidiscoveryv2.APIVersionDiscovery{{Version: s.version, Freshness: apidiscoveryv2.DiscoveryFreshnessStale}}
		}
	}
	body, err := json.Marshal(groups)
	response.Body = io.NopCloser(bytes.NewReader(body))
	return response, err
}

func TestWrite_aGroupWhoseServerDoesNotAnswerIsNamed(t *testing.T) {
	t.Parallel()
	const rollout = `{"name":"rollouts","kind":"Rollout","namespaced":true}`
	for name, tt := range map[string]struct {
		group, version string
		times          int32
		want           []string
	}{
		"once":               {"argoproj.io", "v1alpha1", 1, nil},
		"always":             {"argoproj.io", "v1alpha1", 1000, []string{"all kinds of argoproj.io/v1alpha1"}},
		"of policies":        {"admissionregistration.k8s.io", "v1", 1000, []string{"all kinds of admissionregistration.k8s.io/v1"}},
		"that no plan reads": {"metrics.k8s.io", "v1beta1", 1000, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			api := shop(fakeapi.CustomKind("metrics.k8s.io/v1beta1", "PodMetrics", "pods"))
			defer api.Close()
			through := stale{api.Client(), tt.group, tt.version, rollout, &atomic.Int32{}}
			through.left.Store(tt.times)
			file, summary := record(t, through, recorded.Options{})
			if missing := read(t, file).Missing(); !slices.Equal(summary.Missing, tt.want) || !slices.Equal(missing, tt.want) {
				t.Errorf("missing are %q, and by the file %q, want %q", summary.Missing, missing, tt.want)
			}
			if has := bytes.Contains(plain(t, file), []byte(`{"apiVersion":"argoproj.io/v1alpha1"`)); has != (name != "always") {
				t.Errorf("the file has the Rollout: %t", has)
			}
		})
	}
}
