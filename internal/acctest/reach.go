// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package acctest

import (
	"net/http"
	"strings"
	"testing"
)

// OutOfReach has the cluster behind the proxy answer nothing but errors, in each
// way in turn, and expects of resources that are in the state that a plan keeps
// them, says once in a run what is wrong, and fails where the provider block asks
// for it. The configurations are those of the instances; changed is another one
// of the first.
func (p *Proxy) OutOfReach(t *testing.T, provider map[string]any, instances []*Instance, configs []map[string]any, changed map[string]any) {
	t.Helper()
	tf := &Terraform{Provider: provider}
	strict := &Terraform{Provider: With(provider, map[string]any{"unreachable": "fail"})}
	for name, is := range map[string]struct {
		fault  Fault
		advice string
	}{
		"down":          {CutBefore, "Check that its API server runs, and the network to it."},
		"overloaded":    {http.StatusServiceUnavailable, "Check that its API server runs, and the network to it."},
		"expired token": {http.StatusUnauthorized, "The cluster refused the credentials"},
	} {
		t.Log("the cluster is unreachable: " + name)
		p.Spoil(func(Request) Fault { return is.fault })
		walk := tf.Walk(t)
		var all Diagnostics
		for n, i := range instances {
			all = append(all, walk.Refresh(i)...)
			planned := walk.Plan(i, configs[n])
			all = append(all, planned.Diagnostics...)
			if !i.Exists() || !planned.Empty {
				t.Fatal("a cluster out of reach changed the plan")
			}
		}
		update, create := walk.Plan(instances[0], changed), walk.Plan(&Instance{Type: instances[0].Type}, changed)
		all = append(all, update.Diagnostics...)
		all = append(all, create.Diagnostics...)
		if all.Errors() != "" || len(all) != 1 || update.Empty {
			t.Fatalf("one warning in a run is enough, and no error: %s%s", all.Errors(), all.Warnings())
		}
		destroyed := tf.Walk(t).Plan(instances[0], nil).Diagnostics
		if destroyed.Errors() != "" || len(destroyed) != 1 {
			t.Fatalf("a destroy warns once as well: %s%s", destroyed.Errors(), destroyed.Warnings())
		}
		WantAll(t, all.Warnings(), "Unable to read the cluster at ", "so the plan is made without it", is.advice)
		WantAll(t, strict.Walk(t).Refresh(instances[0]).Errors(), "Unable to read the cluster at ", `unreachable = "fail"`)
		// Operations that need the cluster fail, report what to do, and lose nothing.
		i := *instances[0]
		WantAll(t, tf.Walk(t).ApplyChange(&i, update, changed).Errors(), is.advice)
		WantAll(t, tf.Walk(t).ApplyChange(&i, Planned{Private: i.Private}, nil).Errors(), is.advice)
		if !i.Exists() || string(i.Private) != string(instances[0].Private) {
			t.Fatal("an apply without the cluster lost the state")
		}
	}
	p.Spoil(nil)
}

// Elsewhere gives the state of an instance to another cluster, one whose
// namespace kube-system has another UID, and expects that every walk refuses it
// before it reads anything else. The instance is as it was afterwards.
func (c *Cluster) Elsewhere(t *testing.T, i *Instance, changed map[string]any) {
	t.Helper()
	const refused = "Unable to use this state with another cluster"
	// Earlier walks may still watch through a proxy of theirs.
	p := c.Proxy(t)
	tf, moved := &Terraform{Provider: p.Provider(t, c)}, *i
	moved.Private = ReplacePrivate(t, i.Private, c.ID(t), "00000000-0000-0000-0000-000000000000")
	WantAll(t, tf.Plan(t, &moved, changed).Diagnostics.Errors(), refused, "Point the provider block at the right cluster", "Nothing has been read or changed")
	// A plan without a refresh looks as well, and so does each apply.
	WantAll(t, tf.Walk(t).Plan(&moved, changed).Diagnostics.Errors(), refused)
	WantAll(t, tf.Walk(t).ApplyChange(&moved, Planned{Private: moved.Private}, nil).Errors(), refused)
	requests := p.Requests()
	for _, r := range requests {
		if !strings.HasSuffix(r.Path, "/namespaces/kube-system") {
			t.Fatalf("%s %s was sent to another cluster", r.Method, r.Path)
		}
	}
	if len(requests) == 0 || !moved.Exists() {
		t.Fatalf("%d requests went through the proxy, and the state holds the resource: %t", len(requests), moved.Exists())
	}
}

// WantAll fails the test unless a text holds all of these parts.
func WantAll(t testing.TB, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Fatalf("nothing says %q: %s", part, text)
		}
	}
}
