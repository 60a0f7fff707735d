// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package taint

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"
)

func TestValidate(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		taint corev1.Taint
		wrong []string
	}{
		{name: "key and effect are enough", taint: corev1.Taint{Key: "a", Effect: noEx}},
		{name: "a prefixed key and a value", taint: corev1.Taint{Key: "example.com/a", Value: "b", Effect: noEx}},
		{name: "a value of 63 characters", taint: corev1.Taint{Key: "a", Value: strings.Repeat("v", 63), Effect: noEx}},
		{name: "a value of 64 characters is too long", taint: corev1.Taint{Key: "a", Value: strings.Repeat("v", 64), Effect: noEx}, wrong: []string{"value"}},
		{name: "a name of 64 characters is too long", taint: corev1.Taint{Key: strings.Repeat("k", 64), Effect: noEx}, wrong: []string{"key"}},
		{name: "a key must not end in a dash", taint: corev1.Taint{Key: "a-", Effect: noEx}, wrong: []string{"key"}},
		{name: "a value must not begin with a dot", taint: corev1.Taint{Key: "a", Value: ".b", Effect: noEx}, wrong: []string{"value"}},
		{name: "an effect is needed", taint: corev1.Taint{Key: "a"}, wrong: []string{"effect"}},
		{name: "an unknown effect is none", taint: corev1.Taint{Key: "a", Effect: "NoRun"}, wrong: []string{"effect"}},
		{name: "all that is wrong is told at once", taint: corev1.Taint{Key: "a b", Value: "c d", Effect: "e"}, wrong: []string{"key", "value", "effect"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tt.wrong, fields(Validate(tt.taint))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestValidateToleration(t *testing.T) {
	t.Parallel()
	minute, negative := int64(60), int64(-1)
	tests := []struct {
		name  string
		in    corev1.Toleration
		wrong []string
	}{
		{name: "Exists alone tolerates everything", in: corev1.Toleration{Operator: "Exists"}},
		{name: "no operator means Equal", in: corev1.Toleration{Key: "a", Value: "b", Effect: noEx}},
		{name: "an empty effect means all", in: corev1.Toleration{Key: "a", Operator: "Equal", Value: "b"}},
		{name: "an empty key needs Exists", in: corev1.Toleration{Operator: "Equal", Value: "b"}, wrong: []string{"operator"}},
		{name: "an empty toleration has an empty key", in: corev1.Toleration{}, wrong: []string{"operator"}},
		{name: "Exists takes no value", in: corev1.Toleration{Key: "a", Operator: "Exists", Value: "b"}, wrong: []string{"value"}},
		{name: "seconds need NoExecute", in: corev1.Toleration{Key: "a", Operator: "Exists", Effect: "NoSchedule", TolerationSeconds: &minute}, wrong: []string{"effect"}},
		{name: "seconds need NoExecute, not every effect", in: corev1.Toleration{Key: "a", Operator: "Exists", TolerationSeconds: &minute}, wrong: []string{"effect"}},
		{name: "negative seconds are allowed and mean at once", in: corev1.Toleration{Key: "a", Operator: "Exists", Effect: noEx, TolerationSeconds: &negative}},
		{name: "Lt takes a whole number", in: corev1.Toleration{Key: "a", Operator: "Lt", Value: "-5"}},
		{name: "Gt takes no word", in: corev1.Toleration{Key: "a", Operator: "Gt", Value: "many"}, wrong: []string{"value"}},
		{name: "Lt takes no leading zero", in: corev1.Toleration{Key: "a", Operator: "Lt", Value: "05"}, wrong: []string{"value"}},
		{name: "Lt takes the largest number", in: corev1.Toleration{Key: "a", Operator: "Lt", Value: "9223372036854775807"}},
		{name: "Lt takes no number beyond 64 bits", in: corev1.Toleration{Key: "a", Operator: "Lt", Value: "9223372036854775808"}, wrong: []string{"value"}},
		{name: "Lt takes the smallest number", in: corev1.Toleration{Key: "a", Operator: "Lt", Value: "-9223372036854775808"}},
		{name: "Lt takes no smaller number", in: corev1.Toleration{Key: "a", Operator: "Lt", Value: "-9223372036854775809"}, wrong: []string{"value"}},
		{name: "Gt takes the smallest number", in: corev1.Toleration{Key: "a", Operator: "Gt", Value: "-9223372036854775808"}},
		{name: "Gt takes no smaller number", in: corev1.Toleration{Key: "a", Operator: "Gt", Value: "-9223372036854775809"}, wrong: []string{"value"}},
		{name: "Gt needs a number", in: corev1.Toleration{Key: "a", Operator: "Gt"}, wrong: []string{"value"}},
		{name: "an unknown operator is none", in: corev1.Toleration{Key: "a", Operator: "In"}, wrong: []string{"operator"}},
		{name: "an unknown effect is none", in: corev1.Toleration{Key: "a", Operator: "Exists", Effect: "NoRun"}, wrong: []string{"effect"}},
		{name: "a key must be a qualified name", in: corev1.Toleration{Key: "a b", Operator: "Exists"}, wrong: []string{"key"}},
		{name: "the value of Equal must be a label value", in: corev1.Toleration{Key: "a", Operator: "Equal", Value: "b c"}, wrong: []string{"value"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tt.wrong, fields(ValidateToleration(tt.in))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestDuplicates(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		in   []string
		want []string
	}{
		{name: "none in an empty list"},
		{name: "the same key with two effects is no duplicate", in: []string{"a:NoExecute", "a:NoSchedule"}},
		{name: "the same key and effect with two values is one", in: []string{"a=1:NoExecute", "a=2:NoExecute"}, want: []string{"a:NoExecute"}},
		{name: "three of a kind are told once", in: []string{"a:NoExecute", "b:NoExecute", "a:NoExecute", "a=1:NoExecute"}, want: []string{"a:NoExecute"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(ids(t, tt.want...), Duplicates(list(t, tt.in...))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestReserved(t *testing.T) {
	t.Parallel()
	tests := []struct {
		in               string
		reserved, system bool
	}{
		{in: "node.kubernetes.io/not-ready:NoExecute", reserved: true},
		{in: "node.kubernetes.io/unreachable:NoSchedule", reserved: true},
		{in: "node.kubernetes.io/unschedulable:NoSchedule", reserved: true},
		{in: "node.kubernetes.io/memory-pressure:NoSchedule", reserved: true},
		{in: "node.kubernetes.io/disk-pressure:NoSchedule", reserved: true},
		{in: "node.kubernetes.io/pid-pressure:NoSchedule", reserved: true},
		{in: "node.kubernetes.io/network-unavailable:NoSchedule", reserved: true},
		{in: "node.kubernetes.io/out-of-service=nodeshutdown:NoExecute", reserved: true},
		{in: "node.cloudprovider.kubernetes.io/uninitialized:NoSchedule", reserved: true},
		{in: "node.cloudprovider.kubernetes.io/shutdown:NoSchedule", reserved: true},
		{in: "ToBeDeletedByClusterAutoscaler:NoSchedule", reserved: true},
		{in: "DeletionCandidateOfClusterAutoscaler:PreferNoSchedule", reserved: true},
		{in: "UpdateInProgress:PreferNoSchedule", reserved: true},
		{in: "node.cluster.x-k8s.io/uninitialized:NoSchedule", reserved: true},
		{in: "node.cluster.x-k8s.io/outdated-revision:PreferNoSchedule", reserved: true},
		{in: "os=Windows:NoSchedule", reserved: true},
		{in: "os:NoSchedule", reserved: true},
		{in: "os=Windows:NoExecute"},
		{in: "os=linux:NoSchedule"},
		{in: "node-role.kubernetes.io/control-plane:NoSchedule"},
		{in: "node-role.kubernetes.io/master:NoSchedule"},
		{in: "node.kubernetes.io/exclude-disruption:NoSchedule", system: true},
		{in: "dedicated=gpu:NoExecute"},
	}
	for _, tt := range tests {
		t.Run(tt.in, func(t *testing.T) {
			t.Parallel()
			x := must(t, tt.in)
			why, reserved := Reserved(IDOf(x), x.Value)
			if reserved != tt.reserved || reserved == (why == "") {
				t.Errorf("reserved %t (%q), want %t", reserved, why, tt.reserved)
			}
			if system := SystemKey(IDOf(x)); system != tt.system {
				t.Errorf("system key %t, want %t", system, tt.system)
			}
		})
	}
}

func TestFirstMatch(t *testing.T) {
	t.Parallel()
	gpu := must(t, "dedicated=gpu:NoExecute")
	minute := int64(60)
	short := corev1.Toleration{Key: "dedicated", Operator: "Equal", Value: "gpu", Effect: noEx, TolerationSeconds: &minute}
	forever := corev1.Toleration{Key: "dedicated", Operator: "Exists"}
	other := corev1.Toleration{Key: "other", Operator: "Exists"}
	tests := []struct {
		name string
		in   []corev1.Toleration
		want int
	}{
		{name: "no toleration matches", in: []corev1.Toleration{other}, want: -1},
		{name: "no toleration is there", want: -1},
		{name: "the first in the list decides, not the most generous", in: []corev1.Toleration{other, short, forever}, want: 1},
		{name: "the same the other way round", in: []corev1.Toleration{forever, short}, want: 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := FirstMatch(tt.in, gpu, false); got != tt.want {
				t.Errorf("got %d, want %d", got, tt.want)
			}
		})
	}
}

func TestTolerates_ltAndGtNeedTheFeatureGate(t *testing.T) {
	t.Parallel()
	five := must(t, "cost=5:NoExecute")
	lt := corev1.Toleration{Key: "cost", Operator: "Lt", Value: "6"}
	if Tolerates(lt, five, false) || !Tolerates(lt, five, true) || !Compares(lt) || Compares(TolerationFor(five)) {
		t.Error("Lt must match with the gate and not without")
	}
}

func TestUntolerated_keepsTheOrderAndPreferNoSchedule(t *testing.T) {
	t.Parallel()
	taints := list(t, "c:PreferNoSchedule", "b:NoExecute", "a:NoSchedule")
	got := Untolerated(taints, []corev1.Toleration{{Key: "b", Operator: "Exists"}}, false)
	if diff := cmp.Diff(list(t, "c:PreferNoSchedule", "a:NoSchedule"), got); diff != "" {
		t.Error(diff)
	}
}

func TestTolerationFor_isValidAndNarrow(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		x, y := aTaint().Draw(t, "x"), aTaint().Draw(t, "y")
		toleration := TolerationFor(x)
		if problems := ValidateToleration(toleration); len(problems) > 0 {
			t.Fatalf("%+v is not valid: %v", toleration, problems)
		}
		same := Format(x) == Format(y)
		if Tolerates(toleration, y, false) != same {
			t.Fatalf("the toleration for %s tolerates %s: %t", Format(x), Format(y), !same)
		}
	})
}

func TestJoining(t *testing.T) {
	t.Parallel()
	for notation, want := range map[string]bool{
		"node.kubernetes.io/not-ready:NoSchedule":                   true,
		"node.cloudprovider.kubernetes.io/uninitialized:NoSchedule": true,
		"node.kubernetes.io/unschedulable:NoSchedule":               false,
		"team=a:NoSchedule": false,
	} {
		one, err := Parse(notation)
		if err != nil {
			t.Fatal(err)
		}
		if got := Joining(one); got != want {
			t.Errorf("%s: %t, want %t", notation, got, want)
		}
	}
}
