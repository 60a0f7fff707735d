// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package workloadtolerations_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/toleration"
)

// everyKind makes a workload of each built-in kind whose template can change, and of
// those whose pods follow in another way. Names begin with the kind.
var everyKind = map[string]struct {
	pods int
	spec map[string]any
	more map[string]any
}{
	"Deployment":              {pods: 2},
	"StatefulSet":             {pods: 2},
	"DaemonSet":               {pods: 1},
	"CronJob":                 {},
	"ReplicaSet":              {},
	"Job":                     {spec: map[string]any{"suspend": true}},
	"ReplicaSet that is live": {pods: 1, more: map[string]any{"wait_for_rollout": false}},
	"Deployment that counts pods after seconds": {pods: 2, spec: map[string]any{"minReadySeconds": 2}},
	"DaemonSet with a surge":                    {pods: 1, spec: map[string]any{"updateStrategy": map[string]any{"type": "RollingUpdate", "rollingUpdate": map[string]any{"maxSurge": 1, "maxUnavailable": 0}}}},
	"StatefulSet of parallel pods":              {pods: 2, spec: map[string]any{"podManagementPolicy": "Parallel"}},
}

func TestAccWorkloadTolerations_lifecycle(t *testing.T) {
	t.Parallel()
	shared := openShop(t)
	for name, tt := range everyKind {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := shared.on(t)
			kind, _, _ := strings.Cut(name, " ")
			object := acctest.Name(t, "web")
			const foreign = "foreign* other=1:NoExecute@30 foreign=x:NoSchedule"
			thing := s.make(kind, object, tt.pods, foreign, tt.spec)
			i := s.fresh()

			s.apply(i, s.manage(thing, "team=a:NoExecute spot*", tt.more))
			s.want(thing, foreign+" spot* team=a:NoExecute", 2)
			s.wantPods(object, tt.pods, "team=a:NoExecute spot*", kind)

			// One is changed, one goes, one comes.
			s.apply(i, s.manage(thing, "team=b:NoExecute@60 more:NoSchedule", tt.more))
			s.want(thing, foreign+" more:NoSchedule team=b:NoExecute@60", 2)
			s.wantPods(object, tt.pods, "team=b:NoExecute@60 more:NoSchedule", kind)

			// The seconds alone.
			s.apply(i, s.manage(thing, "team=b:NoExecute@90 more:NoSchedule", tt.more))
			s.want(thing, foreign+" more:NoSchedule team=b:NoExecute@90", 2)

			s.destroy(i)
			s.want(thing, foreign, 0)
		})
	}
}

// wantPods expects that all running pods carry these tolerations, as they do after
// an apply that waits. Pods of a Deployment, a StatefulSet or a DaemonSet that are missing then are
// not waited for by it: they come from the newest template.
func (s *shop) wantPods(app string, count int, all, kind string) {
	s.t.Helper()
	if kind == "ReplicaSet" {
		return
	}
	carried := func() int {
		pods := s.live(app)
		for _, pod := range pods {
			for _, want := range acctest.ParseTolerations(s.t, all) {
				if !toleration.Contains(pod.Spec.Tolerations, want) {
					s.t.Fatalf("pod %s does not carry %s: %s", pod.Name, all, formatted(pod.Spec.Tolerations))
				}
			}
		}
		return len(pods)
	}
	if there := carried(); there < count && !slices.Contains([]string{"Deployment", "StatefulSet", "DaemonSet"}, kind) {
		s.t.Fatalf("%s has %d live pods, want %d", app, there, count)
	}
	s.until("all pods are there", func() bool { return carried() >= count })
}
