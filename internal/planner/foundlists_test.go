// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package planner

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/admission"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/record"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/toleration"
)

// TestFindInLists has three resources own entries of a namespace, one of them of another provider
// block, beside an entry without an owner.
func TestFindInLists(t *testing.T) {
	t.Parallel()
	mark := func(list, key, owner, generation string) toleration.Mark {
		return toleration.Mark{Key: key, Operator: "Exists", Path: list, Owner: owner, Generation: generation, Proof: "lost"}
	}
	all := toleration.Record{
		mark(admission.DefaultList, "a", "me/shop/1", "g1"), mark(admission.AllowedList, "a", "me/shop/1", "g2"),
		mark(admission.AllowedList, "b", "me/shop/2", "g3"), mark(admission.AllowedList, "c", "other/shop/1", "g4"),
	}
	for name, tt := range map[string]struct {
		record      toleration.Record
		id          string
		owner       string
		owners      int
		defaults    string
		allowed     string
		generations map[string]string
		held        int
	}{
		"the first owner": {record: all, owner: "me/shop/1", owners: 2, defaults: "a Exists", allowed: "a Exists", generations: map[string]string{"a": "g1,g2"}, held: 2},
		"a chosen owner":  {record: all, id: "me/shop/2", owner: "me/shop/2", owners: 2, allowed: "b Exists", generations: map[string]string{"b": "g3"}, held: 1},
		"no such owner":   {record: all, id: "me/shop/3", owners: 2},
		"another provider block owns some": {
			record: all[3:], defaults: "a Exists, plain", allowed: "a Exists, b Exists", generations: map[string]string{"a": "", "b": "", "plain": ""}, held: 4,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			lists := admission.Lists{Default: tols(t, "a Exists"), Allowed: tols(t, "a Exists", "b Exists", "c Exists"), Record: tt.record}
			lists.Default = append(lists.Default, toleration.Mark{Key: "plain"}.Toleration())
			f := FindInLists(lists, "me/shop/", tt.id)
			generations := map[string]string{}
			for id, of := range f.Generations {
				generations[id.Key] = strings.Join(of, ",")
			}
			if f.Owner != tt.owner || len(f.Owners) != tt.owners || !maps.Equal(generations, tt.generations) {
				t.Errorf("owner %q of %v, generations %v", f.Owner, f.Owners, generations)
			}
			if d, a := toleration.Format(f.Lists[admission.DefaultList]), toleration.Format(f.Lists[admission.AllowedList]); d != tt.defaults || a != tt.allowed {
				t.Errorf("default %q, allowed %q", d, a)
			}
			seal := record.Seal{Nonce: "n", Generation: "g"}.On("Namespace/shop")
			if held := f.Held(seal); len(held) != tt.held {
				t.Errorf("held %v", held)
			}
		})
	}
}

// TestNewlyForbidden has pods of one namespace tolerate what its list does not allow.
func TestNewlyForbidden(t *testing.T) {
	t.Parallel()
	before, after := admission.Lists{Allowed: tols(t, "a Exists", "b Exists", "c Exists")}, admission.Lists{Allowed: tols(t, "a Exists")}
	pod := func(change func(*snapshot.Pod), notations ...string) *snapshot.Pod {
		p := &snapshot.Pod{Namespace: "shop", Name: "p", Scheduling: &snapshot.Scheduling{Tolerations: tols(t, notations...)}}
		change(p)
		return p
	}
	as := func(*snapshot.Pod) {}
	owned := func(p *snapshot.Pod) {
		p.Controller = &snapshot.Controller{Owner: snapshot.Owner{Kind: "Job", Name: "j"}}
	}
	for name, tt := range map[string]struct {
		pod  *snapshot.Pod
		want string
	}{
		"it tolerates what is allowed":              {pod: pod(as, "a Exists")},
		"it tolerates what is not allowed any more": {pod: pod(as, "a Exists", "b Exists"), want: "b Exists: Pod/p"},
		"its workload is named":                     {pod: pod(owned, "b Exists"), want: "b Exists: Job/j"},
		"every pod is rejected for it":              {pod: pod(as, "c Exists")},
		"it could not be recreated before":          {pod: pod(as, "b Exists", "d Exists")},
		"it has completed":                          {pod: pod(func(p *snapshot.Pod) { p.Completed = true }, "b Exists")},
		"it is a mirror pod":                        {pod: pod(func(p *snapshot.Pod) { p.Mirror = true }, "b Exists")},
		"it is in another namespace":                {pod: pod(func(p *snapshot.Pod) { p.Namespace = "ml" }, "b Exists")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &snapshot.Snapshot{Pods: map[string][]*snapshot.Pod{"n": {tt.pod}}}
			pods, owners := NewlyForbidden(s, "shop", before, after, tols(t, "c Exists"))
			var got []string
			for _, key := range slices.Sorted(maps.Keys(owners)) {
				got = append(got, key+": "+strings.Join(owners[key], ", "))
			}
			if diff := cmp.Diff(tt.want, strings.Join(got, "; ")); diff != "" || pods != len(got) {
				t.Errorf("%d pods: %s", pods, diff)
			}
		})
	}
}
