// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package kube

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/label"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/toleration"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/workload"
)

func TestMarkedOf_takesAnObjectsOwnRecordsAndNotThoseThatAControllerCopied(t *testing.T) {
	t.Parallel()
	tolerations := `[{"key":"team","operator":"Equal","value":"a","effect":"NoExecute","owner":"me","generation":"g1"}]`
	pins := `[{"key":"dedicated","owner":"me","generation":"g1"}]`
	controlledBy := func(kind string) []metav1.OwnerReference {
		yes := true
		return []metav1.OwnerReference{{Kind: kind, Name: "web", Controller: &yes}}
	}
	for name, tt := range map[string]struct {
		kind         string
		annotations  map[string]string
		owners       []metav1.OwnerReference
		records, pin int
	}{
		"an object without records is not marked": {kind: "Deployment"},
		"tolerations":              {kind: "Deployment", annotations: map[string]string{toleration.OwnedAnnotation: tolerations}, records: 1},
		"a node selector alone":    {kind: "Deployment", annotations: map[string]string{label.OwnedAnnotation: pins}, pin: 1},
		"a ReplicaSet of nobody's": {kind: "ReplicaSet", annotations: map[string]string{toleration.OwnedAnnotation: tolerations}, records: 1},
		"a Deployment's ReplicaSet has what its Deployment has":     {kind: "ReplicaSet", annotations: map[string]string{toleration.OwnedAnnotation: tolerations, label.OwnedAnnotation: pins}, owners: controlledBy("Deployment")},
		"a Deployment that an operator owns has records of its own": {kind: "Deployment", annotations: map[string]string{toleration.OwnedAnnotation: tolerations}, owners: controlledBy("Shop"), records: 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, marked := markedOf(workload.Ref{Kind: tt.kind, Name: "web"}, &metav1.ObjectMeta{Annotations: tt.annotations, OwnerReferences: tt.owners})
			if marked != (tt.records+tt.pin > 0) || len(got.Record) != tt.records || len(got.Pins) != tt.pin {
				t.Errorf("marked is %t with %v and %v", marked, got.Record, got.Pins)
			}
		})
	}
}
