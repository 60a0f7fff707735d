// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package kube

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/admission"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/fakeapi"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/workload"
)

// wantGPU adds dedicated=gpu:NoExecute behind what is there, and nothing where
// it is there already.
func wantGPU(n *snapshot.Node) (*NodeEdit, error) {
	gpu := corev1.Taint{Key: "dedicated", Value: "gpu", Effect: corev1.TaintEffectNoExecute}
	merged := taint.Merge(n.Taints, n.Record, taint.Claim{Owner: "me", Generation: "g1", Taints: []corev1.Taint{gpu}})
	if !merged.Changed {
		return nil, nil
	}
	return &NodeEdit{Taints: merged.Taints, Record: merged.Record}, nil
}

func TestEditNode(t *testing.T) {
	t.Parallel()
	const gpu = "z:NoSchedule, dedicated=gpu:NoExecute"
	tests := []struct {
		name  string
		fault faulty
		// before happens after the snapshot was taken.
		before func(*testServer)
		// unknown edits a node that the snapshot does not know.
		unknown bool

		requests []string
		taints   string
		class    error
		// writes is how often the node changed by our hand.
		writes int64
	}{
		{name: "undisturbed it is one request", requests: []string{"PATCH n1 200"}, taints: gpu, writes: 1},
		{name: "a node that the snapshot does not know is read first", unknown: true, requests: []string{"GET n1 200", "PATCH n1 200"}, taints: gpu, writes: 1},
		{
			name: "a change since the snapshot makes it begin anew and keeps the change",
			before: func(a *testServer) {
				a.edit("n1", func(n *corev1.Node) {
					n.Spec.Taints = append(n.Spec.Taints, apiNode("", "foreign:NoExecute").Spec.Taints...)
				})
			},
			requests: []string{"PATCH n1 409", "GET n1 200", "PATCH n1 200"}, taints: "z:NoSchedule, foreign:NoExecute, dedicated=gpu:NoExecute", writes: 1,
		},
		{
			name:     "a node made anew under the same name is judged anew",
			before:   func(a *testServer) { a.edit("n1", func(n *corev1.Node) { n.UID, n.Spec.Taints = "other", nil }) },
			requests: []string{"PATCH n1 409", "GET n1 200", "PATCH n1 200"}, taints: "dedicated=gpu:NoExecute", writes: 1,
		},
		{name: "an overloaded server is asked again", fault: on("PATCH", 1, 429), requests: []string{"PATCH n1 429", "PATCH n1 200"}, taints: gpu, writes: 1},
		{name: "a server's internal error is tried again", fault: on("PATCH", 1, 500), requests: []string{"PATCH n1 500", "PATCH n1 200"}, taints: gpu, writes: 1},
		{name: "a connection cut before the write", fault: on("PATCH", 1, fakeapi.CutBefore), requests: []string{"PATCH n1 cut", "PATCH n1 200"}, taints: gpu, writes: 1},
		{
			// The repeated patch carries the old version and cannot be done
			// twice; the read that follows shows that nothing is left to do.
			name: "a connection cut after the write has no second effect", fault: on("PATCH", 1, fakeapi.CutAfter),
			requests: []string{"PATCH n1 200", "PATCH n1 409", "GET n1 200"}, taints: gpu, writes: 1,
		},
		{name: "a read that is cut is tried again", unknown: true, fault: on("GET", 2, fakeapi.CutBefore), requests: []string{"GET n1 cut", "GET n1 200", "PATCH n1 200"}, taints: gpu, writes: 1},
		{name: "a node that is gone", before: func(a *testServer) { a.remove("n1") }, requests: []string{"PATCH n1 404"}, class: ErrNotFound},
		{name: "an unknown node that is gone", unknown: true, before: func(a *testServer) { a.remove("n1") }, requests: []string{"GET n1 404"}, class: ErrNotFound},
		{name: "no permission", fault: on("PATCH", 1, 403), requests: []string{"PATCH n1 403"}, taints: "z:NoSchedule", class: ErrForbidden},
		{name: "credentials that are not accepted", fault: on("PATCH", 1, 401), requests: []string{"PATCH n1 401"}, taints: "z:NoSchedule", class: ErrUnauthorized},
		{name: "a write that the server refuses", fault: on("PATCH", 1, 422), requests: []string{"PATCH n1 422"}, taints: "z:NoSchedule", class: ErrInvalid},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				api := newServer(apiNode("n1", "z:NoSchedule"))
				c := api.connect(t)
				if _, err := c.Nodes(t.Context()); err != nil {
					t.Fatal(err)
				}
				if tt.unknown {
					c.nodes.forget("n1")
				}
				if tt.before != nil {
					tt.before(api)
				}
				api.requests()
				version := api.Version()
				api.fault = tt.fault
				node, err := c.EditNode(t.Context(), "n1", wantGPU)
				if !errors.Is(err, tt.class) || (err == nil) != (tt.class == nil) {
					t.Fatalf("got error %v, want %v", err, tt.class)
				}
				if diff := cmp.Diff(tt.requests, api.requests()); diff != "" {
					t.Errorf("requests: %s", diff)
				}
				if writes := api.Version() - version; writes != tt.writes {
					t.Errorf("the node changed %d times, want %d", writes, tt.writes)
				}
				known, ok := c.Node("n1")
				if errors.Is(tt.class, ErrNotFound) {
					if ok {
						t.Error("a node that is gone is still known")
					}
					return
				}
				if got := api.taints("n1"); got != tt.taints {
					t.Errorf("the taints are %s, want %s", got, tt.taints)
				}
				if err == nil && (taint.FormatAll(node.Taints) != tt.taints || known.ResourceVersion != node.ResourceVersion) {
					t.Errorf("returned %s at %s, known at %s", taint.FormatAll(node.Taints), node.ResourceVersion, known.ResourceVersion)
				}
			})
		})
	}
}

func TestEditNode_outlastsTheRestartOfAnAPIServer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		api := newServer(apiNode("n1"))
		c := api.connect(t)
		// 0.2+0.4+0.8+1.6+3.2+4+4+4 = 18.2s lie between the first try and the
		// ninth, and at most a fifth more.
		api.fault = func(r fakeapi.Request, nth int) fakeapi.Fault {
			if r.Verb == "patch" && nth < 9 {
				return fakeapi.CutBefore
			}
			return fakeapi.None
		}
		if _, err := c.EditNode(t.Context(), "n1", wantGPU); err != nil {
			t.Fatal(err)
		}
		api.fault = func(fakeapi.Request, int) fakeapi.Fault { return fakeapi.CutBefore }
		if _, err := c.EditNode(t.Context(), "n2", wantGPU); !OutOfReach(err) {
			t.Errorf("got %v, want an error that says that the cluster is out of reach", err)
		}
	})
}

// Reads between two writes are retried as long as the writes are: half a change is
// worse than a slow one. A plan says soon that the cluster is out of reach.
func TestReads_holdOutAsLongAsWritesOnceSomethingIsWritten(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		api := town()
		api.Add(daemonSetOf("ds-1", corev1.PodSpec{}))
		down := 0
		api.fault = func(r fakeapi.Request, _ int) fakeapi.Fault {
			if (r.Name == "ds-1" || r.Resource == "pods") && down > 0 {
				down--
				return fakeapi.CutBefore
			}
			return fakeapi.None
		}
		c := api.connect(t)
		ref := workload.Ref{APIVersion: "apps/v1", Kind: "DaemonSet", Namespace: "app", Name: "ds-1"}
		read := func() error {
			_, err := c.FreshWorkload(t.Context(), ref, []string{"spec", "template", "spec", "tolerations"})
			return err
		}
		down = writing.tries - 1
		if err := read(); !errors.Is(err, ErrUnreachable) {
			t.Fatalf("before a write got %v", err)
		}
		down = 0
		if _, err := c.EditNode(t.Context(), "n1", wantGPU); err != nil {
			t.Fatal(err)
		}
		for name, request := range map[string]func() error{"a read": read, "a list": func() error { return c.RelistPods(t.Context()) }} {
			down = writing.tries - 1
			if err := request(); err != nil || down != 0 {
				t.Errorf("%s after a write: got %v, %d failures are left", name, err, down)
			}
		}
	})
}

func TestEditNode_doesNotFloodAServerWhereConflictsDoNotEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		api := newServer(apiNode("n1"))
		api.fault = func(r fakeapi.Request, _ int) fakeapi.Fault {
			if r.Verb == "patch" {
				return http.StatusConflict
			}
			return fakeapi.None
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if _, err := api.connect(t).EditNode(ctx, "n1", wantGPU); err == nil {
			t.Fatal("a write that never succeeds must end with its context")
		}
		// Pauses of 0, 20, 40, ... ms reach 1s after 50 tries and 25s; 35 more
		// fit into the minute, with two requests each.
		if n := len(api.requests()); n < 100 || n > 200 {
			t.Errorf("%d requests in a minute", n)
		}
	})
}

func TestEditNode_writesNothingWhereNothingIsDecided(t *testing.T) {
	t.Parallel()
	refused := errors.New("refused")
	for name, want := range map[string]error{"there is nothing to change": nil, "the change is refused": refused} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			api := newServer(apiNode("n1"))
			c := api.connect(t)
			if _, err := c.Nodes(t.Context()); err != nil {
				t.Fatal(err)
			}
			api.requests()
			if _, err := c.EditNode(t.Context(), "n1", func(*snapshot.Node) (*NodeEdit, error) { return nil, want }); !errors.Is(err, want) {
				t.Errorf("got %v, want %v", err, want)
			}
			if requests := api.requests(); len(requests) > 0 {
				t.Errorf("sent %v", requests)
			}
		})
	}
}

func TestNodePatch(t *testing.T) {
	t.Parallel()
	node := &snapshot.Node{Name: "n1", UID: "u", ResourceVersion: "7"}
	tests := []struct {
		name string
		edit NodeEdit
		want string
	}{
		{
			name: "an empty record removes the annotation and no taints are an empty list",
			want: `{"metadata":{"annotations":{"kubetaint.io/owned-taints":null},"resourceVersion":"7","uid":"u"},"spec":{"taints":[]}}`,
		},
		{
			name: "taints and record are written together",
			edit: NodeEdit{Taints: apiNode("", "a=1:NoExecute").Spec.Taints, Record: taint.Record{{Key: "a", Effect: "NoExecute", Owner: "me", Generation: "g"}}},
			want: `{"metadata":{"annotations":{"kubetaint.io/owned-taints":"[{\"key\":\"a\",\"effect\":\"NoExecute\",\"owner\":\"me\",\"generation\":\"g\"}]"},"resourceVersion":"7","uid":"u"},"spec":{"taints":[{"key":"a","value":"1","effect":"NoExecute"}]}}`,
		},
		{
			name: "taints that are not the node's to own leave its record alone",
			edit: NodeEdit{Taints: apiNode("", "a=1:NoExecute").Spec.Taints, Unrecorded: true},
			want: `{"metadata":{"resourceVersion":"7","uid":"u"},"spec":{"taints":[{"key":"a","value":"1","effect":"NoExecute"}]}}`,
		},
		{
			name: "so do labels",
			edit: NodeEdit{Labels: &LabelEdit{Changes: map[string]*string{"a": new("1"), "b": nil}}, Unrecorded: true},
			want: `{"metadata":{"labels":{"a":"1","b":null},"resourceVersion":"7","uid":"u"}}`,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := nodePatch(node, &tt.edit)
			if err != nil || !json.Valid(got) {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, string(got)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// editPolicy makes a policy what it should be.
func editPolicy(name string, wanted admission.Objects) func(context.Context, *Cluster) error {
	return func(ctx context.Context, c *Cluster) error {
		_, err := c.EditPolicy(ctx, name, func(*admission.Observed) (*admission.Objects, error) { return &wanted, nil })
		return err
	}
}

// aPolicy is a policy with an expression, and its binding.
func aPolicy(name, expression string) admission.Objects {
	meta := metav1.ObjectMeta{Name: name}
	return admission.Objects{
		Policy: &admissionregistrationv1.MutatingAdmissionPolicy{ObjectMeta: meta, Spec: admissionregistrationv1.MutatingAdmissionPolicySpec{
			Variables: []admissionregistrationv1.Variable{{Name: "a", Expression: expression}},
		}},
		Binding: &admissionregistrationv1.MutatingAdmissionPolicyBinding{ObjectMeta: meta, Spec: admissionregistrationv1.MutatingAdmissionPolicyBindingSpec{PolicyName: name}},
	}
}

// TestEdit_endsWhereEveryWriteMeetsAnotherClients does not hold an apply forever.
func TestEdit_endsWhereEveryWriteMeetsAnotherClients(t *testing.T) {
	t.Parallel()
	for name, edit := range map[string]func(context.Context, *Cluster) error{
		"a node": func(ctx context.Context, c *Cluster) error {
			_, err := c.EditNode(ctx, "n1", wantGPU)
			return err
		},
		"a workload": func(ctx context.Context, c *Cluster) error {
			_, err := c.EditWorkload(ctx, workload.Ref{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "shop", Name: "web"}, []string{"spec", "template", "spec", "tolerations"}, func(*workload.Workload) (*WorkloadEdit, error) {
				return &WorkloadEdit{Template: true, Tolerations: []corev1.Toleration{{Operator: corev1.TolerationOpExists}}}, nil
			})
			return err
		},
		"a namespace": func(ctx context.Context, c *Cluster) error {
			_, err := c.EditNamespaceLists(ctx, "shop", func(*NamespaceLists) (*admission.Lists, error) {
				return &admission.Lists{Default: []corev1.Toleration{{Operator: corev1.TolerationOpExists}}}, nil
			})
			return err
		},
		"a policy that is created":        editPolicy("new", aPolicy("new", "a")),
		"a policy that is updated":        editPolicy("old", aPolicy("old", "b")),
		"a policy that is deleted":        editPolicy("old", admission.Objects{}),
		"a binding that is deleted alone": editPolicy("half", admission.Objects{}),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				api := newServer(apiNode("n1"))
				old, half := aPolicy("old", "a"), aPolicy("half", "a")
				api.Add(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop"}}, &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}}, old.Policy, half.Binding)
				api.fault = func(r fakeapi.Request, _ int) fakeapi.Fault {
					if slices.Contains([]string{"create", "update", "patch", "delete"}, r.Verb) {
						return http.StatusConflict
					}
					return fakeapi.None
				}
				started := time.Now()
				err := edit(t.Context(), api.connect(t))
				if !errors.Is(err, ErrConflict) || !strings.Contains(err.Error(), "another client changed the object before each of 201 writes") {
					t.Errorf("it ends with %v", err)
				}
				if took := time.Since(started); took > 4*time.Minute {
					t.Errorf("it ends after %s", took)
				}
			})
		})
	}
}
