// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package rollout

import (
	"errors"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/kube"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/machineset"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/fakeapi"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/fakeapi/controllers"
)

// TestRollOut_tellsOfACountThatItCannotBringBack: a webhook refuses every write of a
// MachineSet that has been scaled to zero, the last one included.
func TestRollOut_tellsOfACountThatItCannotBringBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		api := fakeapi.New(controllers.MachineAPI...)
		t.Cleanup(func() {
			api.Close()
			// Watches outlive the last user of a cluster.
			time.Sleep(2 * time.Minute)
		})
		marker := &machineset.Marker{ID: "terraform/gpu", Strategy: machineset.ScaleToZero, OriginalReplicas: 3}
		set := &machinev1beta1.MachineSet{ObjectMeta: metav1.ObjectMeta{
			Namespace: machineset.OperatorNamespace, Name: "gpu", Annotations: map[string]string{machineset.MarkerAnnotation: marker.String()},
		}}
		set.Spec.Replicas, set.Status.ObservedGeneration = ptr.To[int32](0), 1
		fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(set)
		if err != nil {
			t.Fatal(err)
		}
		object := &unstructured.Unstructured{Object: fields}
		object.SetGroupVersionKind(machinev1beta1.GroupVersion.WithKind("MachineSet"))
		api.Add(object)
		client := api.Client()
		client.OnRequest(func(r fakeapi.Request) fakeapi.Fault {
			if r.Write() {
				return fakeapi.Fault(http.StatusUnprocessableEntity)
			}
			return fakeapi.None
		})
		c, err := kube.New(kube.Config{Host: fakeapi.Host, Transport: client})
		if err != nil {
			t.Fatal(err)
		}
		release, err := c.FollowMachines(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(release)
		err = RollOut(t.Context(), c, machineset.OperatorNamespace+"/gpu", machineset.Desired{
			Claim: taint.Claim{Owner: "terraform/gpu", Generation: "g"}, Rollout: machineset.Rollout{Strategy: machineset.ScaleToZero},
		}, MachineHooks{})
		left := new(AtZeroError)
		if !errors.As(err, &left) || left.Replicas != 3 || left.Set.Name != "gpu" || !errors.Is(err, kube.ErrInvalid) {
			t.Errorf("it ends with %v, want an error that tells of 3 replicas", err)
		}
	})
}
