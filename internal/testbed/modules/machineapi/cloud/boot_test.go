// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package cloud

import (
	"testing"
	"time"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
)

// The cache may be older than the last write.
func TestBoot_byAnOldRecord(t *testing.T) {
	t.Parallel()
	m := &machinev1beta1.Machine{ObjectMeta: metav1.ObjectMeta{Name: "m", UID: "1"}}
	for name, tt := range map[string]struct {
		since func(*instance)
		gone  bool
		node  bool
	}{
		"the node that has joined meanwhile stays":   {since: func(i *instance) { i.Joined = true }, node: true},
		"that of an instance that ends does not":     {since: func(i *instance) { i.GoneAt = time.Now().Add(time.Hour) }},
		"nor that of one that is not there any more": {gone: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			found := describe(m, &Spec{}, time.Now())
			record := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: Namespace, Name: "m"}}
			if err := found.write(record); err != nil {
				t.Fatal(err)
			}
			objects := fake.NewClientBuilder().Build()
			if err := objects.Create(t.Context(), record); err != nil {
				t.Fatal(err)
			}
			old := record.DeepCopy()
			if tt.since != nil {
				now := *found
				tt.since(&now)
				if err := now.write(record); err != nil {
					t.Fatal(err)
				}
				if err := objects.Update(t.Context(), record); err != nil {
					t.Fatal(err)
				}
			}
			if tt.gone {
				if err := objects.Delete(t.Context(), record); err != nil {
					t.Fatal(err)
				}
			}
			err := (&booter{client: objects, direct: objects}).boot(t.Context(), found, old)
			if err != nil && !apierrors.IsConflict(err) {
				t.Fatal(err)
			}
			err = objects.Get(t.Context(), client.ObjectKey{Name: found.NodeName}, &corev1.Node{})
			if there := err == nil; there != tt.node {
				t.Errorf("the node is there: %t, %v", there, err)
			}
		})
	}
}
