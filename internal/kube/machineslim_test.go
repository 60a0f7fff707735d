// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package kube

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/machineset"
)

// TestSlimSet_whoElseManagesIt is what plans refuse and warn by, as it stands in the
// objects.
func TestSlimSet_whoElseManagesIt(t *testing.T) {
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
			if diff := cmp.Diff(&tt.want, slimSet(object)); diff != "" {
				t.Error(diff)
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
		"a hook before the drain":                       {"spec: {lifecycleHooks: {preDrain: [{name: Migrate, owner: storage}]}}", machineset.Machine{Hooks: []string{"Migrate of storage"}}},
		"a hook before the end":                         {"spec: {lifecycleHooks: {preTerminate: [{name: Backup, owner: etcd}]}}", machineset.Machine{Hooks: []string{"Backup of etcd"}}},
		"an empty exclusion from drains counts as well": {"metadata: {annotations: {machine.openshift.io/exclude-node-draining: ''}}", machineset.Machine{NoDrain: true}},
		"an empty mark to go first does not count":      {"metadata: {annotations: {machine.openshift.io/delete-machine: ''}}", machineset.Machine{}},
		"any other mark to go first does":               {"metadata: {annotations: {machine.openshift.io/delete-machine: 'false'}}", machineset.Machine{Chosen: true}},
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
