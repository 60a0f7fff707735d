// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package recorded_test

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/eviction"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/kube"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/placement"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/planner"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/recorded"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

// judged is a report on a taint that evicts the pods of pool 1, with what it needs of the storage.
func judged(t *testing.T, c *kube.Cluster) (*eviction.Report, *snapshot.Snapshot) {
	t.Helper()
	s, err := c.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	pool, err := labels.Parse("pool=1")
	if err != nil {
		t.Fatal(err)
	}
	var report *eviction.Report
	s, err = c.Judge(t.Context(), s, func(s *snapshot.Snapshot) kube.Needs {
		change := planner.WhatIf(s.SortedNodes(), planner.Target{Selector: pool}, []corev1.Taint{{Key: "k", Effect: corev1.TaintEffectNoExecute}}, nil)
		report = eviction.Evaluate(s, change, eviction.ComparisonOff)
		return kube.Needs{Evicted: report.Evicted()}
	})
	if err != nil {
		t.Fatal(err)
	}
	return report, s
}

// hashedAlike compares numbers of pods with those of a hashed recording, and what is known of the storage. Which orders of
// replacements are tried depends on names, so that a range can be another one by chance: ranges are those of one of four
// recordings at least, all else is equal in each.
func (w *storing) hashedAlike(t *testing.T, want *eviction.Report, s *snapshot.Snapshot) (diff string) {
	t.Helper()
	for range 4 {
		hashed, _ := record(t, w.Client(), recorded.Options{HashNames: true})
		got, same := judged(t, connect(t, read(t, hashed).Transport()))
		fixed := cmp.Diff(attached(s), attached(same)) + cmp.Diff(stored(s), stored(same)) +
			cmp.Diff(len(want.Outcome().UnmodelledStorage), len(got.Outcome().UnmodelledStorage)) + cmp.Diff(exact(want), exact(got))
		if fixed != "" {
			return fixed
		}
		if diff = cmp.Diff(want.Summary(), got.Summary()); diff == "" {
			break
		}
	}
	return diff
}

// exact are the numbers of a report that depend on no order.
func exact(r *eviction.Report) []int {
	all := r.Summary()
	return []int{all.EvictedNow, all.EvictedAfter, all.Drained, all.Stays, all.Unknown, all.Completed, all.Lost, all.Refused.Max, all.Daemons}
}

// stored describes claims by their UIDs and volumes by their sizes, which no file hashes and no two have, and the class of
// each, without a name.
func stored(s *snapshot.Snapshot) map[string]string {
	out := map[string]string{}
	if s.Storage == nil {
		return out
	}
	named := map[bool]string{true: "named"}
	class := func(name string) string {
		c := s.Storage.Classes[name]
		if c == nil {
			return named[name != ""]
		}
		var capacities []string
		for _, one := range c.Capacities {
			capacities = append(capacities, fmt.Sprint(one.Total, one.Largest))
		}
		slices.Sort(capacities)
		return fmt.Sprint(c.Waits, c.Provisions, len(c.Topologies), c.Limited, capacities, c.Default, c.Unknown)
	}
	request := func(r *snapshot.ClaimRequest) string {
		return fmt.Sprint(r.Size, r.Modes, r.Block, r.Selector != nil, r.Attributes != "", " of class ", class(r.Class))
	}
	for _, claims := range s.Storage.Claims {
		for _, c := range claims {
			out[string(c.UID)] = fmt.Sprint(request(c.Request), c.SelectedNode != "", c.Deleting, c.Lost, c.Named)
		}
	}
	for _, v := range s.Storage.Volumes {
		out[fmt.Sprint("volume of ", v.Size)] = fmt.Sprint(v.Modes, len(v.Labels), v.Block, v.Attributes != "", v.Affinity != nil, v.For != "", v.ForUID, " of class ", class(v.Class))
	}
	var templates, bound []string
	for _, set := range s.Storage.Templates {
		for _, r := range set {
			templates = append(templates, request(r))
		}
	}
	for _, claims := range s.Storage.Bound {
		bound = append(bound, fmt.Sprint(len(claims)))
	}
	slices.Sort(templates)
	slices.Sort(bound)
	out["templates"], out["bound"] = fmt.Sprintf("%q", templates), fmt.Sprint(bound)
	return out
}

// attached counts the claims that share each of the CSI volumes, sorted.
func attached(s *snapshot.Snapshot) (out []int) {
	if s.Attachments == nil {
		return nil
	}
	counts := map[snapshot.CSIVolume]int{}
	for _, claims := range s.Attachments.Volumes {
		for _, v := range claims {
			counts[*v]++
		}
	}
	return slices.Sorted(maps.Values(counts))
}

// outcomes compares what becomes of pods.
var outcomes = cmp.Options{cmpopts.IgnoreUnexported(placement.Outcome{}), cmpopts.IgnoreFields(snapshot.Pod{}, "Scheduling")}

// TestWrite_volumesDecideInARecordingAsInTheCluster: the pods of random clusters with claims in every state fit the same
// nodes, for the same reasons, of the cluster, its recording and its files. Hashed names change no number.
func TestWrite_volumesDecideInARecordingAsInTheCluster(t *testing.T) {
	t.Parallel()
	acctest.TooLong(t)
	const seeds = 60
	var storage, unmodelled, pending, placed int
	for seed := range uint64(seeds) {
		w := storageOf(seed)
		want, s := judged(t, connect(t, w.Client()))
		file, _ := record(t, w.Client(), recorded.Options{})
		got, same := judged(t, connect(t, read(t, file).Transport()))
		if diff := cmp.Diff(want.Outcome(), got.Outcome(), outcomes) + cmp.Diff(attached(s), attached(same)); diff != "" {
			t.Errorf("seed %d: the recording gives another outcome: %s", seed, diff)
		}
		if diff := w.hashedAlike(t, want, s); diff != "" {
			t.Errorf("seed %d: the hashed recording gives another outcome: %s", seed, diff)
		}
		if seed < 10 {
			c, err := recorded.Open(w.lists(t))
			if err != nil {
				t.Fatal(err)
			}
			got, _ = judged(t, connect(t, c.Transport()))
			if diff := cmp.Diff(want.Outcome(), got.Outcome(), outcomes); diff != "" {
				t.Errorf("seed %d: the folder gives another outcome: %s", seed, diff)
			}
		}
		out := want.Outcome()
		if s.Storage != nil && s.Attachments != nil {
			storage++
		}
		unmodelled += len(out.UnmodelledStorage)
		pending, placed = pending+out.Pending.Min, placed+out.Placed.Min
		w.Close()
	}
	if storage < seeds/3 || unmodelled < seeds/3 || pending < seeds/2 || placed < seeds/2 {
		t.Errorf("storage is read in %d of %d clusters, which leave %d parts open, %d pods Pending and %d placed: the test shows little", storage, seeds, unmodelled, pending, placed)
	}
}

func TestWrite_noSecretOfStorageIsInTheFile(t *testing.T) {
	t.Parallel()
	for seed := range uint64(5) {
		w := storageOf(seed)
		for _, hash := range []bool{false, true} {
			file, _ := record(t, w.Client(), recorded.Options{HashNames: hash})
			wantAbsent(t, plain(t, file), canary)
			if hash {
				wantAbsent(t, plain(t, file), "acme")
			}
		}
		w.Close()
	}
}

// TestWrite_hashedClaimsOfStatefulSetsAreMadeOfTheirParts: plans take the name of the claim template from the name of a
// claim and that of its pod, also where there is no right to list StatefulSets.
func TestWrite_hashedClaimsOfStatefulSetsAreMadeOfTheirParts(t *testing.T) {
	t.Parallel()
	w := storageOf(1)
	defer w.Close()
	for _, rules := range [][]rbacv1.PolicyRule{{mayRead("", "*"), mayRead("apps", "*")}, {mayRead("", "*")}} {
		var file bytes.Buffer
		if _, err := recorded.Write(t.Context(), &file, recorder(t, w.Server, rules...), recorded.Options{HashNames: true}); err != nil {
			t.Fatal(err)
		}
		s, err := connect(t, read(t, file.Bytes()).Transport()).Snapshot(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var taken int
		for _, p := range slices.Concat(slices.Collect(maps.Values(s.Pods))...) {
			if p.Controller == nil || !p.Controller.StatefulSet() {
				continue
			}
			taken++
			if !slices.ContainsFunc(p.Claims, func(c string) bool { return strings.HasSuffix(c, "-"+p.Name) }) {
				t.Errorf("the claims %q do not end with the name of the pod %s", p.Claims, p.Name)
			}
		}
		if taken != 8 {
			t.Errorf("%d pods of StatefulSets", taken)
		}
	}
}
