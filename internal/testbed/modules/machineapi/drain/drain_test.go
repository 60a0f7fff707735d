// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package drain

import (
	"errors"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/testbed/modules/machineapi/machine"
)

// openShift are the times that OpenShift has fixed.
var openShift = Options{Timeout: 20 * time.Second, BackoffBase: 5 * time.Second, BackoffMax: 1000 * time.Second}

func TestRateLimiter_doublesUpToItsMaximum(t *testing.T) {
	t.Parallel()
	limiter := openShift.rateLimiter()
	request := reconcile.Request{NamespacedName: types.NamespacedName{Name: "m"}}
	for _, seconds := range []int{5, 10, 20, 40, 80, 160, 320, 640, 1000, 1000} {
		if got, want := limiter.When(request), time.Duration(seconds)*time.Second; got != want {
			t.Errorf("the pause is %s, want %s", got, want)
		}
	}
}

func TestHelper_isSetAsInOpenShift(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		ready       corev1.ConditionStatus
		grace, skip int
	}{
		"a node that is ready":          {corev1.ConditionTrue, -1, 0},
		"a node that is not ready":      {corev1.ConditionFalse, -1, 0},
		"a node that cannot be reached": {corev1.ConditionUnknown, 1, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			node := &corev1.Node{Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: c.ready}}}}
			got := (&reconciler{opts: openShift}).helper(t.Context(), node)
			if !got.Force || !got.IgnoreAllDaemonSets || !got.DeleteEmptyDirData || got.DisableEviction {
				t.Errorf("it leaves pods that OpenShift takes, or does not evict them: %+v", got)
			}
			if got.GracePeriodSeconds != c.grace || got.SkipWaitForDeleteTimeoutSeconds != c.skip {
				t.Errorf("grace period %d, skipped after %d; want %d, %d", got.GracePeriodSeconds, got.SkipWaitForDeleteTimeoutSeconds, c.grace, c.skip)
			}
			if got.Timeout != 20*time.Second || got.EvictErrorRetryDelay != 0 {
				t.Errorf("an attempt lasts %s with pauses of %s, want 20s without any", got.Timeout, got.EvictErrorRetryDelay)
			}
		})
	}
}

func TestAllowed_oneControlPlaneNodeAtATime(t *testing.T) {
	t.Parallel()
	node := func(name, role string, cordoned bool) *corev1.Node {
		return &corev1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"node-role.kubernetes.io/" + role: ""}},
			Spec:       corev1.NodeSpec{Unschedulable: cordoned},
		}
	}
	for name, c := range map[string]struct {
		node, other *corev1.Node
		want        bool
	}{
		"a worker beside a cordoned worker":             {node("a", "worker", false), node("b", "worker", true), true},
		"a worker beside a cordoned master":             {node("a", "worker", false), node("b", "master", true), true},
		"a master beside a cordoned control plane node": {node("a", "master", false), node("b", "control-plane", true), false},
		"a master beside one that is not cordoned":      {node("a", "master", false), node("b", "master", false), true},
		"a master that is cordoned itself":              {node("a", "control-plane", true), node("b", "master", true), true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := &reconciler{client: fake.NewClientBuilder().WithObjects(c.node, c.other).Build()}
			err := r.allowed(t.Context(), c.node)
			later := new(machine.LaterError)
			if got := err == nil; got != c.want || err != nil && !errors.As(err, &later) {
				t.Errorf("allowed is %t (%v), want %t", got, err, c.want)
			}
		})
	}
}
