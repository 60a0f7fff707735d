// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package kube

import (
	"bytes"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
)

func TestSlimNode(t *testing.T) {
	t.Parallel()
	n := apiNode("n1", "a=1:NoExecute")
	n.ResourceVersion, n.Labels, n.Spec.Unschedulable = "7", map[string]string{"pool": "gpu"}, true
	n.DeletionTimestamp = &metav1.Time{}
	n.Annotations = map[string]string{
		taint.OwnedAnnotation: `[{"key":"a","effect":"NoExecute","owner":"me","generation":"g"}]`,
		machineAnnotation:     "openshift-machine-api/m1", machineConfigAnnotation: "rendered-worker-1",
	}
	want := &snapshot.Node{
		Name: "n1", UID: "uid-n1", ResourceVersion: "7", Labels: n.Labels, Taints: n.Spec.Taints, Unschedulable: true, Deleting: true,
		Record:           taint.Record{{Key: "a", Effect: "NoExecute", Owner: "me", Generation: "g"}},
		OtherAnnotations: len(machineAnnotation + "openshift-machine-api/m1" + machineConfigAnnotation + "rendered-worker-1"),
		Machine:          "openshift-machine-api/m1", MachineConfig: true,
	}
	if diff := cmp.Diff(want, slimNode(n)); diff != "" {
		t.Error(diff)
	}
	n.Annotations[taint.OwnedAnnotation] = "nonsense"
	if got := slimNode(n); got.RecordErr == nil || got.Record != nil {
		t.Errorf("an unreadable record is %v, %v", got.Record, got.RecordErr)
	}
	if got := slimNode(apiNode("n2")); got.RecordErr != nil || got.MachineConfig || got.Deleting || got.Machine != "" {
		t.Errorf("a plain node is %+v", got)
	}
}

func TestSlimPod(t *testing.T) {
	t.Parallel()
	now, yes := metav1.Now(), true
	before := func(d time.Duration) *metav1.Time { return &metav1.Time{Time: now.Add(-d)} }
	tests := []struct {
		name string
		in   corev1.Pod
		want snapshot.Pod
	}{
		{
			name: "a running pod with a controller",
			in: corev1.Pod{
				ObjectMeta: metav1.ObjectMeta{Namespace: "app", Name: "p", UID: "u", OwnerReferences: []metav1.OwnerReference{
					{Kind: "Other", Name: "o", UID: "x"}, {APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "rs", UID: "r", Controller: &yes},
				}},
				Spec: corev1.PodSpec{NodeName: "n1"}, Status: corev1.PodStatus{Phase: corev1.PodRunning},
			},
			want: snapshot.Pod{Namespace: "app", Name: "p", UID: "u", Node: "n1", Controller: &snapshot.Controller{Owner: snapshot.Owner{Group: "apps", Kind: "ReplicaSet", Name: "rs"}, UID: "r"}},
		},
		{
			name: "a controller of another group than Kubernetes' own",
			in:   corev1.Pod{ObjectMeta: metav1.ObjectMeta{OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps.kruise.io/v1alpha1", Kind: "DaemonSet", Name: "d", UID: "u", Controller: &yes}}}},
			want: snapshot.Pod{Controller: &snapshot.Controller{Owner: snapshot.Owner{Group: "apps.kruise.io", Kind: "DaemonSet", Name: "d"}, UID: "u"}},
		},
		{name: "an owner that does not control makes no controller", in: corev1.Pod{ObjectMeta: metav1.ObjectMeta{OwnerReferences: []metav1.OwnerReference{{Kind: "Other"}}}}},
		{name: "a ready pod", in: corev1.Pod{Status: corev1.PodStatus{Conditions: []corev1.PodCondition{{Type: corev1.ContainersReady, Status: corev1.ConditionFalse}, {Type: corev1.PodReady, Status: corev1.ConditionTrue}}}}, want: snapshot.Pod{Ready: true}},
		{name: "a pod that is not ready", in: corev1.Pod{Status: corev1.PodStatus{Conditions: []corev1.PodCondition{{Type: corev1.ContainersReady, Status: corev1.ConditionTrue}, {Type: corev1.PodReady, Status: corev1.ConditionFalse}}}}, want: snapshot.Pod{}},
		{name: "a pod that has not started", in: corev1.Pod{Status: corev1.PodStatus{Phase: corev1.PodPending}}, want: snapshot.Pod{Pending: true}},
		{name: "a pod that has succeeded", in: corev1.Pod{Status: corev1.PodStatus{Phase: corev1.PodSucceeded}}, want: snapshot.Pod{Completed: true}},
		{name: "a pod that has failed", in: corev1.Pod{Status: corev1.PodStatus{Phase: corev1.PodFailed}}, want: snapshot.Pod{Completed: true}},
		{name: "a pod that is being deleted", in: corev1.Pod{ObjectMeta: metav1.ObjectMeta{DeletionTimestamp: &now}}, want: snapshot.Pod{Terminating: true}},
		{
			name: "a pod that is being deleted and has time left",
			in:   corev1.Pod{ObjectMeta: metav1.ObjectMeta{DeletionTimestamp: before(50 * time.Second), DeletionGracePeriodSeconds: new(int64(3600))}}, want: snapshot.Pod{Terminating: true},
		},
		{
			name: "a pod that should be gone",
			in:   corev1.Pod{ObjectMeta: metav1.ObjectMeta{DeletionTimestamp: before(70 * time.Second), DeletionGracePeriodSeconds: new(int64(60))}}, want: snapshot.Pod{Terminating: true, Overdue: true},
		},
		{name: "a mirror pod", in: corev1.Pod{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{corev1.MirrorPodAnnotationKey: "hash"}}}, want: snapshot.Pod{Mirror: true}},
		{
			name: "a pod with an emptyDir behind another volume",
			in:   corev1.Pod{Spec: corev1.PodSpec{Volumes: []corev1.Volume{{Name: "a"}, {Name: "b", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}}}},
			want: snapshot.Pod{LocalData: true},
		},
		{
			name: "a pod with two claims, and an ephemeral volume whose claim goes with it",
			in: corev1.Pod{Spec: corev1.PodSpec{Volumes: []corev1.Volume{
				{Name: "a", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data"}}},
				{Name: "b", VolumeSource: corev1.VolumeSource{Ephemeral: &corev1.EphemeralVolumeSource{}}},
				{Name: "c", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "logs"}}},
			}}},
			want: snapshot.Pod{Ephemeral: true, Claims: []string{"data", "logs"}},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tt.want.Scheduling, tt.want.Demand, tt.want.Grace = &snapshot.Scheduling{}, &snapshot.Demand{}, 30
			if diff := cmp.Diff(&tt.want, newSlimmer().pod(&tt.in), cmpopts.IgnoreFields(snapshot.Demand{}, "Template")); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// A spec has no grace period only in recordings of before it was recorded: it is the API server's default then.
func TestSlimPod_gracePeriods(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		seconds *int64
		want    int32
	}{
		"none is set":                  {nil, 30},
		"0 seconds":                    {new(int64(0)), 0},
		"an hour":                      {new(int64(3600)), 3600},
		"more than any pod runs":       {new(int64(1 << 40)), math.MaxInt32},
		"less than 0, of a wrong file": {new(int64(-5)), 0},
	} {
		if got := newSlimmer().pod(&corev1.Pod{Spec: corev1.PodSpec{TerminationGracePeriodSeconds: tt.seconds}}).Grace; got != tt.want {
			t.Errorf("%s: %d, want %d", name, got, tt.want)
		}
	}
}

// A recording has no managedFields: its pods seem to be the scheduler's.
func TestSlimPod_whoseTemplateNamesItsNode(t *testing.T) {
	t.Parallel()
	chosen, bound := `{"f:spec":{"f:containers":{},"f:nodeName":{}}}`, `{"f:spec":{"f:containers":{}}}`
	for name, tt := range map[string]struct {
		apiVersion, kind, manager, fields string
		want                              bool
	}{
		"of a ReplicaSet":               {"apps/v1", "ReplicaSet", "kube-controller-manager", chosen, true},
		"of a StatefulSet":              {"apps/v1", "StatefulSet", "kube-controller-manager", chosen, true},
		"of a Job":                      {"batch/v1", "Job", "kube-controller-manager", chosen, true},
		"of a ReplicationController":    {"v1", "ReplicationController", "kube-controller-manager", chosen, true},
		"that the scheduler has placed": {"apps/v1", "ReplicaSet", "kube-controller-manager", bound, false},
		"the name of a manager":         {"apps/v1", "ReplicaSet", managedNodeName, bound, false},
		"with a label of that name":     {"apps/v1", "ReplicaSet", "kube-controller-manager", `{"f:metadata":{"f:labels":{"f:nodeName":{}}},"f:spec":{}}`, false},
		"of a DaemonSet":                {"apps/v1", "DaemonSet", "kube-controller-manager", chosen, false},
		"of another API":                {"example.com/v1", "ReplicaSet", "manager", chosen, false},
	} {
		p := &corev1.Pod{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}, ObjectMeta: metav1.ObjectMeta{
			Name: "web-0", OwnerReferences: []metav1.OwnerReference{{APIVersion: tt.apiVersion, Kind: tt.kind, Name: "web", Controller: new(true)}},
			ManagedFields: []metav1.ManagedFieldsEntry{{Manager: tt.manager, FieldsV1: metav1.NewFieldsV1(tt.fields)}},
		}, Spec: corev1.PodSpec{NodeName: "n1"}}
		if got := newSlimmer().pod(p).NamesNode; got != tt.want {
			t.Errorf("%s: %t", name, got)
		}
		if pods, _, ok := read(encoded(t, p)); !ok || pods[0].NamesNode != tt.want {
			t.Errorf("%s, without unneeded fields: %t", name, pods[0].NamesNode)
		}
		list := encoded(t, &corev1.PodList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PodList"}, Items: []corev1.Pod{*p, {}}})
		if pods, _, ok := read(list); !ok || pods[0].NamesNode != tt.want || pods[1].NamesNode {
			t.Errorf("%s, in a list: %t", name, pods[0].NamesNode)
		}
		whole, err := p.Marshal()
		if err != nil {
			t.Fatal(err)
		}
		if kept, err := ReducedPod(whole); err != nil || bytes.Contains(kept, []byte(managedNodeName)) {
			t.Errorf("%s: a recording keeps managedFields: %v", name, err)
		}
	}
}

func TestSlimPod_keepsNodeAffinityAndWhatElsePodsPrefer(t *testing.T) {
	t.Parallel()
	required := &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{}}}
	preferred := []corev1.PreferredSchedulingTerm{{Weight: 1}}
	near := []corev1.WeightedPodAffinityTerm{{Weight: 1}}
	for name, tt := range map[string]struct {
		in            *corev1.Affinity
		spread        corev1.UnsatisfiableConstraintAction
		required      *corev1.NodeSelector
		preferred     []corev1.PreferredSchedulingTerm
		pods, spreads bool
	}{
		"no affinity":                   {},
		"affinity to pods":              {in: &corev1.Affinity{PodAffinity: &corev1.PodAffinity{}, PodAntiAffinity: &corev1.PodAntiAffinity{}}},
		"preferred node affinity":       {in: &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{PreferredDuringSchedulingIgnoredDuringExecution: preferred}}, preferred: preferred},
		"required node affinity":        {in: &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: required}}, required: required},
		"preferred pod affinity":        {in: &corev1.Affinity{PodAffinity: &corev1.PodAffinity{PreferredDuringSchedulingIgnoredDuringExecution: near}}, pods: true},
		"preferred pod anti-affinity":   {in: &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{PreferredDuringSchedulingIgnoredDuringExecution: near}}, pods: true},
		"a spread that keeps pods away": {spread: corev1.DoNotSchedule},
		"a spread that is preferred":    {spread: corev1.ScheduleAnyway, spreads: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			spec := corev1.PodSpec{Affinity: tt.in}
			if tt.spread != "" {
				spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{WhenUnsatisfiable: tt.spread}}
			}
			got := newSlimmer().pod(&corev1.Pod{Spec: spec})
			if got.Scheduling.Affinity != tt.required || !slices.EqualFunc(got.Scheduling.Preferred, tt.preferred, func(a, b corev1.PreferredSchedulingTerm) bool { return a.Weight == b.Weight }) {
				t.Errorf("kept %v and %v, want %v and %v", got.Scheduling.Affinity, got.Scheduling.Preferred, tt.required, tt.preferred)
			}
			rules := got.Rules
			if rules == nil {
				rules = &snapshot.PodRules{}
			}
			if (len(rules.Preferred) == 1) != tt.pods || (len(rules.SoftSpread) == 1) != tt.spreads {
				t.Errorf("prefers by pods %v and by spread %v, want %t and %t", rules.Preferred, rules.SoftSpread, tt.pods, tt.spreads)
			}
		})
	}
}

// text also draws the bytes that a key is built from, so that the property
// looks for keys that run into each other. Every test makes one of its own:
// rapid caches a generator's name without a lock.
func text() *rapid.Generator[string] {
	return rapid.OneOf(rapid.SampledFrom([]string{"", "a", "b", "app"}), rapid.StringOfN(rapid.RuneFrom([]rune{0, 1, 2, 3, '\n', '|', 'a', 0x12}), 0, 6, -1))
}

func aSpec(t *rapid.T) *corev1.PodSpec {
	spec := &corev1.PodSpec{}
	for range rapid.IntRange(0, 2).Draw(t, "tolerations") {
		toleration := corev1.Toleration{Key: text().Draw(t, "key"), Operator: corev1.TolerationOperator(text().Draw(t, "operator")), Value: text().Draw(t, "value")}
		if rapid.Bool().Draw(t, "limited") {
			s := rapid.Int64Range(-1, 1).Draw(t, "seconds")
			toleration.TolerationSeconds = &s
		}
		spec.Tolerations = append(spec.Tolerations, toleration)
	}
	spec.NodeSelector = rapid.MapOfN(text(), text(), 0, 2).Draw(t, "selector")
	if rapid.Bool().Draw(t, "with affinity") {
		terms := make([]corev1.NodeSelectorTerm, rapid.IntRange(0, 2).Draw(t, "terms"))
		for i := range terms {
			terms[i].MatchExpressions = []corev1.NodeSelectorRequirement{{Key: text().Draw(t, "label"), Operator: "In", Values: []string{text().Draw(t, "value")}}}
		}
		spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: terms}}}
	}
	if preferred := preferredTerms(t); len(preferred) > 0 {
		if spec.Affinity == nil {
			spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{}}
		}
		spec.Affinity.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution = preferred
	}
	return spec
}

func preferredTerms(t *rapid.T) []corev1.PreferredSchedulingTerm {
	out := make([]corev1.PreferredSchedulingTerm, rapid.IntRange(0, 2).Draw(t, "preferred terms"))
	for i := range out {
		out[i].Weight = rapid.Int32Range(1, 2).Draw(t, "weight")
		out[i].Preference.MatchExpressions = []corev1.NodeSelectorRequirement{{Key: text().Draw(t, "label"), Operator: "In", Values: []string{text().Draw(t, "value")}}}
	}
	return out
}

func TestSlimmer_sharesWhatIsEqualAndNothingElse(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := newSlimmer()
		a, b := aSpec(t), aSpec(t)
		equal := apiequality.Semantic.DeepEqual(a, b)
		if shared := s.schedulingOf(a) == s.schedulingOf(b); shared != equal {
			t.Fatalf("equal %t, shared %t:\n%+v\n%+v", equal, shared, a, b)
		}
		if s.schedulingOf(a) != s.schedulingOf(a.DeepCopy()) {
			t.Fatal("a copy is not shared")
		}
		kept := s.schedulingOf(b)
		required, preferred := nodeAffinity(b.Affinity)
		if !apiequality.Semantic.DeepEqual(kept.Tolerations, b.Tolerations) || !apiequality.Semantic.DeepEqual(kept.NodeSelector, b.NodeSelector) || !apiequality.Semantic.DeepEqual(kept.Affinity, required) || !apiequality.Semantic.DeepEqual(kept.Preferred, preferred) {
			t.Fatalf("kept %+v for %+v", kept, b)
		}
		x, y := rapid.MapOfN(text(), text(), 0, 3).Draw(t, "x"), rapid.MapOfN(text(), text(), 0, 3).Draw(t, "y")
		kx, ky := s.labelsOf(x), s.labelsOf(y)
		if !labels.Equals(kx, x) || !labels.Equals(ky, y) {
			t.Fatalf("kept %v for %v and %v for %v", kx, x, ky, y)
		}
	})
}

// A node selector that spells the protobuf form of two tolerations must not be
// taken for them.
func TestSlimmer_isNotFooledByWhatLooksLikeAnotherPart(t *testing.T) {
	t.Parallel()
	one := corev1.Toleration{Key: "a", Operator: "Exists"}
	raw, err := one.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	s := newSlimmer()
	tolerating := s.schedulingOf(&corev1.PodSpec{Tolerations: []corev1.Toleration{one, one}})
	selecting := s.schedulingOf(&corev1.PodSpec{NodeSelector: map[string]string{string(raw): string(raw)}})
	if tolerating == selecting {
		t.Error("two different specs share one value")
	}
}

func TestSlimmer_sharesLabelsOwnersAndNames(t *testing.T) {
	t.Parallel()
	yes := true
	pod := func(name string, uid types.UID) *corev1.Pod {
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
			Name: name, Labels: map[string]string{"app": "web", "tier": "front"},
			OwnerReferences: []metav1.OwnerReference{{Kind: "ReplicaSet", Name: "web", UID: uid, Controller: &yes}},
		}}
	}
	s := newSlimmer()
	a, b, c := s.pod(pod("a", "rs-1")), s.pod(pod("b", "rs-1")), s.pod(pod("c", "rs-2"))
	if a.Controller != b.Controller || a.Controller == c.Controller {
		t.Error("pods of one controller share it, pods of two do not")
	}
	a.Labels["probe"] = "x"
	if b.Labels["probe"] != "x" {
		t.Error("equal labels are not shared")
	}
}
