// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package workloadtolerations_test

import (
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestAccWorkloadTolerations_podsBelowThePartitionKeepTheOldTemplate, also where they are recreated: a taint evicts
// them alone.
func TestAccWorkloadTolerations_podsBelowThePartitionKeepTheOldTemplate(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	partition := func(n int) map[string]any {
		return map[string]any{"updateStrategy": map[string]any{"type": "RollingUpdate", "rollingUpdate": map[string]any{"partition": n}}}
	}
	thing := s.make("StatefulSet", "web", 3, "", partition(2))
	config := s.manage(thing, "team=a:NoExecute", nil)
	s.refused(s.fresh(), config, "below partition 2", "2 pods would stay without them: web-0, web-1.", "Pods below the partition then keep the old template, also when they are recreated")

	config["wait_for_rollout"] = false
	s.warned(config, "restarts 1 pod")
	s.apply(s.fresh(), config)
	s.until("web-2 has the toleration", func() bool { return slices.Equal(s.tolerating("web", "team"), []string{"web-2"}) })
	if err := s.c.Admin.CoreV1().Pods(s.namespace).Delete(t.Context(), "web-0", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	s.until("web-0 is recreated", func() bool { return len(s.live("web")) == 3 })
	if got := s.tolerating("web", "team"); !slices.Equal(got, []string{"web-2"}) {
		t.Errorf("%v have the toleration", got)
	}
	evicted := s.c.Evictions(t, s.namespace)
	s.c.Patch(t, s.pool, `{"spec":{"taints":[{"key":"team","value":"a","effect":"NoExecute"}]}}`)
	s.until("the pods below the partition are evicted", func() bool { return len(s.live("web")) == 1+s.waiting("web") })
	names := evicted()
	slices.Sort(names)
	if got := strings.Join(slices.Compact(names), " "); got != "web-0 web-1" {
		t.Errorf("the taint evicts %s", got)
	}
}

// tolerating returns the pods of an app that tolerate a key.
func (s *shop) tolerating(app, key string) []string {
	s.t.Helper()
	var out []string
	for _, p := range s.live(app) {
		if tolerates(p, key) {
			out = append(out, p.Name)
		}
	}
	return out
}

// waiting counts the pods of an app that are on no node.
func (s *shop) waiting(app string) int {
	s.t.Helper()
	n := 0
	for _, p := range s.live(app) {
		if p.Spec.NodeName == "" {
			n++
		}
	}
	return n
}
