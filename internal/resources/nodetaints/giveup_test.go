// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package nodetaints_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
)

// refusing refuses writes to one node.
type refusing struct {
	http.RoundTripper
	node string
}

func (r refusing) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Method != http.MethodPatch || req.URL.Path != "/api/v1/nodes/"+r.node {
		return r.RoundTripper.RoundTrip(req)
	}
	body := `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","code":403,"message":"a policy forbids it"}`
	return &http.Response{StatusCode: http.StatusForbidden, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(body)), Request: req}, nil
}

// TestNodeTaints_aFailedCreateIsGivenUpAsItsErrorSays has creates fail after the first of two nodes.
func TestNodeTaints_aFailedCreateIsGivenUpAsItsErrorSays(t *testing.T) {
	t.Parallel()
	theirs := []any{map[string]any{"key": "theirs", "effect": "NoSchedule"}}
	for name, tt := range map[string]struct {
		config  map[string]any
		says    string
		imports bool
	}{
		"of taints":                   {map[string]any{"taints": acctest.Objects(t, "ours=1:NoSchedule")}, "Unable to create taints of", true},
		"of absent taints":            {map[string]any{"absent_taints": theirs}, "Unable to remove taints of", false},
		"of taints and absent taints": {map[string]any{"taints": acctest.Objects(t, "ours=1:NoSchedule"), "absent_taints": theirs}, "Unable to create taints of", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			acctest.OnFake(t, func(t *testing.T, c *acctest.Cluster) {
				pool := acctest.Name(t, "pool")
				nodes := []string{pool + "-a", pool + "-b"}
				for _, node := range nodes {
					c.Node(t, acctest.Node{Name: node, Labels: map[string]string{"pool": pool}, Taints: acctest.Parse(t, "theirs=1:NoSchedule")})
				}
				config := acctest.With(map[string]any{"node_selector": "pool=" + pool}, tt.config)
				tf, i := terraform(t, c), newInstance()
				failing := &acctest.Terraform{Provider: tf.Provider, Transport: func() http.RoundTripper { return refusing{c.REST.Transport, nodes[1]} }}
				says := []string{tt.says, "To give up instead, import the resource and destroy it."}
				if !tt.imports {
					says[1] = "To give up instead, let an apply succeed and destroy the resource"
				}
				acctest.WantAll(t, failing.Carry(t, i, tf.Plan(t, i, config), config).Errors(), says...)
				if tt.imports {
					again, d := tf.Import(t, i.Type, "selector/pool="+pool+"/ours:NoSchedule")
					if i = again; d.Errors() != "" {
						t.Fatal(d.Errors())
					}
				} else {
					tf.Settle(t, i, config)
				}
				tf.Destroy(t, i)
				for _, node := range nodes {
					wantTaints(t, c, node, "theirs=1:NoSchedule")
				}
			})
		})
	}
}
