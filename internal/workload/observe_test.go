// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package workload

import (
	"encoding/json"
	"errors"
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/toleration"
)

// object reads an object as the API server gives it. Its name and namespace are
// web and shop, unless the rest names others.
func object(t *testing.T, apiVersion, kind, rest string) *unstructured.Unstructured {
	t.Helper()
	fields := map[string]any{"apiVersion": apiVersion, "kind": kind}
	meta := map[string]any{"name": "web", "namespace": "shop", "uid": "u1", "resourceVersion": "7"}
	var more map[string]any
	if err := json.Unmarshal([]byte(rest), &more); err != nil {
		t.Fatal(err)
	}
	if own, ok := more["metadata"].(map[string]any); ok {
		maps.Copy(meta, own)
	}
	maps.Copy(fields, more)
	fields["metadata"] = meta
	text, err := json.Marshal(fields)
	if err != nil {
		t.Fatal(err)
	}
	out := &unstructured.Unstructured{}
	if err := out.UnmarshalJSON(text); err != nil {
		t.Fatal(err)
	}
	return out
}

func observe(t *testing.T, o *unstructured.Unstructured) *Workload {
	t.Helper()
	kind, known := Lookup(o.GetAPIVersion(), o.GetKind())
	if !known {
		t.Fatalf("%s is not known", o.GetKind())
	}
	w, err := Observe(o, kind.Path)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func owner(namespace, kind, name string) []snapshot.WorkloadKey {
	known, _ := Lookup("", kind)
	return []snapshot.WorkloadKey{{Namespace: namespace, Owner: snapshot.OwnerOf(known.APIVersion, kind, name)}}
}

func TestObserve_howPodsFollow(t *testing.T) {
	t.Parallel()
	const onDelete = "set the update strategy to RollingUpdate, or delete its pods one by one after the change"
	const anew = "recreate the Job with the tolerations, or manage the CronJob that creates it, or (from Kubernetes 1.36 on) suspend the Job first, which ends its pods"
	const trigger = "add that trigger, or roll it out by hand (oc rollout latest dc/web -n shop)"
	job := Rolling{Hold: "the template of a Job cannot be changed once it has started", WayOut: anew, Immutable: true}
	tests := []struct {
		name, apiVersion, kind, rest string
		wants                        int64
		unseen, relapses             bool
		rolling                      Rolling
	}{
		{
			name: "a Deployment rolls", apiVersion: "apps/v1", kind: "Deployment", wants: 3,
			rest:    `{"spec":{"replicas":3,"strategy":{"type":"RollingUpdate","rollingUpdate":{"maxSurge":"25%","maxUnavailable":1}}}}`,
			rolling: Rolling{Manner: "with at most 25% more and 1 fewer than 3 at a time", Pace: &Pace{1, 1}},
		},
		{
			name: "a Deployment that is recreated", apiVersion: "apps/v1", kind: "Deployment", wants: 2,
			rest:    `{"spec":{"replicas":2,"strategy":{"type":"Recreate"}}}`,
			rolling: Rolling{Manner: "all together, after the old ones are gone (strategy Recreate)", Pace: &Pace{Unavailable: 2}},
		},
		{name: "a Deployment of which the strategy is not told", apiVersion: "apps/v1", kind: "Deployment", wants: 1, rest: `{"spec":{}}`},
		{
			name: "a paused Deployment", apiVersion: "apps/v1", kind: "Deployment", wants: 0,
			rest:    `{"spec":{"replicas":0,"paused":true,"strategy":{"type":"Recreate"}}}`,
			rolling: Rolling{Manner: "all together, after the old ones are gone (strategy Recreate)", Pace: &Pace{}, Hold: "it is paused", WayOut: "resume it (kubectl rollout resume deployment/web -n shop)"},
		},
		{
			name: "a Deployment whose newest form its controller has not seen", apiVersion: "apps/v1", kind: "Deployment", wants: 1, unseen: true,
			rest: `{"metadata":{"generation":4},"spec":{},"status":{"observedGeneration":3}}`,
		},
		{
			name: "a Deployment whose newest form its controller has seen", apiVersion: "apps/v1", kind: "Deployment", wants: 1,
			rest: `{"metadata":{"generation":4},"spec":{},"status":{"observedGeneration":4}}`,
		},
		{
			name: "a StatefulSet rolls", apiVersion: "apps/v1", kind: "StatefulSet", wants: 3,
			rest:    `{"spec":{"replicas":3,"updateStrategy":{"type":"RollingUpdate","rollingUpdate":{"partition":0,"maxUnavailable":1}}}}`,
			rolling: Rolling{Manner: "one at a time, from the last to the first", Pace: &Pace{Unavailable: 1}},
		},
		{
			name: "a StatefulSet of a cluster without maxUnavailable", apiVersion: "apps/v1", kind: "StatefulSet", wants: 3, unseen: true,
			rest:    `{"metadata":{"generation":2},"spec":{"replicas":3,"updateStrategy":{"type":"RollingUpdate"}},"status":{"observedGeneration":1}}`,
			rolling: Rolling{Manner: "one at a time, from the last to the first", Pace: &Pace{Unavailable: 1}},
		},
		{
			name: "a StatefulSet that rolls several at a time", apiVersion: "apps/v1", kind: "StatefulSet", wants: 9,
			rest:    `{"spec":{"replicas":9,"podManagementPolicy":"Parallel","updateStrategy":{"type":"RollingUpdate","rollingUpdate":{"maxUnavailable":"30%"}}}}`,
			rolling: Rolling{Manner: "at most 30% at a time, from the last to the first", Pace: &Pace{Unavailable: 2}},
		},
		{
			name: "a StatefulSet with a partition", apiVersion: "apps/v1", kind: "StatefulSet", wants: 3,
			rest:    `{"spec":{"replicas":3,"updateStrategy":{"type":"RollingUpdate","rollingUpdate":{"partition":2}}}}`,
			rolling: Rolling{Manner: "one at a time, from the last to the first", Pace: &Pace{Unavailable: 1}, Hold: "its rolling update leaves out the pods below partition 2", Below: 2, WayOut: "set the partition to 0"},
		},
		{
			name: "a StatefulSet with a partition, whose first pod has another ordinal", apiVersion: "apps/v1", kind: "StatefulSet", wants: 3,
			rest:    `{"spec":{"replicas":3,"ordinals":{"start":5},"updateStrategy":{"type":"RollingUpdate","rollingUpdate":{"partition":2}}}}`,
			rolling: Rolling{Manner: "one at a time, from the last to the first", Pace: &Pace{Unavailable: 1}, Hold: "its rolling update leaves out the pods below partition 2", Below: 7, WayOut: "set the partition to 0"},
		},
		{
			name: "a StatefulSet with a partition and no pods", apiVersion: "apps/v1", kind: "StatefulSet", wants: 0,
			rest:    `{"spec":{"replicas":0,"updateStrategy":{"type":"RollingUpdate","rollingUpdate":{"partition":2}}}}`,
			rolling: Rolling{Manner: "one at a time, from the last to the first", Pace: &Pace{Unavailable: 1}},
		},
		{
			name: "a StatefulSet whose lost pods come back from a revision that no live pod is of", apiVersion: "apps/v1", kind: "StatefulSet", wants: 1, relapses: true,
			rest:    `{"spec":{"replicas":1,"updateStrategy":{"type":"RollingUpdate","rollingUpdate":{"partition":1}}},"status":{"replicas":1,"updatedReplicas":1,"currentRevision":"web-a","updateRevision":"web-b"}}`,
			rolling: Rolling{Manner: "one at a time, from the last to the first", Pace: &Pace{Unavailable: 1}, Hold: "its rolling update leaves out the pods below partition 1", Below: 1, WayOut: "set the partition to 0"},
		},
		{
			name: "a StatefulSet whose pods below the partition are of the old revision", apiVersion: "apps/v1", kind: "StatefulSet", wants: 2,
			rest:    `{"spec":{"replicas":2,"updateStrategy":{"type":"RollingUpdate","rollingUpdate":{"partition":1}}},"status":{"replicas":2,"currentReplicas":1,"updatedReplicas":1,"currentRevision":"web-a","updateRevision":"web-b"}}`,
			rolling: Rolling{Manner: "one at a time, from the last to the first", Pace: &Pace{Unavailable: 1}, Hold: "its rolling update leaves out the pods below partition 1", Below: 1, WayOut: "set the partition to 0"},
		},
		{
			name: "a StatefulSet without a partition makes lost pods of the newest template", apiVersion: "apps/v1", kind: "StatefulSet", wants: 1,
			rest:    `{"spec":{"replicas":1,"updateStrategy":{"type":"RollingUpdate","rollingUpdate":{"partition":0}}},"status":{"replicas":1,"updatedReplicas":1,"currentRevision":"web-a","updateRevision":"web-b"}}`,
			rolling: Rolling{Manner: "one at a time, from the last to the first", Pace: &Pace{Unavailable: 1}},
		},
		{
			name: "a StatefulSet that waits for deletions", apiVersion: "apps/v1", kind: "StatefulSet", wants: 1,
			rest:    `{"spec":{"updateStrategy":{"type":"OnDelete"}}}`,
			rolling: Rolling{Manner: "one at a time, from the last to the first", Pace: &Pace{Unavailable: 1}, Hold: "its update strategy is OnDelete", WayOut: onDelete},
		},
		{
			name: "a DaemonSet rolls", apiVersion: "apps/v1", kind: "DaemonSet", wants: 5,
			rest:    `{"spec":{"updateStrategy":{"type":"RollingUpdate","rollingUpdate":{"maxSurge":0,"maxUnavailable":"10%"}}},"status":{"desiredNumberScheduled":5}}`,
			rolling: Rolling{Manner: "at most 10% at a time", Pace: &Pace{Unavailable: 1}},
		},
		{
			name: "a DaemonSet that makes the new pods first", apiVersion: "apps/v1", kind: "DaemonSet", wants: 5,
			rest:    `{"spec":{"updateStrategy":{"type":"RollingUpdate","rollingUpdate":{"maxSurge":2,"maxUnavailable":0}}},"status":{"desiredNumberScheduled":5}}`,
			rolling: Rolling{Manner: "at most 2 at a time, the new one before the old one is deleted", Pace: &Pace{Surge: 2}},
		},
		{
			name: "a DaemonSet that waits for deletions", apiVersion: "apps/v1", kind: "DaemonSet", wants: 5, unseen: true,
			rest:    `{"metadata":{"generation":2},"spec":{"updateStrategy":{"type":"OnDelete"}},"status":{"desiredNumberScheduled":5,"observedGeneration":1}}`,
			rolling: Rolling{Hold: "its update strategy is OnDelete", WayOut: onDelete},
		},
		{
			name: "a ReplicaSet never rolls", apiVersion: "apps/v1", kind: "ReplicaSet", wants: 2,
			rest:    `{"spec":{"replicas":2}}`,
			rolling: Rolling{Hold: "a ReplicaSet does not replace the pods that run", WayOut: "delete its pods one by one after the change, or use a Deployment"},
		},
		{name: "a Job that is to start", apiVersion: "batch/v1", kind: "Job", rest: `{"spec":{}}`, rolling: job},
		{name: "a Job that has started", apiVersion: "batch/v1", kind: "Job", rest: `{"spec":{"suspend":false},"status":{"startTime":"2026-01-02T03:04:05Z","active":1}}`, rolling: job},
		{name: "a Job that is suspended and has not started can be changed", apiVersion: "batch/v1", kind: "Job", rest: `{"spec":{"suspend":true}}`},
		{name: "a Job that is suspended after it has started", apiVersion: "batch/v1", kind: "Job", rest: `{"spec":{"suspend":true},"status":{"startTime":"2026-01-02T03:04:05Z"}}`, rolling: job},
		{name: "a Job that is suspended and whose pods are still there", apiVersion: "batch/v1", kind: "Job", rest: `{"spec":{"suspend":true},"status":{"active":1}}`, rolling: job},
		{
			name: "a DeploymentConfig rolls when its configuration changes", apiVersion: "apps.openshift.io/v1", kind: "DeploymentConfig", wants: 2,
			rest:    `{"spec":{"replicas":2,"triggers":[{"type":"ImageChange"},{"type":"ConfigChange"}]}}`,
			rolling: Rolling{Manner: "by its deployment strategy"},
		},
		{
			name: "a DeploymentConfig that rolls by images alone", apiVersion: "apps.openshift.io/v1", kind: "DeploymentConfig", wants: 2, unseen: true,
			rest:    `{"metadata":{"generation":3},"spec":{"replicas":2,"triggers":[{"type":"ImageChange"}]},"status":{"observedGeneration":2}}`,
			rolling: Rolling{Manner: "by its deployment strategy", Hold: "it has no trigger of type ConfigChange", WayOut: trigger},
		},
		{
			name: "a DeploymentConfig without triggers", apiVersion: "apps.openshift.io/v1", kind: "DeploymentConfig", wants: 0,
			rest:    `{"spec":{"replicas":0,"triggers":[]}}`,
			rolling: Rolling{Manner: "by its deployment strategy", Hold: "it has no trigger of type ConfigChange", WayOut: trigger},
		},
		{
			name: "a paused DeploymentConfig cannot be rolled out by hand either", apiVersion: "apps.openshift.io/v1", kind: "DeploymentConfig", wants: 1,
			rest:    `{"spec":{"replicas":1,"paused":true,"triggers":[{"type":"ConfigChange"}]}}`,
			rolling: Rolling{Manner: "by its deployment strategy", Hold: "it is paused", WayOut: "resume it (oc rollout resume dc/web -n shop)"},
		},
		{
			name: "a paused DeploymentConfig without triggers needs both", apiVersion: "apps.openshift.io/v1", kind: "DeploymentConfig", wants: 1,
			rest:    `{"spec":{"replicas":1,"paused":true,"triggers":[]}}`,
			rolling: Rolling{Manner: "by its deployment strategy", Hold: "it is paused", WayOut: "resume it (oc rollout resume dc/web -n shop), and roll it out by hand after the change (oc rollout latest dc/web -n shop)"},
		},
		{
			name: "a DeploymentConfig for tests has no pods once it has rolled", apiVersion: "apps.openshift.io/v1", kind: "DeploymentConfig", wants: -1,
			rest:    `{"spec":{"replicas":2,"test":true,"triggers":[{"type":"ConfigChange"}]}}`,
			rolling: Rolling{Manner: "by its deployment strategy"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := observe(t, object(t, tt.apiVersion, tt.kind, tt.rest))
			if w.Relapses != tt.relapses {
				t.Errorf("relapses: %t, want %t", w.Relapses, tt.relapses)
			}
			if w.Wants != tt.wants || w.Observed == tt.unseen {
				t.Errorf("wants %d pods, seen %t; want %d and %t", w.Wants, w.Observed, tt.wants, !tt.unseen)
			}
			if ordered := tt.kind == "StatefulSet" && !strings.Contains(tt.rest, "Parallel"); len(w.Ordered) > 0 != ordered {
				t.Errorf("replaced in order: %v, want %t", w.Ordered, ordered)
			}
			if diff := cmp.Diff(tt.rolling, w.Rolling); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(owner("shop", tt.kind, "web"), w.Pods); diff != "" {
				t.Errorf("pods: %s", diff)
			}
		})
	}
}

func TestObserve_aCronJobHoldsNothingBackAndDoesNotTellHowManyPods(t *testing.T) {
	t.Parallel()
	w := observe(t, object(t, "batch/v1", "CronJob", `{"spec":{"schedule":"* * * * *"}}`))
	if w.Wants != -1 || !w.Observed || !w.Rolling.Later || w.Rolling.Hold != "" || w.Rolling.Immutable || !strings.Contains(w.Rolling.Manner, "its next jobs") {
		t.Errorf("%+v", w)
	}
	if diff := cmp.Diff(owner("shop", "CronJob", "web"), w.Pods); diff != "" {
		t.Error(diff)
	}
}

func TestObserve_podsOfWhatOperatorsMake(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, apiVersion, kind, rest string
		pods                         []snapshot.WorkloadKey
	}{
		{
			name: "the routers of an IngressController", apiVersion: "operator.openshift.io/v1", kind: "IngressController", rest: `{"metadata":{"name":"apps","namespace":"openshift-ingress-operator"}}`,
			pods: owner("openshift-ingress", "Deployment", "router-apps"),
		},
		{name: "the DNS servers", apiVersion: "operator.openshift.io/v1", kind: "DNS", rest: `{"metadata":{"name":"default","namespace":""}}`, pods: owner("openshift-dns", "DaemonSet", "dns-default")},
		{
			name: "the image registry", apiVersion: "imageregistry.operator.openshift.io/v1", kind: "Config", rest: `{"metadata":{"name":"cluster","namespace":""}}`,
			pods: owner("openshift-image-registry", "Deployment", "image-registry"),
		},
		{name: "a Subscription does not tell", apiVersion: "operators.coreos.com/v1alpha1", kind: "Subscription", rest: `{}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := observe(t, object(t, tt.apiVersion, tt.kind, tt.rest))
			if diff := cmp.Diff(tt.pods, w.Pods, cmpopts.EquateEmpty()); diff != "" {
				t.Error(diff)
			}
			if w.Wants != -1 || !w.Observed || w.Rolling != (Rolling{}) {
				t.Errorf("nothing is known of how the pods follow: %+v", w)
			}
		})
	}
}

func TestObserve_takesWhatIsNeeded(t *testing.T) {
	t.Parallel()
	w := observe(t, object(t, "apps/v1", "Deployment", `{
		"metadata":{
			"labels":{"app":"web"},
			"annotations":{"kubetaint.io/owned-tolerations":"[{\"key\":\"a\",\"operator\":\"Exists\",\"owner\":\"me\",\"generation\":\"g1\"}]"},
			"ownerReferences":[{"apiVersion":"v1","kind":"Other","name":"n","uid":"u2"},{"apiVersion":"x/v1","kind":"Shop","name":"main","uid":"u3","controller":true}]},
		"spec":{"template":{"spec":{"tolerations":[
			{"key":"a","operator":"Exists"},
			{"key":"b","operator":"Equal","value":"1","effect":"NoExecute","tolerationSeconds":60},
			{}]}}}}`))
	sixty := int64(60)
	want := []corev1.Toleration{
		{Key: "a", Operator: corev1.TolerationOpExists},
		{Key: "b", Operator: corev1.TolerationOpEqual, Value: "1", Effect: corev1.TaintEffectNoExecute, TolerationSeconds: &sixty},
		{},
	}
	if diff := cmp.Diff(want, w.Tolerations); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(toleration.Record{{Key: "a", Operator: "Exists", Owner: "me", Generation: "g1"}}, w.Record); diff != "" || w.RecordErr != nil {
		t.Error(diff, w.RecordErr)
	}
	if w.String() != "Deployment/shop/web" || w.UID != "u1" || w.ResourceVersion != "7" || w.Labels["app"] != "web" || w.Reverter != `Shop "main"` {
		t.Errorf("%+v", w)
	}
}

func TestObserve_tellsThatARecordCannotBeRead(t *testing.T) {
	t.Parallel()
	w := observe(t, object(t, "apps/v1", "Deployment", `{"metadata":{"annotations":{"kubetaint.io/owned-tolerations":"mine"}},"spec":{}}`))
	if w.RecordErr == nil || w.Record != nil {
		t.Errorf("%v, %v", w.Record, w.RecordErr)
	}
}

func TestObserve_ofPaths(t *testing.T) {
	t.Parallel()
	const rest = `{"spec":{
		"text":"all","number":3,"nothing":null,"empty":[],
		"args":["a","b"],"mixed":[{"key":"a","operator":"Exists"},"b"],"nulls":[null],
		"containers":[{"name":"main","image":"i"}],
		"almost":[{"key":"a","operator":"Exists","seconds":60}],
		"wrong":[{"key":5}],
		"late":[{"key":"a","operator":"Exists","effect":"NoExecute","tolerationSeconds":"60"}],
		"good":[{"key":"a","operator":"Exists"}]}}`
	tests := []struct {
		name, path, wrong string
		want              []string
	}{
		{name: "a list of tolerations", path: "spec.good", want: []string{"a Exists"}},
		{name: "an absent list is empty", path: "spec.tolerations"},
		{name: "an absent way to it is an empty list", path: "spec.nodePlacement.tolerations"},
		{name: "null is an empty list", path: "spec.nothing"},
		{name: "a way through null is an empty list", path: "spec.nothing.tolerations"},
		{name: "an empty list", path: "spec.empty"},
		{name: "through a text", path: "spec.text.tolerations", wrong: "leads through something that is not an object"},
		{name: "through a list", path: "spec.good.tolerations", wrong: "leads through something that is not an object"},
		{name: "to a text", path: "spec.text", wrong: "spec.text of Gadget is not a list but a string"},
		{name: "to a number", path: "spec.number", wrong: "is not a list but a int64"},
		{name: "to an object", path: "spec", wrong: "is not a list but a map"},
		{name: "to a list of texts", path: "spec.args", wrong: "spec.args of Gadget is a list of string, not of tolerations"},
		{name: "to a list with a text in it", path: "spec.mixed", wrong: "is a list of string"},
		{name: "to a list of nothing", path: "spec.nulls", wrong: "not of tolerations"},
		{name: "to a list of other objects", path: "spec.containers", wrong: `is not a list of tolerations: strict decoding error: unknown field`},
		{name: "an unknown field in an entry would be lost by a write", path: "spec.almost", wrong: `unknown field "seconds"`},
		{name: "a key that is no text", path: "spec.wrong", wrong: "is not a list of tolerations"},
		{name: "seconds that are no number", path: "spec.late", wrong: "is not a list of tolerations"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w, err := Observe(object(t, "example.com/v1", "Gadget", rest), strings.Split(tt.path, "."))
			if tt.wrong != "" {
				var wrong *PathError
				if !errors.As(err, &wrong) || wrong.Path != tt.path || !strings.Contains(err.Error(), tt.wrong) || !strings.Contains(err.Error(), tt.path) {
					t.Fatalf("got error %v, want one that says %q", err, tt.wrong)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got := toleration.Format(w.Tolerations); got != strings.Join(tt.want, ", ") {
				t.Errorf("%s, want %s", got, tt.want)
			}
			if w.Pods != nil || w.Wants != -1 || !w.Observed || w.Rolling != (Rolling{}) {
				t.Errorf("of a custom resource nothing is known: %+v", w)
			}
		})
	}
}

func TestObserve_anotherPathOfAKnownKindSaysNothingOfItsPods(t *testing.T) {
	t.Parallel()
	w, err := Observe(object(t, "apps/v1", "Deployment", `{"spec":{"paused":true}}`), []string{"spec", "other", "tolerations"})
	if err != nil {
		t.Fatal(err)
	}
	if w.Pods != nil || w.Wants != -1 || w.Rolling != (Rolling{}) {
		t.Errorf("%+v", w)
	}
}

func TestWorkload_claimPathIsEmptyForTheOneThatIsKnown(t *testing.T) {
	t.Parallel()
	const rest = `{"spec":{}}`
	for path, want := range map[string]string{"spec.template.spec.tolerations": "", "spec.other.tolerations": "spec.other.tolerations"} {
		for kind, want := range map[string]string{"Deployment": want, "Gadget": path} {
			w, err := Observe(object(t, "apps/v1", kind, rest), strings.Split(path, "."))
			if err != nil {
				t.Fatal(err)
			}
			if got := w.ClaimPath(); got != want {
				t.Errorf("%s of %s is %q in claims, want %q", path, kind, got, want)
			}
		}
	}
}

func TestObserve_whatIsNotOfItsKindIsAPathError(t *testing.T) {
	t.Parallel()
	w, err := Observe(object(t, "apps/v1", "Deployment", `{"spec":{"replicas":"three"}}`), podTemplate)
	var wrong *PathError
	if w != nil || !errors.As(err, &wrong) || !strings.Contains(err.Error(), "Deployment") {
		t.Errorf("%+v, %v", w, err)
	}
}

// TestRolling_keepsPodsBelowThePartition: the others follow the template, and those without an ordinal are not known to.
func TestRolling_keepsPodsBelowThePartition(t *testing.T) {
	t.Parallel()
	pods := []*snapshot.Pod{{Name: "web-0"}, {Name: "web-1"}, {Name: "web-2"}, {Name: "web"}}
	for name, tt := range map[string]struct {
		rolling Rolling
		want    string
	}{
		"a partition":                 {Rolling{Hold: "partition", Below: 2}, "web-0 web-1 web"},
		"a strategy that keeps all":   {Rolling{Hold: "OnDelete"}, "web-0 web-1 web-2 web"},
		"a rollout of all":            {Rolling{}, ""},
		"a partition beyond all pods": {Rolling{Hold: "partition", Below: 5}, "web-0 web-1 web-2 web"},
	} {
		var got []string
		for _, p := range tt.rolling.Kept(pods) {
			got = append(got, p.Name)
		}
		if strings.Join(got, " ") != tt.want {
			t.Errorf("%s: it keeps %v, want %s", name, got, tt.want)
		}
	}
}
