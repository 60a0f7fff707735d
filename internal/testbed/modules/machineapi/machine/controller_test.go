// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package machine

import (
	"context"
	"errors"
	"testing"
	"time"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// cloudThat is a cloud with an instance for every Machine, which answers with errors.
type cloudThat struct {
	Cloud
	exists, update error
	provisions     bool
}

func (c cloudThat) Exists(context.Context, *machinev1beta1.Machine) (bool, error) {
	return c.exists == nil, c.exists
}

func (c cloudThat) Update(_ context.Context, m *machinev1beta1.Machine) error {
	if c.provisions {
		m.Spec.ProviderID = ptr.To("cloud:///m")
	}
	return c.update
}

// TestReconcile_pausesInsteadOfFailing where the original does, whatever becomes of the
// status.
func TestReconcile_pausesInsteadOfFailing(t *testing.T) {
	t.Parallel()
	down := errors.New("down")
	for name, tt := range map[string]struct {
		cloud  cloudThat
		status error
		fails  bool
	}{
		"the instance cannot be shown":                          {cloud: cloudThat{update: down}},
		"the instance cannot be shown, nor can that be written": {cloud: cloudThat{update: down}, status: down},
		"no provider ID yet":                                    {},
		"no provider ID yet, and the status cannot be written":  {status: down},
		"the cloud does not answer":                             {cloud: cloudThat{exists: down}, fails: true},
		"no node yet, and the status cannot be written":         {cloud: cloudThat{provisions: true}, status: down, fails: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			scheme := runtime.NewScheme()
			if err := machinev1beta1.Install(scheme); err != nil {
				t.Fatal(err)
			}
			m := &machinev1beta1.Machine{ObjectMeta: metav1.ObjectMeta{
				Namespace: "ns", Name: "m", Labels: map[string]string{machinev1beta1.MachineClusterIDLabel: "c"}, Finalizers: []string{machinev1beta1.MachineFinalizer},
			}}
			m.Spec.ProviderSpec.Value = &runtime.RawExtension{Raw: []byte(`{}`)}
			objects := fake.NewClientBuilder().WithScheme(scheme).WithObjects(m).WithStatusSubresource(m).WithInterceptorFuncs(interceptor.Funcs{
				SubResourcePatch: func(ctx context.Context, c client.Client, sub string, o client.Object, patch client.Patch, opts ...client.SubResourcePatchOption) error {
					if tt.status != nil {
						return tt.status
					}
					return c.SubResource(sub).Patch(ctx, o, patch, opts...)
				},
			}).Build()
			got, err := (&reconciler{client: objects, cloud: tt.cloud, again: 30 * time.Second}).Reconcile(t.Context(), reconcile.Request{NamespacedName: client.ObjectKeyFromObject(m)})
			if (err != nil) != tt.fails || !tt.fails && got.RequeueAfter != 30*time.Second {
				t.Errorf("it comes again after %s, %v", got.RequeueAfter, err)
			}
		})
	}
}
