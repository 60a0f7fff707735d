// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package message

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/planner"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/rollout"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/messages"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/workload"
)

func TestStuckDetail_saysWhatIsMissingAndWhatItMeans(t *testing.T) {
	t.Parallel()
	const untainted, tainted = "Taints that wait for these tolerations have not been written", "The taints are changed already"
	const find = "kubectl rollout status deployment/web -n shop"
	for name, tt := range map[string]struct {
		stuck     rollout.StuckError
		want, not []string
	}{
		"pods that lack it":             {rollout.StuckError{Lacking: []string{"web-0"}}, []string{"1 pod still without the tolerations: web-0", untainted, find}, []string{tainted}},
		"pods on no node":               {rollout.StuckError{Pending: []string{"web-1"}}, []string{"1 pod recreated, but not scheduled yet (Pending): web-1"}, nil},
		"pods that are not there":       {rollout.StuckError{Missing: 2}, []string{"2 of 3 pods not created yet; a new pod may be created from an older template"}, []string{"its controller has not reported"}},
		"a word of the controller":      {rollout.StuckError{}, []string{"its controller has not reported yet that it has seen the change"}, nil},
		"a rollout after the taints":    {rollout.StuckError{Missing: 1, TaintsApplied: true}, []string{tainted, "that evicts no pod"}, []string{untainted}},
		"labels that wait for the pods": {rollout.StuckError{Lacking: []string{"web-0"}, LosesLabels: true, TaintsApplied: true}, []string{"1 pod still of the old template: web-0", "The labels stay on the nodes until then."}, []string{untainted, tainted}},
		"pods that would relapse":       {rollout.StuckError{Relapses: true}, []string{"a lost pod below the partition is recreated from the old template"}, []string{"not every pod"}},
		"an older ReplicaSet":           {rollout.StuckError{Missing: 1, Older: true}, []string{"1 of 3 pods not created yet", "an older ReplicaSet, whose template lacks the tolerations, can still create pods"}, []string{"its controller has not reported", "may be created"}},
		"pods on nodes that are not ready": {
			rollout.StuckError{Workload: &workload.Workload{Ref: workload.Ref{APIVersion: "apps/v1", Kind: "DaemonSet", Namespace: "shop", Name: "agent"}}, Lacking: []string{"agent-a", "agent-b"}, Blocking: []string{"agent-b"}},
			[]string{"1 pod not ready or terminating: agent-b", "The nodes of these pods are not ready (kubectl get pods -n shop -o wide)", "kubectl delete node"}, []string{"OrderedReady"},
		},
		"pods that block the others": {rollout.StuckError{Lacking: []string{"web-0", "web-1"}, Blocking: []string{"web-1"}}, []string{"1 pod not ready or terminating: web-1", "OrderedReady", "kubectl delete pod web-1 -n shop"}, nil},
		"a template that was undone": {rollout.StuckError{Lost: true, Lacking: []string{"web-0"}}, []string{"another writer has removed them", "1 pod still without"}, []string{"The template has the tolerations"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if tt.stuck.Workload == nil {
				tt.stuck.Workload = &workload.Workload{Ref: workload.Ref{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "shop", Name: "web"}, Wants: 3}
			}
			tt.stuck.Err = context.DeadlineExceeded
			got := stuckDetail("update", &tt.stuck)
			for _, part := range tt.want {
				if !strings.Contains(got, part) {
					t.Errorf("nothing says %q: %s", part, got)
				}
			}
			for _, part := range tt.not {
				if strings.Contains(got, part) {
					t.Errorf("it says %q: %s", part, got)
				}
			}
		})
	}
}

// Commands know some kinds of one group alone, and would take an object of another group for theirs.
func TestFindOut_namesCommandsForTheKindsOfTheirGroupAlone(t *testing.T) {
	t.Parallel()
	for apiVersion, kinds := range map[string]map[string]string{
		"apps/v1":                {"Deployment": "kubectl rollout status deployment/web", "StatefulSet": "kubectl rollout status statefulset/web", "DaemonSet": "kubectl rollout status daemonset/web", "DeploymentConfig": ""},
		"apps.kruise.io/v1beta1": {"StatefulSet": "", "DaemonSet": ""},
		"apps.openshift.io/v1":   {"DeploymentConfig": "oc rollout status dc/web", "Deployment": ""},
	} {
		for kind, want := range kinds {
			got := findOut(workload.Ref{APIVersion: apiVersion, Kind: kind, Namespace: "shop", Name: "web"})
			if want != "" && !strings.Contains(got, want+" -n shop") || want == "" && strings.Contains(got, "rollout status") {
				t.Errorf("of %s of %s it says %s", kind, apiVersion, got)
			}
		}
	}
}

// An error about linked workloads names them and their pods, and what ended the wait
// alone as the original error.
func TestExplainPods(t *testing.T) {
	t.Parallel()
	messages.Expect(t, "Unable to write taints of …: pods of … do not tolerate them yet")
	web := &workload.Workload{Ref: workload.Ref{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "shop", Name: "web"}, Wants: 3}
	web.Rolling.Hold, web.Rolling.WayOut = "it is paused", "resume it"
	for name, tt := range map[string]struct {
		err             error
		summary, detail string
	}{
		"stuck": {
			fmt.Errorf("wait: %w", &rollout.StuckError{Workload: web, Lacking: []string{"web-0", "web-1"}, Pending: []string{"web-2"}, Err: context.DeadlineExceeded}),
			`Unable to write taints of node "a": pods of Deployment "shop/web" do not tolerate them yet`,
			"The template has the tolerations, but not every pod has them yet:\n\n  2 pods still without the tolerations: web-0, web-1\n  1 pod recreated, but not scheduled yet (Pending): web-2\n\n" +
				"This apply has written no taint to node \"a\", so it evicts no pod. Find out why the rollout does not finish (kubectl rollout status deployment/web -n shop, kubectl describe pod, kubectl get events), " +
				"or set a longer timeout in timeouts, and apply again: it continues where it stopped.\n\nOriginal error: context deadline exceeded",
		},
		"blocked": {
			&rollout.StuckError{Workload: web, Lacking: []string{"web-0", "web-1"}, Blocking: []string{"web-1"}, Err: context.DeadlineExceeded},
			`Unable to write taints of node "a": pods of Deployment "shop/web" do not tolerate them yet`,
			"The template has the tolerations, but not every pod has them yet:\n\n  2 pods still without the tolerations: web-0, web-1\n  1 pod not ready or terminating: web-1\n\n" +
				"With podManagementPolicy OrderedReady, the controller replaces no pod while another one is not ready or terminating. If web-1 does not become ready, delete it once the template has the tolerations " +
				"(kubectl delete pod web-1 -n shop): the new pods have them. Pods that stay terminating on a node that is gone need --force.\n\n" +
				"This apply has written no taint to node \"a\", so it evicts no pod. Find out why the rollout does not finish (kubectl rollout status deployment/web -n shop, kubectl describe pod, kubectl get events), " +
				"or set a longer timeout in timeouts, and apply again: it continues where it stopped.\n\nOriginal error: context deadline exceeded",
		},
		"held": {
			&rollout.HoldError{Workload: web, Pods: []*snapshot.Pod{{Name: "web-0"}}},
			`Unable to write taints of node "a": pods of Deployment "shop/web" do not tolerate them yet`,
			"1 of its pods does not have them: web-0. They are not replaced when its template changes (it is paused). This apply has written no taint to node \"a\", so it evicts no pod.\n\n" +
				"To fix this: resume it. Once every running pod has the tolerations, apply again.",
		},
		"a mark that the template does not bear out": {
			&rollout.StuckError{Workload: web, Lost: true, MarkedBy: "terraform/x", Err: errors.New("lost")},
			`Unable to write taints of node "a": pods of Deployment "shop/web" do not tolerate them yet`,
			"Its ownership record names tolerations of \"terraform/x\", but its template does not have them, so no pod gets them. This apply has written no taint to node \"a\", so it evicts no pod.\n\n" +
				"To fix this: apply \"terraform/x\", which adds them, and then this resource. If there is no such resource, the ownership record is forged: remove its entry from the annotation " +
				"kubetaint.io/owned-tolerations (kubectl edit deployment web -n shop), or the whole annotation (kubectl annotate deployment web -n shop kubetaint.io/owned-tolerations-), after which no resource owns its entries.",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			said := ExplainPods(`node "a"`, tt.err)
			messages.Got(t, said.Summary())
			if diff := cmp.Diff([]string{tt.summary, tt.detail}, []string{said.Summary(), said.Detail()}); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestWarnBlocked(t *testing.T) {
	t.Parallel()
	db := &workload.Workload{Ref: workload.Ref{APIVersion: "apps/v1", Kind: "StatefulSet", Namespace: "shop", Name: "db"}}
	db.Pods = []snapshot.WorkloadKey{db.Owner()}
	db.Ordered = db.Pods
	of := func(ready bool) *snapshot.Snapshot {
		pod := &snapshot.Pod{Namespace: "shop", Name: "db-0", Node: "n", Ready: ready, Controller: &snapshot.Controller{Owner: db.Owner().Owner}, Scheduling: &snapshot.Scheduling{}}
		return &snapshot.Snapshot{Pods: map[string][]*snapshot.Pod{"n": {pod}}}
	}
	waits := planner.Plan{Steps: []planner.Step{{Kind: planner.Wait, Workload: db}}}
	for name, tt := range map[string]struct {
		snapshot *snapshot.Snapshot
		plan     planner.Plan
		want     string
	}{
		"a pod that is not ready":                {of(false), waits, `The rollout of StatefulSet "shop/db" stops until db-0 is ready`},
		"a pod that is ready":                    {of(true), waits, ""},
		"nothing is waited for":                  {of(false), planner.Plan{}, ""},
		"labels that are removed are waited for": {of(false), planner.Plan{Steps: []planner.Step{{Kind: planner.Wait, Workload: db, RemovedLabels: map[string][]string{"a": {"b"}}}}}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var diags diag.Diagnostics
			WarnBlocked(db, tt.snapshot, tt.plan, WorkloadAt{}, &diags)
			got := ""
			for _, d := range diags {
				got = d.Summary()
				if !strings.Contains(d.Detail(), "kubectl delete pod db-0 -n shop") {
					t.Errorf("no way out: %s", d.Detail())
				}
			}
			if got != tt.want {
				t.Errorf("it warns %q, want %q", got, tt.want)
			}
		})
	}
}
