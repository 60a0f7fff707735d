// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package kube

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protowire"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	kprotobuf "k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/randfill"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/bigcluster"
)

// randomPod has a value in about nine of ten fields that the API has.
func randomPod(seed uint64) *corev1.Pod {
	random := rand.New(rand.NewPCG(seed, 1))
	fill := randfill.NewWithSeed(int64(random.Uint32())).NilChance(.1).NumElements(1, 3).MaxDepth(12).Funcs(
		func(q *resource.Quantity, _ randfill.Continue) {
			*q = *resource.NewMilliQuantity(int64(random.IntN(1_000_000)), resource.DecimalSI)
		},
		func(at *metav1.Time, _ randfill.Continue) { *at = metav1.Unix(int64(random.IntN(2_000_000_000)), 0) },
		func(v *intstr.IntOrString, _ randfill.Continue) { *v = intstr.FromInt32(int32(random.IntN(9))) },
		func(r *metav1.FieldsV1, _ randfill.Continue) { r.SetRawString(`{"f:x":{}}`) },
		func(s *metav1.LabelSelector, c randfill.Continue) {
			s.MatchLabels = map[string]string{"app": c.String(3)}
		},
		func(p *corev1.PodPhase, _ randfill.Continue) {
			*p = []corev1.PodPhase{corev1.PodPending, corev1.PodRunning, corev1.PodFailed}[random.IntN(3)]
		},
		func(p *corev1.PodConditionType, _ randfill.Continue) {
			*p = []corev1.PodConditionType{corev1.PodReady, corev1.PodResizePending, "Other"}[random.IntN(3)]
		},
		func(c *corev1.PodCondition, fill randfill.Continue) {
			fill.FillNoCustom(c)
			c.Reason = []string{corev1.PodReasonInfeasible, corev1.PodReasonDeferred, "Other"}[random.IntN(3)]
		},
		func(s *corev1.ConditionStatus, _ randfill.Continue) {
			*s = []corev1.ConditionStatus{corev1.ConditionTrue, corev1.ConditionFalse}[random.IntN(2)]
		},
		func(p *corev1.ContainerRestartPolicy, _ randfill.Continue) { *p = corev1.ContainerRestartPolicyAlways },
		func(p *corev1.PreemptionPolicy, _ randfill.Continue) {
			*p = []corev1.PreemptionPolicy{corev1.PreemptNever, corev1.PreemptLowerPriority}[random.IntN(2)]
		},
		func(name *corev1.ResourceName, _ randfill.Continue) {
			*name = []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory, "example.com/gpu"}[random.IntN(3)]
		},
		func(a *corev1.UnsatisfiableConstraintAction, _ randfill.Continue) { *a = corev1.DoNotSchedule },
	)
	p := &corev1.Pod{}
	fill.Fill(p)
	p.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}
	for i := range p.OwnerReferences {
		p.OwnerReferences[i].Controller = new(i == 0)
	}
	if random.IntN(4) == 0 {
		p.Status.StartTime = nil
	}
	if random.IntN(4) == 0 {
		p.ManagedFields = append(p.ManagedFields, metav1.ManagedFieldsEntry{FieldsV1: metav1.NewFieldsV1(`{"f:spec":{"f:nodeName":{}}}`)})
		p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "web", Controller: new(true)}}
	}
	if random.IntN(2) == 0 {
		p.Annotations = map[string]string{"other": "x", corev1.MirrorPodAnnotationKey: "y"}
		if len(p.Spec.Containers) > 0 {
			p.Annotations[snapshot.LimitRangerAnnotation] = "LimitRanger plugin set: cpu request for container " + p.Spec.Containers[0].Name
		}
	}
	for i := range p.Status.ContainerStatuses {
		// Of a container that there is, so that its resources count.
		if i < len(p.Spec.Containers) {
			p.Status.ContainerStatuses[i].Name = p.Spec.Containers[i].Name
		}
	}
	return p
}

func encoded(tb testing.TB, o runtime.Object) []byte {
	tb.Helper()
	var b bytes.Buffer
	if err := kprotobuf.NewSerializer(scheme.Scheme, scheme.Scheme).Encode(o, &b); err != nil {
		tb.Fatal(err)
	}
	return b.Bytes()
}

// slimmed is what the snapshot keeps of encoded pods that are decoded whole; false where they cannot be.
func slimmed(data []byte) (pods []*snapshot.Pod, versions []string, ok bool) {
	object, _, err := kprotobuf.NewSerializer(scheme.Scheme, scheme.Scheme).Decode(data, nil, nil)
	if err != nil {
		return nil, nil, false
	}
	s := newSlimmer()
	switch o := object.(type) {
	case *corev1.Pod:
		return []*snapshot.Pod{s.pod(o)}, []string{o.ResourceVersion}, true
	case *corev1.PodList:
		versions = []string{o.ResourceVersion, o.Continue}
		for i := range o.Items {
			pods = append(pods, s.pod(&o.Items[i]))
		}
		return pods, versions, true
	}
	return nil, nil, false
}

// read is the same as the reader of pods does it.
func read(data []byte) (pods []*snapshot.Pod, versions []string, ok bool) {
	decoder := podDecoder{kprotobuf.NewSerializer(scheme.Scheme, scheme.Scheme)}
	if _, envelope, cut := bytes.Cut(data, protobufPrefix); cut {
		if kind, err := kindOf(envelope); err == nil && kind == "PodList" {
			page := &podPage{slim: newSlimmer()}
			if err := page.read(bytes.NewReader(data)); err != nil {
				return nil, nil, false
			}
			for _, one := range page.Items {
				pods = append(pods, one.Pod)
			}
			return pods, []string{page.ResourceVersion, page.Continue}, true
		}
	}
	object, _, err := decoder.Decode(slices.Clone(data), nil, nil)
	pod, is := object.(*corev1.Pod)
	if err != nil || !is {
		return nil, nil, false
	}
	return []*snapshot.Pod{newSlimmer().pod(pod)}, []string{pod.ResourceVersion}, true
}

// same reports how what is kept differs, "" where it does not.
func same(data []byte) string {
	pods, versions, ok := slimmed(data)
	if !ok {
		return ""
	}
	got, gotVersions, ok := read(data)
	if !ok {
		return "it cannot be decoded any more"
	}
	selectors := cmp.Comparer(func(a, b labels.Selector) bool {
		return a == nil && b == nil || a != nil && b != nil && a.String() == b.String()
	})
	return cmp.Diff(versions, gotVersions) + cmp.Diff(pods, got, selectors, cmp.Comparer(func(a, b resource.Quantity) bool { return a.Cmp(b) == 0 }), cmp.AllowUnexported(snapshot.Resources{}))
}

// future adds fields that no API has yet to a pod, to its metadata, spec and status.
func future(pod []byte) []byte {
	unknown := protowire.AppendString(protowire.AppendTag(nil, 900, protowire.BytesType), "later")
	unknown = protowire.AppendVarint(protowire.AppendTag(unknown, 901, protowire.VarintType), 1<<40)
	content := slices.Concat(unknown)
	for _, part := range []protowire.Number{1, 2, 3} {
		content = protowire.AppendBytes(protowire.AppendTag(content, part, protowire.BytesType), unknown)
	}
	// The content of the envelope is repeated with these: the last one counts as a whole, so that the pod comes first.
	_, envelope, _ := bytes.Cut(pod, protobufPrefix)
	var out []byte
	for rest := envelope; len(rest) > 0; {
		number, inner, after, err := next(rest)
		if err != nil {
			panic(err)
		}
		if number == 2 {
			out = protowire.AppendBytes(protowire.AppendTag(out, 2, protowire.BytesType), slices.Concat(inner, content))
		} else {
			out = append(out, rest[:len(rest)-len(after)]...)
		}
		rest = after
	}
	return slices.Concat(protobufPrefix, out)
}

// TestPodFields: what the snapshot keeps of a pod is the same whether or not the other fields are
// dropped before it is decoded, for pods with every field that the API has, and with later ones.
func TestPodFields(t *testing.T) {
	t.Parallel()
	list := &corev1.PodList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PodList"}, ListMeta: metav1.ListMeta{ResourceVersion: "7", Continue: "next"}}
	for seed := range uint64(300) {
		pod := randomPod(seed)
		if seed < 20 {
			list.Items = append(list.Items, *pod)
		}
		data := encoded(t, pod)
		if diff := same(data); diff != "" {
			t.Fatalf("seed %d:\n%s", seed, diff)
		}
		if diff := same(future(data)); diff != "" {
			t.Fatalf("seed %d, with later fields:\n%s", seed, diff)
		}
		if pods, _, ok := read(future(data)); !ok || pods[0].Name != pod.Name {
			t.Fatalf("seed %d: with later fields it is %v", seed, pods)
		}
	}
	if diff := same(encoded(t, list)); diff != "" {
		t.Error(diff)
	}
	if pods, _, ok := read(encoded(t, list)); !ok || len(pods) != len(list.Items) {
		t.Errorf("of %d pods %d are read", len(list.Items), len(pods))
	}
	// A pod in two parts.
	content, err := randomPod(1).Marshal()
	if err != nil {
		t.Fatal(err)
	}
	page, twice := &podPage{slim: newSlimmer()}, protowire.AppendBytes(protowire.AppendTag(slices.Clone(content), 2, protowire.BytesType), protowire.AppendString(protowire.AppendTag(nil, nodeNameField, protowire.BytesType), "later"))
	var want corev1.Pod
	if err := want.Unmarshal(twice); err != nil {
		t.Fatal(err)
	}
	if err := page.add(slices.Clone(twice)); err != nil || page.Items[0].Node != "later" || len(page.Items[0].Scheduling.Tolerations) != len(want.Spec.Tolerations) {
		t.Errorf("a pod in two parts is read as %v, %v", page.Items, err)
	}
	node := encoded(t, &corev1.Node{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Node"}, ObjectMeta: metav1.ObjectMeta{Name: "a"}, Status: corev1.NodeStatus{Phase: "x"}})
	if left, err := withoutUnneeded(slices.Clone(node)); err != nil || !bytes.Equal(left, node) {
		t.Errorf("another kind is changed: %v", err)
	}
	if left, err := withoutUnneeded([]byte(`{"kind":"Pod"}`)); err != nil || !strings.Contains(string(left), "Pod") {
		t.Errorf("JSON is changed: %s, %v", left, err)
	}
}

// TestPodFields_dropMost: what is left of a usual pod is less than half.
func TestPodFields_dropMost(t *testing.T) {
	t.Parallel()
	pod := bigcluster.Pod(1, 1)
	pod.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}
	data := encoded(t, pod)
	left, err := withoutUnneeded(slices.Clone(data))
	if err != nil || 2*len(left) > len(data) {
		t.Errorf("%d of %d bytes are left: %v", len(left), len(data), err)
	}
}

// TestPodFields_damaged: what is cut off at any place is an error, as it is without.
func TestPodFields_damaged(t *testing.T) {
	t.Parallel()
	data := encoded(t, randomPod(1))
	for at := len(protobufPrefix) + 1; at < len(data); at++ {
		if _, _, ok := read(data[:at]); ok {
			if _, _, was := slimmed(data[:at]); !was {
				t.Fatalf("the first %d of %d bytes are a pod", at, len(data))
			}
		}
	}
}

func FuzzPodFields(f *testing.F) {
	for seed := range uint64(8) {
		f.Add(encoded(f, randomPod(seed)))
		f.Add(future(encoded(f, randomPod(seed))))
	}
	f.Add(encoded(f, &corev1.PodList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PodList"}, Items: []corev1.Pod{*randomPod(1), *randomPod(2)}}))
	f.Fuzz(func(t *testing.T, data []byte) {
		if diff := same(data); diff != "" {
			t.Error(diff)
		}
	})
}

// BenchmarkPodFields decodes and slims pods of 150 workloads with and without the fields that are not
// needed: ratio is the second over the first. It fails above 0.4.
func BenchmarkPodFields(b *testing.B) {
	list := &corev1.PodList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PodList"}}
	for i := range 2000 {
		list.Items = append(list.Items, *bigcluster.Pod(i%150, 1000))
	}
	data := encoded(b, list)
	var spent [2]time.Duration
	for b.Loop() {
		for i, through := range []func([]byte) ([]*snapshot.Pod, []string, bool){slimmed, read} {
			begin := time.Now()
			if pods, _, ok := through(data); !ok || len(pods) != 2000 {
				b.Fatal("it cannot be decoded")
			}
			spent[i] += time.Since(begin)
		}
	}
	b.ReportMetric(float64(len(data))/2000, "bytes/pod")
	b.ReportMetric(float64(spent[0].Microseconds())/float64(b.N)/2000, "µs/pod-whole")
	b.ReportMetric(float64(spent[1].Microseconds())/float64(b.N)/2000, "µs/pod")
	ratio := spent[1].Seconds() / spent[0].Seconds()
	if b.ReportMetric(ratio, "ratio"); ratio > 0.4 {
		b.Errorf("it takes %.2f of the time", ratio)
	}
}
