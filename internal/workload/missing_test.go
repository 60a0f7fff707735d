// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package workload

import "testing"

// Missing pods follow where the real controller makes all of them from the newest template.
func TestObserve_whichMissingPodsFollow(t *testing.T) {
	t.Parallel()
	const (
		rolling     = `"updateStrategy":{"type":"RollingUpdate","rollingUpdate":{"partition":0}}`
		partitioned = `"updateStrategy":{"type":"RollingUpdate","rollingUpdate":{"partition":2}}`
		half        = `"status":{"currentRevision":"web-a","updateRevision":"web-b","currentReplicas":2}`
		whole       = `"status":{"currentRevision":"web-b","updateRevision":"web-b","currentReplicas":3}`
	)
	for name, tt := range map[string]struct {
		kind, rest string
		want       bool
	}{
		"a Deployment":                                  {"Deployment", `"spec":{}`, true},
		"a DaemonSet":                                   {"DaemonSet", `"spec":{}`, true},
		"a DaemonSet of strategy OnDelete":              {"DaemonSet", `"spec":{"updateStrategy":{"type":"OnDelete"}}`, true},
		"a ReplicaSet":                                  {"ReplicaSet", `"spec":{}`, true},
		"a Job":                                         {"Job", `"spec":{}`, false},
		"a StatefulSet":                                 {"StatefulSet", `"spec":{` + rolling + `},` + half, true},
		"a StatefulSet of strategy OnDelete":            {"StatefulSet", `"spec":{"updateStrategy":{"type":"OnDelete"}},` + half, true},
		"a StatefulSet without a rollingUpdate":         {"StatefulSet", `"spec":{"updateStrategy":{"type":"RollingUpdate"}},` + half, false},
		"a StatefulSet with a partition":                {"StatefulSet", `"spec":{` + partitioned + `},` + half, false},
		"a StatefulSet with a partition, of one state":  {"StatefulSet", `"spec":{` + partitioned + `},` + whole, true},
		"a StatefulSet with a partition, and no status": {"StatefulSet", `"spec":{` + partitioned + `}`, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			known, _ := Lookup("", tt.kind)
			if w := observe(t, object(t, known.APIVersion, tt.kind, "{"+tt.rest+"}")); w.MissingFollow != tt.want {
				t.Errorf("missing pods follow: %t", w.MissingFollow)
			}
		})
	}
}

// A rollout of a DeploymentConfig that fails scales an older ReplicationController up again, so that its missing pods
// follow once the newest one has succeeded
// (github.com/openshift/openshift-controller-manager pkg/apps/deploymentconfig/deploymentconfig_controller.go).
func TestObserve_missingPodsOfADeploymentConfigFollowItsRollout(t *testing.T) {
	t.Parallel()
	condition := func(status, reason string) string {
		return `{"observedGeneration":1,"latestVersion":2,"conditions":[{"type":"Available","status":"True"},{"type":"Progressing","status":"` + status + `","reason":"` + reason + `"}]}`
	}
	const (
		triggers = `"triggers":[{"type":"ConfigChange"}],`
		image    = `"template":{"spec":{"containers":[{"name":"web","image":"web:1"}]}}`
	)
	available := condition("True", "NewReplicationControllerAvailable")
	for name, tt := range map[string]struct {
		spec, status string
		want         bool
	}{
		"the newest rollout has succeeded":    {triggers + image, available, true},
		"with the strategy Recreate":          {triggers + `"strategy":{"type":"Recreate"},` + image, available, true},
		"it has just begun":                   {triggers + image, condition("True", "NewReplicationControllerCreated"), false},
		"it is under way":                     {triggers + image, condition("True", "ReplicationControllerUpdated"), false},
		"its deployer waits to run":           {triggers + image, condition("Unknown", ""), false},
		"it has failed":                       {triggers + image, condition("False", "ProgressDeadlineExceeded"), false},
		"it was cancelled":                    {triggers + image, condition("False", "RolloutCancelled"), false},
		"nothing triggers a rollout":          {image, available, false},
		"images alone trigger one":            {`"triggers":[{"type":"ImageChange"}],` + image, available, false},
		"it is paused":                        {triggers + `"paused":true,` + image, available, false},
		"the image of a container is unknown": {triggers + `"template":{"spec":{"containers":[{"name":"web","image":" "}]}}`, available, false},
		"no status":                           {triggers + image, `{}`, false},
		"conditions of no known form":         {triggers + image, `{"conditions":[1,{"type":2}]}`, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := observe(t, object(t, "apps.openshift.io/v1", "DeploymentConfig", `{"spec":{"replicas":3,`+tt.spec+`},"status":`+tt.status+`}`))
			if w.MissingFollow != tt.want || w.Wants != 3 {
				t.Errorf("missing pods follow: %t; it wants %d pods", w.MissingFollow, w.Wants)
			}
		})
	}
}

// The rules are those of github.com/openkruise/kruise v1.9.1: pkg/controller/cloneset/sync/cloneset_sync_utils.go,
// calculateDiffsWithExpectation, pkg/controller/daemonset/daemonset_controller.go, syncNodes, and
// pkg/controller/statefulset/stateful_set_utils.go, isCurrentRevisionNeeded.
func TestDirect_whichMissingPodsOfOpenKruiseFollow(t *testing.T) {
	t.Parallel()
	const half, whole = `{"currentRevision":"web-a","updateRevision":"web-b"}`, `{"currentRevision":"web-b","updateRevision":"web-b"}`
	const scheduled = `{"desiredNumberScheduled":4,"numberMisscheduled":1}`
	for name, tt := range map[string]struct {
		kind, strategy, status string
		wants                  int64
		want                   bool
	}{
		"a CloneSet":                                {"CloneSet", `{"type":"ReCreate","partition":0}`, half, 3, true},
		"a CloneSet without a strategy":             {"CloneSet", `{}`, `{}`, 3, true},
		"a CloneSet that is paused":                 {"CloneSet", `{"paused":true}`, half, 3, true},
		"a CloneSet of strategy OnDelete":           {"CloneSet", `{"type":"OnDelete"}`, half, 3, true},
		"a CloneSet with a partition":               {"CloneSet", `{"partition":1}`, half, 3, false},
		"a CloneSet with a share as partition":      {"CloneSet", `{"partition":"10%"}`, half, 3, false},
		"a CloneSet with one in rollingUpdate":      {"CloneSet", `{"rollingUpdate":{"partition":1}}`, half, 3, false},
		"a CloneSet with a partition, of one state": {"CloneSet", `{"partition":1}`, whole, 3, true},
		"a CloneSet with a partition and no status": {"CloneSet", `{"partition":1}`, `{}`, 3, false},
		"a DaemonSet":                               {"DaemonSet", `{"type":"RollingUpdate"}`, scheduled, 5, true},
		"a DaemonSet with a partition":              {"DaemonSet", `{"rollingUpdate":{"partition":2}}`, scheduled, 5, true},
		"a DaemonSet of strategy OnDelete":          {"DaemonSet", `{"type":"OnDelete"}`, scheduled, 5, true},
		"a DaemonSet with a status of another type": {"DaemonSet", `{}`, `{"desiredNumberScheduled":"four"}`, 3, false},
		"a StatefulSet of strategy OnDelete":        {"StatefulSet", `{"type":"OnDelete"}`, half, 3, true},
		"a StatefulSet with a partition":            {"StatefulSet", `{"rollingUpdate":{"partition":2}}`, half, 3, false},
		"a BroadcastJob":                            {"BroadcastJob", `{}`, `{}`, 3, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := direct(t, "apps.kruise.io/v1beta1", tt.kind, `{"spec":{"replicas":3,"template":{},"updateStrategy":`+tt.strategy+`},"status":`+tt.status+`}`)
			if w.MissingFollow != tt.want || w.Wants != tt.wants {
				t.Errorf("missing pods follow: %t; it wants %d pods, not %d", w.MissingFollow, w.Wants, tt.wants)
			}
		})
	}
	if direct(t, "example.com/v1", "CloneSet", `{"spec":{"replicas":3,"template":{}}}`).MissingFollow {
		t.Error("missing pods of a kind of another group follow")
	}
}
