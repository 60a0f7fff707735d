// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package kube

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/machineset"
)

// TestSlimSet_namesOtherManagers is what plans refuse and warn by, as it is in the
// objects.
func TestSlimSet_namesOtherManagers(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		manifest string
		want     machineset.Set
	}{
		"the role of control-plane machines is in the template's labels": {
			"spec: {template: {metadata: {labels: {machine.openshift.io/cluster-api-machine-role: master}}}}", machineset.Set{Role: "master"}},
		"Hive labels what its MachinePools make": {
			"metadata: {labels: {hive.openshift.io/machine-pool: worker}}", machineset.Set{Labels: map[string]string{"hive.openshift.io/machine-pool": "worker"}, Hive: true}},
		"the Cluster API is authoritative":   {"status: {authoritativeAPI: ClusterAPI}", machineset.Set{Authority: "ClusterAPI"}},
		"it is migrating":                    {"status: {authoritativeAPI: Migrating}", machineset.Set{Authority: "Migrating"}},
		"the Machine API is authoritative":   {"status: {authoritativeAPI: MachineAPI}", machineset.Set{}},
		"a MachineAutoscaler annotates it":   {"metadata: {annotations: {autoscaling.openshift.io/machineautoscaler: ns/a, machine.openshift.io/cluster-api-autoscaler-node-group-min-size: '1', machine.openshift.io/cluster-api-autoscaler-node-group-max-size: '5'}}", machineset.Set{Autoscaler: &machineset.Bounds{Owner: "ns/a", Min: 1, Max: 5}}},
		"taints for scaling from zero":       {"metadata: {annotations: {capacity.cluster-autoscaler.kubernetes.io/taints: 'a=b:NoSchedule'}}", machineset.Set{CapacityTaints: "a=b:NoSchedule"}},
		"labels that nodelink puts on nodes": {"spec: {template: {spec: {metadata: {labels: {team: a}}}}}", machineset.Set{NodeLabels: map[string]string{"team": "a"}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			object := &unstructured.Unstructured{}
			if err := yaml.Unmarshal([]byte(tt.manifest), &object.Object); err != nil {
				t.Fatal(err)
			}
			tt.want.Replicas, tt.want.Observed = 1, true
			for key, value := range object.GetAnnotations() {
				tt.want.OtherAnnotations += len(key) + len(value)
			}
			if diff := cmp.Diff(&tt.want, slimSet(object)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestSlimSet_whenItWasWrittenAndSeen: writes of the status do not count.
func TestSlimSet_whenItWasWrittenAndSeen(t *testing.T) {
	t.Parallel()
	at := func(clock string) time.Time {
		out, err := time.Parse(time.RFC3339, "2026-11-26T"+clock+"Z")
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	for name, tt := range map[string]struct {
		manifest             string
		written              time.Time
		observed, reconciled bool
	}{
		"made, and nothing else": {"metadata: {generation: 1, creationTimestamp: '2026-11-26T01:00:00Z'}", at("01:00:00"), false, false},
		"seen as it is":          {"{metadata: {generation: 1, creationTimestamp: '2026-11-26T01:00:00Z'}, status: {observedGeneration: 1}}", at("01:00:00"), true, true},
		"written since it was seen": {
			"{metadata: {generation: 2, creationTimestamp: '2026-11-26T01:00:00Z', managedFields: [{manager: kubectl, operation: Update, time: '2026-11-26T02:00:00Z'}, {manager: a, operation: Apply, time: '2026-11-26T01:30:00Z'}, {manager: machineset, operation: Update, subresource: status, time: '2026-11-26T03:00:00Z'}]}, status: {observedGeneration: 1}}",
			at("02:00:00"), false, true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			object := &unstructured.Unstructured{}
			if err := yaml.Unmarshal([]byte(tt.manifest), &object.Object); err != nil {
				t.Fatal(err)
			}
			if got := slimSet(object); !got.Written.Equal(tt.written) || got.Observed != tt.observed || got.Reconciled != tt.reconciled {
				t.Errorf("written at %s, observed %t, reconciled %t; want %s, %t, %t", got.Written, got.Observed, got.Reconciled, tt.written, tt.observed, tt.reconciled)
			}
		})
	}
}

// TestSlimMachine_whatHoldsIt up, or lets it go without a drain.
func TestSlimMachine_whatHoldsIt(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		manifest string
		want     machineset.Machine
	}{
		"a hook before the drain": {
			"{spec: {lifecycleHooks: {preDrain: [{name: Migrate, owner: storage}]}}, status: {nodeRef: {name: node-a}}}", machineset.Machine{Node: "node-a", Hooks: []string{"Migrate of storage"}},
		},
		"one where no node is drained": {"spec: {lifecycleHooks: {preDrain: [{name: Migrate, owner: storage}]}}", machineset.Machine{}},
		"one where the node is not drained": {
			"{metadata: {annotations: {machine.openshift.io/exclude-node-draining: ''}}, spec: {lifecycleHooks: {preDrain: [{name: Migrate, owner: storage}]}}, status: {nodeRef: {name: node-a}}}", machineset.Machine{Node: "node-a", NoDrain: true},
		},
		"a hook before the end":                         {"spec: {lifecycleHooks: {preTerminate: [{name: Backup, owner: etcd}]}}", machineset.Machine{Hooks: []string{"Backup of etcd"}}},
		"an empty exclusion from drains counts as well": {"metadata: {annotations: {machine.openshift.io/exclude-node-draining: ''}}", machineset.Machine{NoDrain: true}},
		"an empty mark to go first does not count":      {"metadata: {annotations: {machine.openshift.io/delete-machine: ''}}", machineset.Machine{}},
		"any other mark to go first does":               {"metadata: {annotations: {machine.openshift.io/delete-machine: 'false'}}", machineset.Machine{MarkedForDeletion: true}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			object := &unstructured.Unstructured{}
			if err := yaml.Unmarshal([]byte(tt.manifest), &object.Object); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(&tt.want, slimMachine(object)); diff != "" {
				t.Error(diff)
			}
		})
	}
}
