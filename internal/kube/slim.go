// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package kube

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"maps"
	"math"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/annotations"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/label"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/printable"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
)

const (
	machineAnnotation       = "machine.openshift.io/machine"
	machineConfigAnnotation = "machineconfiguration.openshift.io/currentConfig"
)

// slimNode keeps of a node what verdicts and ownership need.
func slimNode(n *corev1.Node) *snapshot.Node {
	_, managed := n.Annotations[machineConfigAnnotation]
	record, err := taint.ParseRecord(n.Annotations[taint.OwnedAnnotation])
	labelRecord, labelErr := label.ParseRecord(n.Annotations[label.OwnedAnnotation])
	return &snapshot.Node{
		Name: n.Name, UID: n.UID, ResourceVersion: n.ResourceVersion,
		Labels: n.Labels, Taints: n.Spec.Taints, Unschedulable: n.Spec.Unschedulable, Deleting: n.DeletionTimestamp != nil,
		Ready: ready(n), Allocatable: allocatable(n.Status.Allocatable),
		Record: record, RecordErr: err, LabelRecord: labelRecord, LabelRecordErr: labelErr,
		OtherAnnotations: annotations.Others(n.Annotations, taint.OwnedAnnotation, label.OwnedAnnotation),
		Awaited:          n.Annotations[snapshot.AwaitedAnnotation],
		Machine:          printable.Line(n.Annotations[machineAnnotation]), MachineConfig: managed,
	}
}

func ready(n *corev1.Node) bool {
	return slices.ContainsFunc(n.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
	})
}

func podReady(p *corev1.Pod) bool {
	return slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

// slimmer keeps of pods what verdicts need. Pods of one workload are equal in
// most of it, so that equal parts are kept once: this is what makes 150,000
// pods fit. It is safe for concurrent use: a watch that is ending may still
// have an event in its hands while the next list is read.
type slimmer struct {
	mu          sync.Mutex
	key         []byte
	names       []string
	strings     map[string]string
	scheduling  map[string]*snapshot.Scheduling
	tolerations map[string][]corev1.Toleration
	labels      map[string]labels.Set
	controllers map[types.UID]*snapshot.Controller
	demands     map[string]*snapshot.Demand
	rules       map[string]*snapshot.PodRules
	resources   []corev1.ResourceName
	number      [64]byte
}

func newSlimmer() *slimmer {
	return &slimmer{
		strings: map[string]string{}, scheduling: map[string]*snapshot.Scheduling{},
		tolerations: map[string][]corev1.Toleration{}, labels: map[string]labels.Set{}, controllers: map[types.UID]*snapshot.Controller{}, demands: map[string]*snapshot.Demand{},
		rules: map[string]*snapshot.PodRules{},
	}
}

func (s *slimmer) pod(p *corev1.Pod) *snapshot.Pod {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.own(&snapshot.Pod{
		Scheduling: s.schedulingOf(&p.Spec), Demand: s.demandOf(p), Claims: s.claimsOf(p.Spec.Volumes), Rules: s.rulesOf(&p.Spec),
		Pending:   p.Status.Phase == corev1.PodPending,
		Ready:     podReady(p),
		Completed: p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed,
		Gated:     len(p.Spec.SchedulingGates) > 0,
		Nominated: s.intern(p.Status.NominatedNodeName),
		LocalData: slices.ContainsFunc(p.Spec.Volumes, func(v corev1.Volume) bool { return v.EmptyDir != nil }),
		Ephemeral: slices.ContainsFunc(p.Spec.Volumes, func(v corev1.Volume) bool { return v.Ephemeral != nil }),
		Inline:    snapshot.AttachesInline(&p.Spec),
		Grace:     graceOf(&p.Spec),
	}, p)
}

// graceOf returns the grace period of pods of a spec in seconds. The API server sets it where the spec does not: only
// recordings of before it was recorded have none.
func graceOf(spec *corev1.PodSpec) int32 {
	grace := int64(corev1.DefaultTerminationGracePeriodSeconds)
	if spec.TerminationGracePeriodSeconds != nil {
		grace = *spec.TerminationGracePeriodSeconds
	}
	return int32(min(max(grace, 0), math.MaxInt32))
}

// another returns a pod with the spec and the status of one that is known, but for its metadata, its
// node and when it started, which are all that is read of p.
func (s *slimmer) another(known *snapshot.Pod, p *corev1.Pod) *snapshot.Pod {
	s.mu.Lock()
	defer s.mu.Unlock()
	one := *known
	return s.own(&one, p)
}

// own sets what replicas do not have in common.
func (s *slimmer) own(one *snapshot.Pod, p *corev1.Pod) *snapshot.Pod {
	one.Namespace, one.Name, one.Node, one.UID = s.intern(p.Namespace), p.Name, s.intern(p.Spec.NodeName), p.UID
	one.Controller, one.Labels, one.Since = s.controller(metav1.GetControllerOfNoCopy(p)), s.labelsOf(p.Labels), since(p)
	one.Terminating, one.Overdue = p.DeletionTimestamp != nil, beyondGrace(p)
	_, one.Mirror = p.Annotations[corev1.MirrorPodAnnotationKey]
	one.NamesNode = one.Controller.Copies() && slices.ContainsFunc(p.ManagedFields, func(e metav1.ManagedFieldsEntry) bool {
		return setsNodeName(e.FieldsV1)
	})
	return one
}

// managedNodeName is in the managedFields of pods whose creator has chosen their node. The scheduler's choice is not
// (k8s.io/kubernetes v1.37.2 pkg/registry/core/pod/storage/storage.go, setPodNodeAndMetadata: it updates no managedFields).
const managedNodeName = `"f:nodeName"`

// setsNodeName reports whether the fields have that of the spec: a label or an annotation may have the same name.
func setsNodeName(f *metav1.FieldsV1) bool {
	if f == nil || !bytes.Contains(f.GetRawBytes(), []byte(managedNodeName)) {
		return false
	}
	var fields struct {
		Spec map[string]json.RawMessage `json:"f:spec"`
	}
	err := json.Unmarshal(f.GetRawBytes(), &fields)
	_, sets := fields.Spec["f:nodeName"]
	return err == nil && sets
}

// beyondGrace reports whether ResourceQuotas no longer count a pod because it should be gone. The deletion
// timestamp includes the grace period, which is added once more
// (k8s.io/kubernetes v1.37.2 pkg/quota/v1/evaluator/core/pods.go, QuotaV1Pod). A recorded cluster
// (internal/recorded) has no grace periods: its pods count.
func beyondGrace(p *corev1.Pod) bool {
	return p.DeletionTimestamp != nil && p.DeletionGracePeriodSeconds != nil &&
		time.Now().After(p.DeletionTimestamp.Add(time.Duration(*p.DeletionGracePeriodSeconds)*time.Second))
}

func (s *slimmer) intern(text string) string {
	if kept, ok := s.strings[text]; ok {
		return kept
	}
	s.strings[text] = text
	return text
}

func (s *slimmer) controller(ref *metav1.OwnerReference) *snapshot.Controller {
	if ref == nil {
		return nil
	}
	kept, ok := s.controllers[ref.UID]
	if !ok {
		kept = &snapshot.Controller{Owner: s.owner(ref), UID: ref.UID}
		s.controllers[ref.UID] = kept
	}
	return kept
}

func (s *slimmer) owner(ref *metav1.OwnerReference) snapshot.Owner {
	owner := snapshot.OwnerOf(ref.APIVersion, ref.Kind, ref.Name)
	owner.Group, owner.Kind = s.intern(owner.Group), s.intern(owner.Kind)
	return owner
}

// schedulingOf finds or makes the shared value for this spec. The key is the
// protobuf form of the parts, each with its length before it and the tolerations
// and preferred terms with their counts, so that different specs never have the same key:
// what follows are pairs, and an odd part at the end is the required affinity.
func (s *slimmer) schedulingOf(spec *corev1.PodSpec) *snapshot.Scheduling {
	s.key = binary.AppendUvarint(s.key[:0], uint64(len(spec.Tolerations)))
	for i := range spec.Tolerations {
		s.append(&spec.Tolerations[i])
	}
	listed := len(s.key)
	affinity, preferred := nodeAffinity(spec.Affinity)
	s.key = binary.AppendUvarint(s.key, uint64(len(preferred)))
	for i := range preferred {
		s.append(&preferred[i])
	}
	s.appendMap(spec.NodeSelector)
	if affinity != nil {
		s.append(affinity)
	}
	kept, ok := s.scheduling[string(s.key)]
	if !ok {
		kept = &snapshot.Scheduling{Tolerations: s.tolerationsOf(spec.Tolerations, s.key[:listed]), NodeSelector: spec.NodeSelector, Affinity: affinity, Preferred: preferred}
		s.scheduling[string(s.key)] = kept
	}
	return kept
}

func (s *slimmer) tolerationsOf(list []corev1.Toleration, key []byte) []corev1.Toleration {
	kept, ok := s.tolerations[string(key)]
	if !ok {
		kept = list
		s.tolerations[string(key)] = kept
	}
	return kept
}

func (s *slimmer) labelsOf(set map[string]string) labels.Set {
	s.key = s.key[:0]
	s.appendMap(set)
	kept, ok := s.labels[string(s.key)]
	if !ok {
		kept = set
		s.labels[string(s.key)] = kept
	}
	return kept
}

type sizedMarshaler interface {
	Size() int
	MarshalToSizedBuffer(buf []byte) (int, error)
}

func (s *slimmer) append(m sizedMarshaler) {
	size := m.Size()
	s.key = binary.AppendUvarint(s.key, uint64(size)) //nolint:gosec // A size is never negative.
	start := len(s.key)
	s.key = slices.Grow(s.key, size)[:start+size]
	if _, err := m.MarshalToSizedBuffer(s.key[start:]); err != nil {
		// Generated marshalling of plain fields into a buffer of the right size
		// cannot fail; if it did, a zeroed key would merge different pods.
		panic(err)
	}
}

func (s *slimmer) appendMap(m map[string]string) {
	switch len(m) {
	case 0:
		return
	case 1:
		for k, v := range m {
			s.appendPair(k, v)
		}
		return
	}
	s.names = slices.AppendSeq(s.names[:0], maps.Keys(m))
	slices.Sort(s.names)
	for _, k := range s.names {
		s.appendPair(k, m[k])
	}
}

func (s *slimmer) appendPair(k, v string) {
	s.key = binary.AppendUvarint(s.key, uint64(len(k)))
	s.key = append(s.key, k...)
	s.key = binary.AppendUvarint(s.key, uint64(len(v)))
	s.key = append(s.key, v...)
}

func nodeAffinity(a *corev1.Affinity) (required *corev1.NodeSelector, preferred []corev1.PreferredSchedulingTerm) {
	if a == nil || a.NodeAffinity == nil {
		return nil, nil
	}
	return a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution, a.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution
}
