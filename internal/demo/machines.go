// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"text/tabwriter"
	"time"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
)

const (
	machineNamespace = "openshift-machine-api"
	ofMachineSet     = "machine.openshift.io/cluster-api-machineset"
)

// machines is the Machine API of a cluster.
type machines struct {
	dynamic.Interface
}

func connectMachines() (*machines, error) {
	cfg, err := clientcmd.BuildConfigFromFlags("", os.Getenv("KUBE_CONFIG_PATH"))
	if err != nil {
		return nil, fmt.Errorf("KUBE_CONFIG_PATH names no reachable cluster (run \"make demo-openshift\"): %w", err)
	}
	client, err := dynamic.NewForConfig(cfg)
	return &machines{client}, err
}

func (m *machines) of(plural string) dynamic.ResourceInterface {
	return m.Resource(machinev1beta1.GroupVersion.WithResource(plural)).Namespace(machineNamespace)
}

// makeSet makes a MachineSet in the cloud that the test bed invents: a machine takes
// seconds to come and to go.
func (m *machines) makeSet(ctx context.Context, name string, replicas int64) error {
	labels := map[string]any{ofMachineSet: name}
	set := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": machinev1beta1.GroupVersion.String(), "kind": "MachineSet",
		"metadata": map[string]any{"name": name},
		"spec": map[string]any{
			"replicas": replicas,
			"selector": map[string]any{"matchLabels": labels},
			"template": map[string]any{
				"metadata": map[string]any{"labels": map[string]any{ofMachineSet: name, machinev1beta1.MachineClusterIDLabel: "demo"}},
				"spec": map[string]any{"providerSpec": map[string]any{"value": map[string]any{
					"apiVersion": "cloud.kubetaint.io/v1", "kind": "InventedMachineSpec",
					"provisionDelay": "1s", "bootDelay": "1s", "deleteDelay": "1s",
					"node": map[string]any{"labels": map[string]any{"pool": name, "node-role.kubernetes.io/" + name: ""}},
				}}},
			},
		},
	}}
	_, err := m.of("machinesets").Create(ctx, set, metav1.CreateOptions{})
	return err
}

// list returns the machines of a set, by name.
func (m *machines) list(ctx context.Context, set string) (map[string]*machinev1beta1.Machine, error) {
	list, err := m.of("machines").List(ctx, metav1.ListOptions{LabelSelector: ofMachineSet + "=" + set})
	if err != nil {
		return nil, err
	}
	out := map[string]*machinev1beta1.Machine{}
	for _, object := range list.Items {
		one := &machinev1beta1.Machine{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, one); err != nil {
			return nil, err
		}
		out[one.Name] = one
	}
	return out, nil
}

// replicas returns spec.replicas of a set.
func (m *machines) replicas(ctx context.Context, set string) (int64, error) {
	object, err := m.of("machinesets").Get(ctx, set, metav1.GetOptions{})
	if err != nil {
		return 0, err
	}
	n, _, err := unstructured.NestedInt64(object.Object, "spec", "replicas")
	return n, err
}

// serve waits until as many nodes of a pool are ready as there should be.
func (s *sample) serve(ctx context.Context, pool string, count int) error {
	return wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, 2*time.Minute, true, func(ctx context.Context) (bool, error) {
		serving, err := s.serving(ctx, pool)
		return serving == count, err
	})
}

// serving counts the nodes of a pool that take pods.
func (s *sample) serving(ctx context.Context, pool string) (int, error) {
	nodes, err := s.CoreV1().Nodes().List(ctx, metav1.ListOptions{LabelSelector: "pool=" + pool})
	if err != nil {
		return 0, err
	}
	return len(slices.DeleteFunc(nodes.Items, func(n corev1.Node) bool {
		ready := slices.ContainsFunc(n.Status.Conditions, func(c corev1.NodeCondition) bool {
			return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
		})
		return !ready || n.Spec.Unschedulable || slices.ContainsFunc(n.Spec.Taints, taint.Joining)
	})), nil
}

// fleet is what has been seen of the machines of a set.
type fleet struct {
	before, all map[string]bool
	// least is how few nodes took pods at some moment.
	least int
}

// watchFleet looks at the machines of a set time and again. The function that it
// returns stops it; more reports that there are more machines than at first.
func watchFleet(ctx context.Context, cluster *sample, api *machines, set string, more func()) (func() (*fleet, error), error) {
	first, err := api.list(ctx, set)
	if err != nil {
		return nil, err
	}
	f := &fleet{before: map[string]bool{}, all: map[string]bool{}, least: len(first)}
	for name := range first {
		f.before[name], f.all[name] = true, true
	}
	watching, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() {
		ended <- wait.PollUntilContextCancel(watching, 50*time.Millisecond, true, func(ctx context.Context) (bool, error) {
			serving, err := cluster.serving(ctx, set)
			if err != nil {
				return false, err
			}
			now, err := api.list(ctx, set)
			if err != nil {
				return false, err
			}
			f.least = min(f.least, serving)
			for name := range now {
				f.all[name] = true
			}
			if serving > len(f.before) {
				more()
			}
			return false, nil
		})
	}()
	return func() (*fleet, error) {
		interrupted := watching.Err() != nil
		stop()
		if err := <-ended; err != nil && (interrupted || !wait.Interrupted(err)) {
			return nil, err
		}
		return f, nil
	}, nil
}

// report writes which machines went and came, with the taints of those that are there.
func (f *fleet) report(ctx context.Context, out io.Writer, api *machines, set string) error {
	now, err := api.list(ctx, set)
	if err != nil {
		return err
	}
	replicas, err := api.replicas(ctx, set)
	if err != nil {
		return err
	}
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(table, "MACHINE\tBEFORE\tNOW\tTAINTS\t")
	made := 0
	for _, name := range slices.Sorted(maps.Keys(f.all)) {
		before, is, taints := "-", "gone", ""
		if f.before[name] {
			before = "there"
		} else {
			made++
		}
		if m := now[name]; m != nil {
			is, taints = "there", taint.FormatAll(m.Spec.Taints)
		}
		_, _ = fmt.Fprintf(table, "%s\t%s\t%s\t%s\t\n", name, before, is, taints)
	}
	_ = table.Flush()
	_, _ = fmt.Fprintf(out, "\nspec.replicas is %d. Of %d machines, %d were replaced, and at least %d were in service at any time.\n", replicas, len(f.before), made, f.least)
	if int(replicas) != len(f.before) || made != len(f.before) || f.least < len(f.before) {
		return fmt.Errorf("%d machines were to be replaced, each once, with none missing meanwhile", len(f.before))
	}
	return nil
}
