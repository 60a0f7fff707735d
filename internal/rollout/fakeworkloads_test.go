// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package rollout

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/toleration"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/workload"
)

const (
	podsPath = "/api/v1/pods"
	setsPath = "/apis/apps/v1/namespaces/shop/statefulsets"
)

// fakeWorkloads is what a fakeAPI has beside nodes: StatefulSets in the namespace
// shop, and their pods. Their controller replaces all pods at once.
type fakeWorkloads struct {
	sets map[string]*appsv1.StatefulSet
	pods map[string]*corev1.Pod
	made int
	// idle keeps the controller from seeing a change of a StatefulSet.
	idle func(set string) bool
	// reads counts the readings of each StatefulSet, and read is called after each,
	// with the lock held.
	reads map[string]int
	read  func(set string, nth int)
}

func newFakeWorkloads() fakeWorkloads {
	return fakeWorkloads{sets: map[string]*appsv1.StatefulSet{}, pods: map[string]*corev1.Pod{}, reads: map[string]int{}}
}

// aSet tolerates taints; those after a "*" are marked as ours, those after a "!" as
// another owner's.
func aSet(name string, replicas int32, notations ...string) *appsv1.StatefulSet {
	s := &appsv1.StatefulSet{
		TypeMeta:   metav1.TypeMeta{Kind: "StatefulSet", APIVersion: "apps/v1"},
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, UID: types.UID("uid-" + name), Generation: 1},
		Spec:       appsv1.StatefulSetSpec{Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": name}}},
	}
	var record toleration.Record
	for _, one := range notations {
		t := tolerating(strings.TrimLeft(one, "*!"))
		s.Spec.Template.Spec.Tolerations = append(s.Spec.Template.Spec.Tolerations, t)
		mark := toleration.Mark{Key: t.Key, Operator: t.Operator, Value: t.Value, Effect: t.Effect, Owner: "me", Generation: generation}
		switch one[0] {
		case '!':
			mark.Owner, mark.Generation = "other", "g9"
			fallthrough
		case '*':
			record = append(record, mark)
		}
	}
	if len(record) > 0 {
		s.Annotations = map[string]string{toleration.OwnedAnnotation: record.String()}
	}
	return s
}

// tolerating is the toleration for a taint.
func tolerating(notation string) corev1.Toleration {
	one, err := taint.Parse(notation)
	if err != nil {
		panic(err)
	}
	return taint.TolerationFor(one)
}

// wanting is the wish that StatefulSets of these names tolerate a taint.
func wanting(notation string, names ...string) []Tolerations {
	kind, _ := workload.Lookup("apps/v1", "StatefulSet")
	claim := toleration.Claim{Owner: "me", Generation: generation}
	if notation == "" {
		claim.Release = true
	} else {
		claim.Tolerations = []corev1.Toleration{tolerating(notation)}
	}
	var out []Tolerations
	for _, name := range names {
		ref := workload.Ref{APIVersion: "apps/v1", Kind: "StatefulSet", Namespace: "shop", Name: name}
		out = append(out, Tolerations{Ref: ref, Path: kind.Path, Claim: claim, NoWait: claim.Release})
	}
	return out
}

// addSet puts a StatefulSet there with its pods. The caller holds mu, or is alone.
func (a *fakeAPI) addSet(s *appsv1.StatefulSet) {
	a.putSet(s)
	a.roll(s.Name)
}

func (a *fakeAPI) putSet(s *appsv1.StatefulSet) {
	a.sets[s.Name] = s
	a.show(setsPath, "MODIFIED", s)
}

// editSet is a write of somebody else, without a guard, of which the controller
// knows nothing yet. The caller holds mu.
func (a *fakeAPI) editSet(name string, change func(*appsv1.StatefulSet)) {
	s := a.sets[name].DeepCopy()
	change(s)
	s.Generation++
	a.putSet(s)
}

// removeSet takes a StatefulSet away with its pods. The caller holds mu.
func (a *fakeAPI) removeSet(name string) {
	a.removePods(name)
	delete(a.sets, name)
}

// roll is the controller: it makes all pods of a StatefulSet anew. The caller holds
// mu, or is alone.
func (a *fakeAPI) roll(name string) {
	a.removePods(name)
	s := a.sets[name].DeepCopy()
	s.Status.ObservedGeneration = s.Generation
	a.putSet(s)
	for range *s.Spec.Replicas {
		a.addPod(s)
	}
}

// addPod makes a pod of a StatefulSet, on the node n1. The caller holds mu, or is
// alone.
func (a *fakeAPI) addPod(s *appsv1.StatefulSet) {
	a.made++
	yes := true
	p := &corev1.Pod{
		TypeMeta: metav1.TypeMeta{Kind: "Pod", APIVersion: "v1"},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "shop", Name: fmt.Sprintf("%s-pod-%d", s.Name, a.made), UID: types.UID(fmt.Sprintf("uid-pod-%d", a.made)),
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "StatefulSet", Name: s.Name, UID: s.UID, Controller: &yes}},
		},
		Spec: *s.Spec.Template.Spec.DeepCopy(), Status: corev1.PodStatus{Phase: corev1.PodRunning},
	}
	p.Spec.NodeName = "n1"
	a.pods[p.Name] = p
	a.show(podsPath, "ADDED", p)
}

// podsOf returns the pods of a StatefulSet in the order of their names. The caller
// holds mu, or is alone.
func (a *fakeAPI) podsOf(set string) []*corev1.Pod {
	var out []*corev1.Pod
	for _, name := range slices.Sorted(maps.Keys(a.pods)) {
		if strings.HasPrefix(name, set+"-pod-") {
			out = append(out, a.pods[name])
		}
	}
	return out
}

func (a *fakeAPI) removePods(set string) {
	for _, p := range a.podsOf(set) {
		delete(a.pods, p.Name)
		a.show(podsPath, "DELETED", p.DeepCopy())
	}
}

// touchPods changes something about the pods of a StatefulSet that does not matter.
// The caller holds mu.
func (a *fakeAPI) touchPods(set string) {
	for _, p := range a.podsOf(set) {
		p = p.DeepCopy()
		p.Labels = map[string]string{"touched": strconv.Itoa(a.version)}
		a.pods[p.Name] = p
		a.show(podsPath, "MODIFIED", p)
	}
}

// tolerations returns what every template tolerates; those with a mark of ours
// stand after a "*", those that retire after a "-".
func (a *fakeAPI) tolerations() map[string]string {
	a.mu.Lock()
	defer a.mu.Unlock()
	out := map[string]string{}
	for name, s := range a.sets {
		record, _ := toleration.ParseRecord(s.Annotations[toleration.OwnedAnnotation])
		var parts []string
		for _, one := range s.Spec.Template.Spec.Tolerations {
			text := taint.FormatToleration(one)
			for _, mark := range record {
				if toleration.Equal(mark.Toleration(), one) && mark.Generation == generation {
					text = map[bool]string{false: "*", true: "-"}[mark.Retiring] + text
				}
			}
			parts = append(parts, text)
		}
		out[name] = strings.Join(parts, " ")
	}
	return out
}

// evicted returns the pods that the taints of their node would evict. The caller
// holds mu.
func (a *fakeAPI) evicted() []string {
	var out []string
	for name, p := range a.pods {
		for _, one := range taint.Untolerated(a.nodes[p.Spec.NodeName].Spec.Taints, p.Spec.Tolerations, false) {
			if one.Effect == corev1.TaintEffectNoExecute {
				out = append(out, name)
			}
		}
	}
	return out
}

// readings returns how often each StatefulSet has been read.
func (a *fakeAPI) readings() map[string]int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return maps.Clone(a.reads)
}

// lists are the kinds of which there are none.
var lists = map[string]metav1.TypeMeta{
	"poddisruptionbudgets":      {Kind: "PodDisruptionBudgetList", APIVersion: "policy/v1"},
	"persistentvolumes":         {Kind: "PersistentVolumeList", APIVersion: "v1"},
	"persistentvolumeclaims":    {Kind: "PersistentVolumeClaimList", APIVersion: "v1"},
	"replicasets":               {Kind: "PartialObjectMetadataList", APIVersion: "meta.k8s.io/v1"},
	"jobs":                      {Kind: "PartialObjectMetadataList", APIVersion: "meta.k8s.io/v1"},
	"mutatingadmissionpolicies": {Kind: "MutatingAdmissionPolicyList", APIVersion: "admissionregistration.k8s.io/v1"},
	"daemonsets":                {Kind: "DaemonSetList", APIVersion: "apps/v1"},
}

func (a *fakeAPI) serveWorkloads(w http.ResponseWriter, r *http.Request) {
	if name, one := strings.CutPrefix(r.URL.Path, setsPath+"/"); one && r.Method == http.MethodPatch {
		a.writeSet(w, r, name)
		return
	} else if one {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.reads[name]++
		answerSet(w, a.sets[name])
		if a.read != nil {
			a.read(name, a.reads[name])
		}
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	list := &corev1.PodList{TypeMeta: metav1.TypeMeta{Kind: "PodList", APIVersion: "v1"}}
	list.ResourceVersion = strconv.Itoa(a.version)
	if r.URL.Path != podsPath {
		known, ok := lists[r.URL.Path[strings.LastIndexByte(r.URL.Path, '/')+1:]]
		if !ok {
			fail(w, http.StatusNotFound)
			return
		}
		list.TypeMeta = known
	} else {
		for _, p := range a.pods {
			list.Items = append(list.Items, *p)
		}
	}
	answer(w, http.StatusOK, list)
}

// writeSet carries out a merge patch.
func (a *fakeAPI) writeSet(w http.ResponseWriter, r *http.Request, name string) {
	if status := a.begins(name); status != 0 {
		fail(w, status)
		return
	}
	var patch map[string]any
	if err := json.NewDecoder(r.Body).Decode(&patch); err != nil {
		fail(w, http.StatusBadRequest)
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	before := a.sets[name]
	if before == nil {
		fail(w, http.StatusNotFound)
		return
	}
	guard, _ := patch["metadata"].(map[string]any)
	if guard["resourceVersion"] != before.ResourceVersion || guard["uid"] != string(before.UID) {
		fail(w, http.StatusConflict)
		return
	}
	s := merged(before, patch)
	if _, spec := patch["spec"]; spec {
		s.Generation++
	}
	a.putSet(s)
	a.done++
	if a.idle == nil || !a.idle(name) {
		a.roll(name)
	}
	if a.after != nil {
		a.after(name)
	}
	answerSet(w, s)
}

// merged is what a merge patch makes of a StatefulSet.
func merged(s *appsv1.StatefulSet, patch map[string]any) *appsv1.StatefulSet {
	raw, _ := json.Marshal(s)
	var fields map[string]any
	_ = json.Unmarshal(raw, &fields)
	merge(fields, patch)
	raw, _ = json.Marshal(fields)
	out := &appsv1.StatefulSet{}
	_ = json.Unmarshal(raw, out)
	return out
}

func merge(fields, patch map[string]any) {
	for name, value := range patch {
		inner, isObject := value.(map[string]any)
		there, wasObject := fields[name].(map[string]any)
		switch {
		case value == nil:
			delete(fields, name)
		case isObject && wasObject:
			merge(there, inner)
		case isObject:
			made := map[string]any{}
			merge(made, inner)
			fields[name] = made
		default:
			fields[name] = value
		}
	}
}

func answerSet(w http.ResponseWriter, s *appsv1.StatefulSet) {
	if s == nil {
		fail(w, http.StatusNotFound)
		return
	}
	answer(w, http.StatusOK, s)
}

// pool serves the API with StatefulSets in it, and checks with every write that the
// taints of the nodes evict nobody.
func (a *fakeAPI) pool(t *testing.T, sets ...*appsv1.StatefulSet) {
	t.Helper()
	for _, s := range sets {
		a.addSet(s)
	}
	after := a.after
	a.after = func(name string) {
		if pods := a.evicted(); len(pods) > 0 {
			t.Errorf("after write %d, to %s, the taints evict %v", len(a.begun), name, pods)
		}
		if after != nil {
			after(name)
		}
	}
}
