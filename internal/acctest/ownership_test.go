// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package acctest

import (
	"fmt"
	"slices"
	"testing"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/toleration"
)

// TestWriter_strangeWritesAreThoseToObjectsOfOtherTests gives lines of an audit log to the
// check that runs at the end of each acceptance test.
func TestWriter_strangeWritesAreThoseToObjectsOfOtherTests(t *testing.T) {
	t.Parallel()
	w := writerOf(t)
	tail := &auditTail{seen: map[string]bool{}, changed: make(chan struct{})}
	admin := `"user":{"username":"admin"},"userAgent":"` + rightsNamespace + "/" + w.id + `"`
	provider := `"user":{"username":"system:serviceaccount:` + rightsNamespace + ":" + w.id + `"},"userAgent":"terraform-provider-kubetaint/test"`
	limited := `"user":{"username":"system:serviceaccount:` + rightsNamespace + ":" + w.id + `-rights-0a"},"userAgent":"terraform-provider-kubetaint/test"`
	other := `"user":{"username":"system:serviceaccount:` + rightsNamespace + `:acc-0000000000000000"},"userAgent":"terraform-provider-kubetaint/test"`
	for _, one := range []struct {
		who, verb, resource, namespace, name, uri string
		code                                      int
	}{
		{admin, "create", "nodes", "", "mine", "/", 201},
		{provider, "patch", "nodes", "", "mine", "/", 200},
		{admin, "create", "namespaces", "", "ours", "/", 201},
		{provider, "patch", "deployments", "ours", "web", "/", 200},
		{admin, "create", "machinesets", "openshift-machine-api", "set", "/", 201},
		{provider, "patch", "machines", "openshift-machine-api", "set-x7", "/", 200},
		{provider, "patch", "nodes", "", "machine-node", "/", 200},
		// The last taint that needed a toleration is gone.
		{provider, "patch", "deployments", "theirs", "retiring", "/", 200},
		// Nothing is written.
		{provider, "get", "nodes", "", "theirs", "/", 200},
		{provider, "patch", "nodes", "", "refused", "/", 403},
		{provider, "patch", "nodes", "", "tried", "/?dryRun=All", 200},
		{other, "patch", "nodes", "", "elsewhere", "/", 200},
		// These are not the test's own.
		{provider, "patch", "nodes", "", "theirs", "/", 200},
		{limited, "patch", "machinesets", "theirs", "set", "/", 200},
		{admin, "patch", "deployments", "theirs", "web", "/", 200},
		{admin, "delete", "nodes", "", "their-node", "/", 200},
	} {
		tail.line(fmt.Appendf(nil, `{"verb":%q,%s,"requestURI":%q,"objectRef":{"resource":%q,"namespace":%q,"name":%q},"responseStatus":{"code":%d}}`,
			one.verb, one.who, one.uri, one.resource, one.namespace, one.name, one.code))
	}
	w.addMachine(&machinev1beta1.Machine{Status: machinev1beta1.MachineStatus{NodeRef: &corev1.ObjectReference{Name: "machine-node"}}})
	var got []string
	for _, one := range w.strange() {
		got = append(got, one.String())
	}
	want := []string{"patch nodes theirs", "patch machinesets theirs/set", "patch deployments theirs/web", "delete nodes their-node"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if again := w.strange(); len(again) > 0 {
		t.Errorf("reported again: %v", again)
	}
}

// TestWriter_tolerationsRetireWithTaintsOfTheTestAlone: one whose taint other tests may have
// goes and stays with theirs.
func TestWriter_tolerationsRetireWithTaintsOfTheTestAlone(t *testing.T) {
	t.Parallel()
	w, own := writerOf(t), Name(t, "team")
	tail := &auditTail{seen: map[string]bool{}, changed: make(chan struct{})}
	for _, one := range []struct{ name, key, value, retiring string }{
		{"shared", "team", "a", "true"},
		{"by-value", "team", own, "true"},
		{"by-key", own, "", "true"},
		{"wanted", "team", "a", "false"},
	} {
		marks := fmt.Sprintf(`[{"key":%q,"operator":"Equal","value":%q,"effect":"NoExecute","owner":"terraform/x","generation":"g","retiring":%s}]`, one.key, one.value, one.retiring)
		tail.line(fmt.Appendf(nil, `{"verb":"patch","user":{"username":"system:serviceaccount:%s:%s"},"userAgent":"terraform-provider-kubetaint/test","requestURI":"/",
			"objectRef":{"resource":"deployments","namespace":"ours","name":%q},"responseStatus":{"code":200},"requestObject":{"metadata":{"annotations":{%q:%q}}}}`,
			rightsNamespace, w.id, one.name, toleration.OwnedAnnotation, marks))
	}
	if want := []string{"team=a:NoExecute (patch deployments ours/shared)"}; !slices.Equal(w.shared, want) {
		t.Errorf("got %q, want %q", w.shared, want)
	}
}
