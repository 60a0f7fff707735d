// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package message

import (
	"errors"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/eviction"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/golden"
)

// The goldens are whole errors, to be read aloud.
func TestLimitsRefused_goldens(t *testing.T) {
	t.Parallel()
	none := int64(0)
	several := Limits{Limits: eviction.Limits{MaxPods: &none, Namespaces: []string{"app"}, Selector: parsed(t, "app=web")}, Inherited: []string{"max_pods"}}
	noPod := Limits{Limits: eviction.Limits{MaxPods: &none}}
	crowd := aCluster().node("worker-2", 4).pods("worker-1", "pay/Deployment/core", 1, 3, urgent).pods("worker-2", "prod/Deployment/calm", 1, 2).pods("worker-1", "shop/Deployment/web", 10, 1)
	crowded := eviction.Evaluate(crowd.Snapshot, eviction.Scenario{Taints: map[string][]corev1.Taint{"worker-1": taintsOf(t, "dedicated=gpu:NoExecute")}}, eviction.ComparisonOff)
	deletions := eviction.Evaluate(crowd.Snapshot, eviction.Scenario{Drains: map[string]bool{"worker-1": true}, Deletes: true}, eviction.ComparisonOff)
	approved := func(entries ...string) []eviction.Approval {
		out := []eviction.Approval{}
		for _, entry := range entries {
			a, err := eviction.ParseApproval(entry)
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, a)
		}
		return out
	}
	labelled := func(v *eviction.PodVerdict) { v.Pod.Labels = labels.Set{"app": "web"} }
	for name, tt := range map[string]struct {
		limits Limits
		report *eviction.Report
		began  bool
		// node is the one that is left to be written to.
		node string
		// at is the attribute.
		at path.Path
	}{
		"stranded":             {report: reportOf(leaving(2, "Deployment/web", eviction.EvictedNow, stranded)), at: path.Root("tolerated_by")},
		"stranded-began":       {report: reportOf(leaving(2, "Deployment/web", eviction.EvictedNow, stranded)), began: true, at: path.Root("tolerated_by")},
		"exceeded":             {limits: noPod, report: reportOf(leaving(2, "Deployment/web", eviction.EvictedNow)), at: path.Root("evictions").AtName("max_pods")},
		"exceeded-perhaps":     {limits: noPod, report: reportOf(leaving(2, "Deployment/web", eviction.Unknown, hedged)), at: path.Root("evictions").AtName("max_pods")},
		"exceeded-began":       {limits: noPod, report: reportOf(leaving(2, "Deployment/web", eviction.EvictedNow)), began: true, node: "worker-7", at: path.Root("evictions").AtName("max_pods")},
		"exceeded-inherited":   {limits: Limits{Limits: noPod.Limits, Inherited: []string{"max_pods"}}, report: reportOf(leaving(1, "Deployment/web", eviction.EvictedNow))},
		"exceeded-preempted":   {limits: Limits{Limits: eviction.Limits{MaxPods: of(5), Namespaces: []string{"prod"}}}, report: crowded, at: path.Root("evictions").AtName("max_pods")},
		"exceeded-pending":     {limits: Limits{Limits: eviction.Limits{MaxPending: of(5)}}, report: crowded, at: path.Root("evictions").AtName("max_pending")},
		"exceeded-several":     {limits: several, report: reportOf(leaving(2, "Deployment/web", eviction.EvictedNow, labelled)), at: path.Root("evictions").AtName("protected_namespaces")},
		"unapproved":           {limits: Limits{Limits: eviction.Limits{Only: approved("shop/*", "ml/Deployment/trainer")}, OnlyAlone: true}, report: crowded, at: path.Root("evictions").AtName("only")},
		"unapproved-none":      {limits: Limits{Limits: eviction.Limits{Only: approved()}, OnlyAlone: true}, report: reportOf(leaving(2, "Deployment/web", eviction.EvictedNow)), at: path.Root("evictions").AtName("only")},
		"unapproved-inherited": {limits: Limits{Limits: eviction.Limits{Only: approved("ml/*"), MaxPods: of(50)}, Inherited: []string{"only"}, OnlyAlone: true}, report: reportOf(leaving(2, "Deployment/web", eviction.EvictedNow))},
		"exceeded-deletions":   {limits: Limits{Limits: eviction.Limits{MaxPods: of(5), Namespaces: []string{"shop"}, Selector: parsed(t, "app=web"), Only: approved("ml/*")}}, report: deletions, at: path.Root("evictions").AtName("max_pods")},
		"unapproved-several":   {limits: Limits{Limits: eviction.Limits{Only: approved("shop/Deployment/web"), MaxPods: of(5)}}, report: crowded, at: path.Root("evictions").AtName("max_pods")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			about := applying(t, `2 nodes matching "pool=a"`, "dedicated=gpu:NoExecute")
			if about.Verb, about.Began = "apply", tt.began; tt.node != "" {
				about.Nodes = []string{tt.node}
			}
			if tt.report.Deletes {
				about = Subject{Verb: "drain", What: `node "worker-1"`}
			}
			over := new(eviction.LimitsError)
			if !errors.As(tt.limits.Allow(tt.report), &over) {
				t.Fatal("it is allowed")
			}
			tt.limits.OwnBlock = true
			said := tt.limits.Refused(over, about, path.Root("tolerated_by"))
			at := path.Empty()
			if found, ok := said.(diag.DiagnosticWithPath); ok {
				at = found.Path()
			}
			if !at.Equal(tt.at) {
				t.Errorf("it is at %s, want %s", at, tt.at)
			}
			golden.Check(t, "refused-"+name+".golden", said.Summary()+"\n\n"+said.Detail()+"\n")
		})
	}
}
