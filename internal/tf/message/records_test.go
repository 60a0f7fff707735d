// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package message

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/label"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/machineset"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/rollout"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/toleration"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/workload"
)

func TestExplainRecord(t *testing.T) {
	t.Parallel()
	_, tolerations := toleration.ParseRecord("{")
	_, taints := taint.ParseRecord("{")
	_, labels := label.ParseRecord("{")
	_, marker := machineset.ParseMarker("{")
	_, countless := machineset.ParseMarker("{}")
	const set = `MachineSet "openshift-machine-api/gpu"`
	for name, tt := range map[string]struct {
		err     error
		thing   string
		summary string
		says    []string
		// apiVersion is that of the thing.
		apiVersion string
	}{
		"a workload": {tolerations, `Deployment "shop/web"`, `Unable to read who owns the tolerations of Deployment "shop/web": the annotation kubetaint.io/owned-tolerations is damaged`,
			[]string{"Nothing is written to them", "kubectl annotate deployment web -n shop kubetaint.io/owned-tolerations-", "Original error: the annotation kubetaint.io/owned-tolerations cannot be read: "}, ""},
		"a workload of another group": {tolerations, `DaemonSet.apps.kruise.io "shop/web"`, `Unable to read who owns the tolerations of DaemonSet.apps.kruise.io "shop/web": the annotation kubetaint.io/owned-tolerations is damaged`,
			[]string{"kubectl annotate daemonset.apps.kruise.io web -n shop kubetaint.io/owned-tolerations-"}, "apps.kruise.io/v1beta1"},
		"a Machine of another group": {tolerations, `Machine "shop/web"`, `Unable to read who owns the tolerations of Machine "shop/web": the annotation kubetaint.io/owned-tolerations is damaged`,
			[]string{"kubectl annotate machine.cluster.x-k8s.io web -n shop kubetaint.io/owned-tolerations-"}, "cluster.x-k8s.io/v1beta2"},
		"one of several workloads, of another group": {&rollout.WorkloadError{Ref: workload.Ref{APIVersion: "apps.kruise.io/v1beta1", Kind: "DaemonSet", Namespace: "shop", Name: "web"}, Err: tolerations}, "it", `Unable to read who owns the tolerations of DaemonSet.apps.kruise.io "shop/web": the annotation kubetaint.io/owned-tolerations is damaged`,
			[]string{"kubectl annotate daemonset.apps.kruise.io web -n shop "}, ""},
		"one of several workloads": {&rollout.WorkloadError{Ref: workload.Ref{Kind: "Deployment", Namespace: "shop", Name: "web"}, Err: tolerations}, "it", `Unable to read who owns the tolerations of Deployment "shop/web": the annotation kubetaint.io/owned-tolerations is damaged`, nil, ""},
		"its node selector":        {labels, `Deployment "shop/web"`, `Unable to read who owns the node selector entries of Deployment "shop/web": the annotation kubetaint.io/owned-labels is damaged`, nil, ""},
		"a namespace":              {errors.Join(tolerations, errors.New("more")), `namespace "shop"`, `Unable to read who owns the tolerations of namespace "shop": the annotation kubetaint.io/owned-tolerations is damaged`, []string{"kubectl annotate namespace shop kubetaint.io/owned-tolerations-"}, ""},
		"several objects":          {fmt.Errorf("read it: %w", tolerations), `Deployments matching "a=b"`, `Unable to read who owns the tolerations of Deployments matching "a=b": the annotation kubetaint.io/owned-tolerations is damaged`, []string{"kubectl annotate KIND NAME -n NAMESPACE kubetaint.io/owned-tolerations-"}, ""},
		"a MachineSet":             {taints, set, "Unable to read who owns the taints of " + set + ": the annotation kubetaint.io/owned-taints is damaged", []string{"kubectl annotate machineset.machine.openshift.io gpu -n openshift-machine-api kubetaint.io/owned-taints-"}, ""},
		"a node of a MachineSet": {&rollout.StoppedError{Why: labels.Error(), Thing: `node "a"`, Err: labels}, set, `Unable to read who owns the labels of node "a": the annotation kubetaint.io/owned-labels is damaged`,
			[]string{"kubectl annotate node a kubetaint.io/owned-labels-"}, ""},
		"a rollout": {&rollout.RestoredError{Replicas: 3, Err: &rollout.StoppedError{Why: marker.Error(), Thing: set, Err: marker}}, "it", "Unable to read how far the rollout of " + set + " is: the annotation kubetaint.io/rollout is damaged",
			[]string{"kubectl get machineset.machine.openshift.io gpu -n openshift-machine-api -o yaml), and choose one:\n\n  - To continue the rollout: repair the annotation, and run again.\n", "kubectl scale machineset.machine.openshift.io gpu -n openshift-machine-api --replicas=NUMBER", "kubetaint.io/rollout-", "spec.replicas has been restored to 3."}, ""},
		"a rollout without its count": {&rollout.StoppedError{Why: countless.Error(), Thing: set, Err: countless}, "it", "Unable to read how far the rollout of " + set + " is: the annotation kubetaint.io/rollout is damaged",
			[]string{"originalReplicas, the number of replicas from before the rollout, is missing from it", "(kubectl edit machineset.machine.openshift.io gpu -n openshift-machine-api)", "set spec.replicas to that number (kubectl scale machineset.machine.openshift.io gpu -n openshift-machine-api --replicas=NUMBER)"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			said := ExplainRecord(tt.err, tt.thing, tt.apiVersion, path.Root("name"))
			if said == nil || said.Summary() != tt.summary {
				t.Fatalf("it says %v, want %q", said, tt.summary)
			}
			if at, ok := said.(diag.DiagnosticWithPath); !ok || !at.Path().Equal(path.Root("name")) {
				t.Errorf("it names no attribute: %v", said)
			}
			for _, want := range tt.says {
				if !strings.Contains(said.Detail(), want) {
					t.Errorf("it does not say %q:\n%s", want, said.Detail())
				}
			}
			if _, ok := ExplainRecord(tt.err, tt.thing, tt.apiVersion, path.Empty()).(diag.DiagnosticWithPath); ok {
				t.Error("it names an attribute where there is none")
			}
		})
	}
	for _, err := range []error{nil, errors.New("the annotation x cannot be read: y"), &rollout.StoppedError{Why: "Another writer scaled it."}} {
		if said := ExplainRecord(err, set, "", path.Empty()); said != nil {
			t.Errorf("of %v it says %v", err, said)
		}
	}
}
