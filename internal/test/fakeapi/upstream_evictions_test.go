// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package fakeapi_test

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/fakeapi"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/upstream"
)

// evictionCase is an eviction of the pod app/foo, which runs and is ready.
type evictionCase struct {
	name string
	// missing leaves out the pod, and url is the name in the address, "" for that of the pod.
	missing bool
	url     string
	// budget is the status of the PodDisruptionBudget that covers it, nil for none.
	budget  *policyv1.PodDisruptionBudgetStatus
	options *metav1.DeleteOptions
	// version is how the precondition of a resource version differs from the pod's.
	version *string
	request metav1.CreateOptions
	// code, message and cause are those of the refusal; without a code the pod is evicted.
	code           int32
	message, cause string
	// dry leaves everything as it is, without a refusal.
	dry bool
	// left and reason are what the status of the PodDisruptionBudget says afterwards.
	left   int32
	reason string
}

// TestUpstream_evictionSubresource has the facts of k8s.io/kubernetes v1.37.2
// pkg/registry/core/pod/storage/eviction_test.go about the eviction subresource that the fake serves as the
// API server does: names and options of a request, dry runs, preconditions of resource versions, why a
// PodDisruptionBudget refuses, and its status afterwards.
func TestUpstream_evictionSubresource(t *testing.T) {
	t.Parallel()
	rows := upstream.Cases(t)
	dry := []string{metav1.DryRunAll}
	allowing := func(n int32) *policyv1.PodDisruptionBudgetStatus {
		return &policyv1.PodDisruptionBudgetStatus{DisruptionsAllowed: n, Conditions: []metav1.Condition{{
			Type: policyv1.DisruptionAllowedCondition, Status: metav1.ConditionTrue, Reason: policyv1.SufficientPodsReason,
		}}}
	}
	explained := func(healthy int32, reason string) *policyv1.PodDisruptionBudgetStatus {
		return &policyv1.PodDisruptionBudgetStatus{CurrentHealthy: healthy, DesiredHealthy: 3, Conditions: []metav1.Condition{{
			Type: policyv1.DisruptionAllowedCondition, Status: metav1.ConditionFalse, Reason: reason, Message: "for a while",
		}}}
	}
	full := allowing(1)
	full.DisruptedPods = map[string]metav1.Time{}
	for n := range 2001 {
		full.DisruptedPods[fmt.Sprintf("pod-%d", n)] = metav1.Now()
	}
	const disrupts, does = "Cannot evict pod as it would violate the pod's disruption budget.", "The disruption budget all does not allow evicting pods currently"
	for _, tt := range []evictionCase{
		{name: "another name in the address", url: "bar", code: http.StatusBadRequest, message: "name in URL does not match name in Eviction object"},
		{name: "dry run of the request", options: &metav1.DeleteOptions{}, request: metav1.CreateOptions{DryRun: dry}, dry: true},
		{name: "dry run of the deletion", options: &metav1.DeleteOptions{DryRun: dry}, dry: true},
		{name: "dry run of both", options: &metav1.DeleteOptions{DryRun: dry}, request: metav1.CreateOptions{DryRun: dry}, dry: true},
		{name: "dry run with a budget", budget: allowing(1), options: &metav1.DeleteOptions{DryRun: dry}, request: metav1.CreateOptions{DryRun: dry}, dry: true, left: 1, reason: policyv1.SufficientPodsReason},
		{
			name: "a deletion of what cannot be read", options: &metav1.DeleteOptions{IgnoreStoreReadErrorWithClusterBreakingPotential: new(true)}, code: http.StatusUnprocessableEntity,
			message: `Eviction.policy "foo" is invalid: deleteOptions.ignoreStoreReadErrorWithClusterBreakingPotential: Invalid value: true: can not be set for pod eviction, try after removing the option`,
		},
		{name: "the last disruption", budget: allowing(1), left: 0, reason: policyv1.InsufficientPodsReason},
		{name: "one of three disruptions", budget: allowing(3), left: 2, reason: policyv1.SufficientPodsReason},

		{name: "no such pod", missing: true, code: http.StatusNotFound, message: `pods "foo" not found`},
		{name: "the pod's resource version", version: new("")},
		{name: "another resource version", version: new("1"), code: http.StatusConflict, message: "The object might have been modified"},

		{name: "a budget that failed to sync", budget: explained(0, policyv1.SyncFailedReason), code: http.StatusTooManyRequests, message: disrupts, cause: does + " because it failed sync: for a while", reason: policyv1.SyncFailedReason},
		{name: "a budget that gives another reason", budget: explained(4, "Maintenance"), code: http.StatusTooManyRequests, message: disrupts, cause: does + " (Maintenance): for a while", reason: "Maintenance"},
		{name: "a budget of as many pods as there must be", budget: explained(3, "Maintenance"), code: http.StatusTooManyRequests, message: disrupts, cause: "The disruption budget all needs 3 healthy pods and has 3 currently", reason: "Maintenance"},
		{name: "fewer disruptions than none", budget: allowing(-1), code: http.StatusForbidden, message: `poddisruptionbudget.policy "all" is forbidden: pdb disruptions allowed is negative`, cause: does + ": pdb disruptions allowed is negative", left: -1, reason: policyv1.SufficientPodsReason},
		{
			name: "too many disrupted pods", budget: full, code: http.StatusForbidden, message: `poddisruptionbudget.policy "all" is forbidden: DisruptedPods map too big - too many evictions not confirmed by PDB controller`,
			cause: does + ": too many pending evictions not confirmed by PDB controller", left: 1, reason: policyv1.SufficientPodsReason,
		},
	} {
		rows.Run(t, tt.name, func(t *testing.T) {
			t.Parallel()
			tt.check(t)
		})
	}
}

// check evicts the pod, and compares the answer and what is there afterwards.
func (tt *evictionCase) check(t *testing.T) {
	t.Helper()
	server := fakeapi.New()
	defer server.Close()
	server.Add(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "app"}})
	if !tt.missing {
		server.Add(&corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: "app", Name: "foo"},
			Status:     corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}},
		})
	}
	if tt.budget != nil {
		tt.budget.ObservedGeneration = 1
		server.Add(&policyv1.PodDisruptionBudget{
			ObjectMeta: metav1.ObjectMeta{Namespace: "app", Name: "all"},
			Spec:       policyv1.PodDisruptionBudgetSpec{Selector: &metav1.LabelSelector{}}, Status: *tt.budget,
		})
	}
	before, _ := fakeapi.Get[*corev1.Pod](server, "app", "foo")
	options := tt.options
	if tt.version != nil {
		options = metav1.NewRVDeletionPrecondition(before.ResourceVersion + *tt.version)
	}
	err := server.Clientset().CoreV1().RESTClient().Post().Namespace("app").Resource("pods").Name(cmp.Or(tt.url, "foo")).SubResource("eviction").
		VersionedParams(&tt.request, scheme.ParameterCodec).
		Body(&policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Namespace: "app", Name: "foo"}, DeleteOptions: options}).MaxRetries(0).Do(t.Context()).Error()
	tt.answered(t, err)

	after, there := fakeapi.Get[*corev1.Pod](server, "app", "foo")
	if stays := !tt.missing && (tt.dry || tt.code != 0); there != stays || stays && !reflect.DeepEqual(before, after) {
		t.Errorf("the pod is there: %t, want %t and unchanged", there, stays)
	}
	if tt.budget == nil {
		return
	}
	budget, _ := fakeapi.Get[*policyv1.PodDisruptionBudget](server, "app", "all")
	if budget.Status.DisruptionsAllowed != tt.left {
		t.Errorf("it allows %d disruptions, want %d", budget.Status.DisruptionsAllowed, tt.left)
	}
	if c := meta.FindStatusCondition(budget.Status.Conditions, policyv1.DisruptionAllowedCondition); c == nil || c.Reason != tt.reason {
		t.Errorf("the condition is %v, want the reason %s", c, tt.reason)
	}
	want := maps.Clone(tt.budget.DisruptedPods)
	if !tt.dry && tt.code == 0 {
		want = map[string]metav1.Time{"foo": budget.Status.DisruptedPods["foo"]}
	}
	if !reflect.DeepEqual(budget.Status.DisruptedPods, want) {
		t.Errorf("%d pods are disrupted, want %d", len(budget.Status.DisruptedPods), len(want))
	}
}

// answered compares the answer.
func (tt *evictionCase) answered(t *testing.T, err error) {
	t.Helper()
	if tt.code == 0 {
		if err != nil {
			t.Errorf("refused: %v", err)
		}
		return
	}
	status := apierrors.APIStatus(nil)
	if !errors.As(err, &status) || status.Status().Code != tt.code || !strings.Contains(status.Status().Message, tt.message) {
		t.Fatalf("answered with %v, want %d: %s", err, tt.code, tt.message)
	}
	cause, has := apierrors.StatusCause(err, policyv1.DisruptionBudgetCause)
	if has != (tt.cause != "") || cause.Message != tt.cause {
		t.Errorf("the cause is %q, want %q", cause.Message, tt.cause)
	}
}
