// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package acctest

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/workload"
)

// Audit reads the API server's audit log for one user, so that a test can
// count and name every request that the provider made.
type Audit struct {
	t    testing.TB
	c    *Cluster
	path string
	user string
	// agent begins the user agents whose requests are meant, "" for those of user.
	agent string
	from  int64
	// fakeFrom is where the log of an in-memory API server begins.
	fakeFrom int
}

// AuditedRequest is one request as the API server saw it.
type AuditedRequest struct {
	Verb      string
	Resource  string
	Namespace string
	Name      string
	UserAgent string
	// Code is the status that was answered.
	Code int
	// DryRun is set where nothing was written: a write was only tried.
	DryRun bool
}

// String names the request.
func (r AuditedRequest) String() string {
	return strings.TrimSpace(r.Verb + " " + r.Resource + " " + r.Name)
}

// Audit returns the log of a new user, who has the documented rights, and a
// provider block for that user. The test is skipped on a cluster that is not
// the test bed's.
func (c *Cluster) Audit(t testing.TB) (*Audit, map[string]any) {
	t.Helper()
	a, token := c.AuditWith(t, c.Rights(t)...)
	return a, c.ProviderAt(t, c.REST.Host, token)
}

// AuditWith does so for a user who has these rights, and returns a token of that user.
func (c *Cluster) AuditWith(t testing.TB, rules ...rbacv1.PolicyRule) (a *Audit, token string) {
	t.Helper()
	if c.api != nil {
		token, account := c.accountWith(t, rules...)
		return &Audit{t: t, c: c, user: account}, token
	}
	dir := c.Dir(t)
	token, account := c.accountWith(t, rules...)
	return &Audit{t: t, c: c, path: filepath.Join(dir, "audit.log"), user: fmt.Sprintf("system:serviceaccount:%s:%s", rightsNamespace, account)}, token
}

// AuditOf returns the log of clients whose user agent begins like this, whatever they are.
func (c *Cluster) AuditOf(t testing.TB, agent string) *Audit {
	t.Helper()
	return &Audit{t: t, c: c, path: filepath.Join(c.Dir(t), "audit.log"), agent: agent}
}

// Reset forgets the requests so far.
func (a *Audit) Reset() {
	a.t.Helper()
	if a.c.api != nil {
		a.fakeFrom = len(a.c.api.Audit())
		return
	}
	a.Requests()
	info, err := os.Stat(a.path)
	must(a.t, err)
	a.from = info.Size()
}

// Requests returns the user's requests since the last Reset. The API server
// writes its log a moment after it answers, so that a request of the test's own
// is made and waited for first.
func (a *Audit) Requests() []AuditedRequest {
	a.t.Helper()
	if a.c.api != nil {
		return audited(a.c.api, a.user, a.fakeFrom)
	}
	sentinel := Name(a.t, "sentinel")
	_, _ = a.c.Admin.CoreV1().ConfigMaps(metav1.NamespaceDefault).Get(a.t.Context(), sentinel, metav1.GetOptions{})
	var out []AuditedRequest
	Until(a.t, "the audit log has caught up", func(ctx context.Context) (bool, error) {
		var err error
		var caughtUp bool
		out, caughtUp, err = a.read(sentinel)
		if len(out) > 0 {
			sawLast(ctx, "the log, last", out[len(out)-1].String())
		}
		return caughtUp, err
	})
	return out
}

func (a *Audit) read(sentinel string) (out []AuditedRequest, caughtUp bool, err error) {
	file, err := os.Open(a.path)
	if err != nil {
		return nil, false, err
	}
	defer func() { _ = file.Close() }()
	if _, err := file.Seek(a.from, 0); err != nil {
		return nil, false, err
	}
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var event struct {
			Stage, Verb, UserAgent, RequestURI string
			User                               struct{ Username string }
			ObjectRef                          struct{ Resource, Namespace, Name string }
			ResponseStatus                     struct{ Code int }
		}
		if err := json.Unmarshal(lines.Bytes(), &event); err != nil {
			// The last line may be half written.
			return out, false, nil
		}
		caughtUp = caughtUp || event.ObjectRef.Name == sentinel
		// A watch is logged when it begins and when it ends.
		if !a.means(event.User.Username, event.UserAgent) || event.Verb == "watch" && event.Stage == "ResponseComplete" {
			continue
		}
		out = append(out, AuditedRequest{
			Verb: event.Verb, Resource: event.ObjectRef.Resource, Namespace: event.ObjectRef.Namespace, Name: event.ObjectRef.Name, UserAgent: event.UserAgent, Code: event.ResponseStatus.Code,
			// To ask what one may do is a create that makes nothing.
			DryRun: strings.Contains(event.RequestURI, "dryRun=") || event.ObjectRef.Resource == "selfsubjectrulesreviews",
		})
	}
	return out, caughtUp, lines.Err()
}

func (a *Audit) means(user, agent string) bool {
	if a.agent != "" {
		return strings.HasPrefix(agent, a.agent)
	}
	return user == a.user
}

// WrittenReplicaSets names the ReplicaSets of a namespace that the provider has written: by
// their managed fields, or by the log of the in-memory API server, which manages no fields.
func (c *Cluster) WrittenReplicaSets(t testing.TB, namespace string) (names []string) {
	t.Helper()
	if c.api != nil {
		for _, e := range c.api.Audit() {
			if e.Resource == "replicasets" && e.Namespace == namespace && strings.HasPrefix(e.UserAgent, providerAgent) && methods[e.Verb] != "" && !e.DryRun {
				names = append(names, e.Name)
			}
		}
		return names
	}
	sets, err := c.Admin.AppsV1().ReplicaSets(namespace).List(t.Context(), metav1.ListOptions{})
	must(t, err)
	for _, set := range sets.Items {
		if slices.ContainsFunc(set.ManagedFields, func(f metav1.ManagedFieldsEntry) bool { return f.Manager == workload.FieldManager }) {
			names = append(names, set.Name)
		}
	}
	return names
}

// Within leaves out what is about objects in namespaces of other tests: an apply that
// changes taints also takes away tolerations that retire there.
func Within(requests []AuditedRequest, namespace string) []AuditedRequest {
	return slices.DeleteFunc(requests, func(r AuditedRequest) bool {
		return r.Resource != "namespaces" && r.Namespace != "" && r.Namespace != namespace
	})
}

// Repeated are the requests that were made once more because another writer, such as a
// kubelet or the controller of a workload, has written an object meanwhile: a patch that
// met a conflict, and the read of that object for the next one.
func Repeated(requests []AuditedRequest) []AuditedRequest {
	var out []AuditedRequest
	reread := map[[3]string]int{}
	object := func(r AuditedRequest) [3]string { return [3]string{r.Resource, r.Namespace, r.Name} }
	for _, r := range requests {
		// A dry run that meets one is not made again.
		if r.Verb == "patch" && r.Code == http.StatusConflict && !r.DryRun {
			out = append(out, r)
			reread[object(r)]++
		}
	}
	for _, r := range requests {
		if r.Verb == "get" && reread[object(r)] > 0 {
			out = append(out, r)
			reread[object(r)]--
		}
	}
	return out
}

// Counted counts requests by verb and resource. One that did not come from the
// provider fails the test: it would be counted as its own.
func Counted(t testing.TB, phase string, requests []AuditedRequest) map[string]int {
	t.Helper()
	count := map[string]int{}
	for _, r := range requests {
		count[strings.TrimSpace(r.Verb+" "+r.Resource)]++
		if !strings.HasPrefix(r.UserAgent, "terraform-provider-kubetaint/") {
			t.Errorf("%s: %s came from %q", phase, r, r.UserAgent)
		}
	}
	t.Logf("%s: %d requests: %v", phase, len(requests), count)
	return count
}
