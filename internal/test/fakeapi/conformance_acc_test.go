// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package fakeapi_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/golden"
)

// The real API server answers all scripts as the golden file says, and an older one
// answers the steps that are marked for it as its own golden file says. With -update the
// file of the server's version is written from its answers.
func TestAccFakeAPI_answersAsRecorded(t *testing.T) {
	t.Parallel()
	s := realSide(t)
	answers := run(t, s)
	if !older(s.version, played) {
		golden.Check(t, goldenFile, text(answers))
		return
	}
	for _, problem := range wrongMarks(recorded(t, goldenFile), answers, s.version) {
		t.Error(problem)
	}
	golden.Check(t, olderFile(s.version), text(marked(answers, s.version)))
}

// controllers write the objects of the scripts as well, at moments of their own: they are
// stopped for the time of the test.
var controllers = []string{"kube-controller-manager", "kube-scheduler", "kwok", "machine-api"}

const widgets = `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"widgets.conformance.kubetaint.io"},
"spec":{"group":"conformance.kubetaint.io","scope":"Namespaced","names":{"plural":"widgets","singular":"widget","kind":"Widget"},
"versions":[{"name":"v1","served":true,"storage":true,"subresources":{"status":{}},"schema":{"openAPIV3Schema":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}}]}}`

func realSide(t *testing.T) *side {
	t.Helper()
	c := controlPlane(t)
	transport, err := rest.TransportFor(c.REST)
	if err != nil {
		t.Fatal(err)
	}
	anonymous, err := rest.TransportFor(rest.AnonymousClientConfig(c.REST))
	if err != nil {
		t.Fatal(err)
	}
	version, err := c.Admin.Discovery().ServerVersion()
	if err != nil {
		t.Fatal(err)
	}
	s := &side{
		transport: transport, anonymous: anonymous, host: c.REST.Host, version: version.Major + "." + version.Minor, suffix: strings.ReplaceAll(acctest.Name(t, "run"), "-", ""),
		compact: func() { compact(t, c) },
		account: func(_ string, rules []rbacv1.PolicyRule) (string, string) {
			token := c.TokenWith(t, rules...)
			return token, userOf(t, token)
		},
	}
	c.Define(t, schema.GroupVersionResource{Group: "conformance.kubetaint.io", Version: "v1", Resource: "widgets"}, widgets)
	for _, name := range namespaces {
		prepare(t, c, strings.ReplaceAll(name, suffix, s.suffix))
	}
	for _, process := range controllers {
		c.Signal(t, process, syscall.SIGSTOP)
		t.Cleanup(func() { c.Signal(t, process, syscall.SIGCONT) })
	}
	return s
}

// controlPlane returns a control plane of the test's own, because its controllers are
// stopped.
func controlPlane(t *testing.T) *acctest.Cluster {
	t.Helper()
	if os.Getenv("KUBETAINT_TESTBED") != "" {
		return acctest.StartCluster(t)
	}
	// A control plane was started for this test alone.
	c := acctest.Connect(t)
	c.Dir(t)
	return c
}

// prepare makes a namespace with the service account that pods need: its controller may be
// stopped before it comes to that.
func prepare(t *testing.T, c *acctest.Cluster, namespace string) {
	t.Helper()
	if _, err := c.Admin.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	_, err := c.Admin.CoreV1().ServiceAccounts(namespace).Create(t.Context(), &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "default"}}, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		t.Fatal(err)
	}
}

// userOf returns the name of the user that a token of a service account is for.
func userOf(t *testing.T, token string) string {
	t.Helper()
	var claims struct{ Sub string }
	raw, err := base64.RawURLEncoding.DecodeString(strings.Split(token, ".")[1])
	if err == nil {
		err = json.Unmarshal(raw, &claims)
	}
	if err != nil {
		t.Fatal(err)
	}
	return claims.Sub
}

// compact has etcd forget the history, through its gateway for JSON.
func compact(t *testing.T, c *acctest.Cluster) {
	t.Helper()
	pid, err := os.ReadFile(filepath.Join(c.Dir(t), "pids", "etcd.pid"))
	if err != nil {
		t.Fatal(err)
	}
	command, err := os.ReadFile(fmt.Sprintf("/proc/%s/cmdline", strings.TrimSpace(string(pid))))
	if err != nil {
		t.Skipf("needs to know where etcd listens: %s", err)
	}
	address := regexp.MustCompile(`--listen-client-urls=([^\x00]+)`).FindSubmatch(command)
	nodes, err := c.Admin.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{Limit: 1})
	if err != nil || address == nil {
		t.Fatal(err, string(command))
	}
	revision, err := strconv.ParseInt(nodes.ResourceVersion, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.Post(string(address[1])+"/v3/kv/compaction", "application/json", bytes.NewBufferString(fmt.Sprintf(`{"revision":"%d","physical":true}`, revision)))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		t.Fatalf("compacting etcd: %s", resp.Status)
	}
}
