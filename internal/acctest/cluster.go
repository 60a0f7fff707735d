// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package acctest

import (
	"context"
	"encoding/base64"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/retry"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/fakeapi"
)

const (
	rightsNamespace = "kubetaint-acctest"
	rightsName      = "kubetaint"
	// patience only keeps a test from hanging: a busy machine may take its time.
	patience = 5 * time.Minute
	// often is how often they look: each look takes time from the controllers.
	often = 100 * time.Millisecond
)

// Cluster is what tests run on: a real cluster, or the in-memory API server of OnFake.
type Cluster struct {
	// Admin may do everything; the provider never uses it.
	Admin kubernetes.Interface
	REST  *rest.Config
	// api is the in-memory API server, nil for a real cluster.
	api *fakeapi.Server
	// dir is the folder of the test bed's files, "" for a cluster that is not its own.
	dir string
	// onward carries what comes to proxies to the API server, over connections that
	// outlast them: a test of faults starts hundreds of proxies.
	onward func() (http.RoundTripper, error)
	// account has the documented rights, and token is one of it.
	account string
	token   func() (string, error)
	// alone is set where no other test runs on the cluster meanwhile.
	alone bool
	// writer remembers what the test has created, nil for a cluster of one test alone.
	writer *writer
	// bed is kept from being collected, which would close the pipe that it needs.
	bed *testbed
}

// Connect returns the cluster of the tests: the one that the test bed has started for
// all packages, one that it starts for this process, or the one that KUBE_CONFIG_PATH
// names. Acceptance tests are skipped where TF_ACC is not set, as in every provider.
//
// Tests share the cluster. A test fails at its end where it has written to an object that
// it has not created.
func Connect(t testing.TB) *Cluster {
	t.Helper()
	if os.Getenv("TF_ACC") == "" {
		t.Skip("an acceptance test: set TF_ACC=1 and KUBE_CONFIG_PATH, or run \"make test\"")
	}
	c, err := connected()
	must(t, err)
	return c.forTest(t)
}

// forTest returns the cluster with clients by which the API server knows the test.
func (c *Cluster) forTest(t testing.TB) *Cluster {
	t.Helper()
	if c.dir != "" {
		// From the first write on.
		_, err := followed(filepath.Join(c.dir, "audit.log"))
		must(t, err)
	}
	w, own := writerOf(t), *c
	own.REST = rest.CopyConfig(c.REST)
	own.REST.UserAgent = rightsNamespace + "/" + w.id
	admin, err := kubernetes.NewForConfig(own.REST)
	must(t, err)
	own.Admin, own.account, own.writer = admin, w.id, w
	w.mu.Lock()
	if w.tokens[c.REST.Host] == nil {
		w.tokens[c.REST.Host] = sync.OnceValues(func() (string, error) {
			ctx := context.Background()
			if err := c.accountFor(ctx, w.id); err != nil {
				return "", err
			}
			return c.newToken(ctx, w.id)
		})
	}
	own.token = w.tokens[c.REST.Host]
	w.mu.Unlock()
	t.Cleanup(func() { own.wantOwnWrites(t, w) })
	return &own
}

// accountFor makes a service account with the documented rights. It stays: other processes
// of the test may still use it when the test ends.
func (c *Cluster) accountFor(ctx context.Context, account string) error {
	role, err := documented("cluster-role.yaml")
	if err != nil {
		return err
	}
	if _, err := c.Admin.CoreV1().ServiceAccounts(rightsNamespace).Create(ctx, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: account}}, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
		return err
	}
	if err := c.bind(ctx, account, rightsNamespace); err != nil {
		return err
	}
	// The API server learns of all rules at the same time.
	return c.allowed(ctx, account, role.Rules[:1])
}

var connected = sync.OnceValues(func() (*Cluster, error) {
	var bed *testbed
	kubeconfig, dir := os.Getenv("KUBE_CONFIG_PATH"), os.Getenv("KUBETAINT_TESTBED_DIR")
	// Many have KUBE_CONFIG_PATH exported for a cluster that matters, and the folder of
	// another one.
	if dir != "" && kubeconfig != filepath.Join(dir, "kubeconfig") {
		dir = ""
	}
	if dir == "" && os.Getenv(testbedEnv) != "" {
		var err error
		if bed, err = startTestbed(); err != nil {
			return nil, err
		}
		kubeconfig, dir = filepath.Join(bed.dir, "kubeconfig"), bed.dir
	}
	// The provider reads these as well: it must not come by the admin's rights.
	for _, name := range []string{"KUBE_CONFIG_PATH", "KUBECONFIG"} {
		if err := os.Unsetenv(name); err != nil {
			return nil, err
		}
	}
	c, err := clusterOf(kubeconfig, dir)
	if err != nil {
		return nil, err
	}
	c.bed = bed
	return c, nil
})

func newCluster(cfg *rest.Config, dir string) (*Cluster, error) {
	cfg.QPS, cfg.Burst = 1000, 2000
	cfg.UserAgent = rightsNamespace
	cfg.Wrap(func(rt http.RoundTripper) http.RoundTripper { return seeing{rt} })
	admin, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		return nil, err
	}
	c := &Cluster{Admin: admin, REST: cfg, dir: dir, account: rightsName}
	c.onward = sync.OnceValues(func() (http.RoundTripper, error) {
		return rest.TransportFor(&rest.Config{Host: cfg.Host, TLSClientConfig: rest.TLSClientConfig{CAData: cfg.CAData, CAFile: cfg.CAFile}})
	})
	c.token = sync.OnceValues(func() (string, error) { return c.newToken(context.Background(), rightsName) })
	return c, c.grant()
}

// Dir is the folder of the test bed's files. The test is skipped on a cluster that is not
// the test bed's.
func (c *Cluster) Dir(t testing.TB) string {
	t.Helper()
	if c.api != nil {
		t.Fatal("an in-memory API server has no processes and no files")
	}
	if c.dir == "" {
		t.Skip("needs the processes and the audit log of the test bed")
	}
	return c.dir
}

// root returns the folder of the repository: tests run in the folder of their package,
// and binaries without paths of source files do not know another way.
var root = sync.OnceValue(func() string {
	dir, err := os.Getwd()
	for err == nil && dir != filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		dir = filepath.Dir(dir)
	}
	return "."
})

// grant gives a service account the rights that the documentation lists, from
// the very file that it shows.
func (c *Cluster) grant() error {
	ctx := context.Background()
	role, err := documented("cluster-role.yaml")
	if err != nil {
		return err
	}
	role.Name = rightsNamespace
	if _, err := c.Admin.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: rightsNamespace}}, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
		return err
	}
	// Several processes do this at the same time: what is as it should be is not written.
	if err := retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		current, err := c.Admin.RbacV1().ClusterRoles().Get(ctx, role.Name, metav1.GetOptions{})
		if err == nil && apiequality.Semantic.DeepEqual(current.Rules, role.Rules) {
			return nil
		}
		if err == nil {
			current.Rules = role.Rules
			_, err = c.Admin.RbacV1().ClusterRoles().Update(ctx, current, metav1.UpdateOptions{})
			return err
		}
		if _, err := c.Admin.RbacV1().ClusterRoles().Create(ctx, role, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
			return err
		}
		return nil
	}); err != nil {
		return err
	}
	if err := c.accountFor(ctx, rightsName); err != nil {
		return err
	}
	return c.allowed(ctx, rightsName, role.Rules)
}

func (c *Cluster) bind(ctx context.Context, account, role string) error {
	_, err := c.Admin.RbacV1().ClusterRoleBindings().Create(ctx, &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: rightsNamespace + "-" + account},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Name: account, Namespace: rightsNamespace}},
	}, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}

// allowed waits until the API server lets an account do what these rules say: it
// learns of roles and bindings by watches of its own, a moment after they are made.
func (c *Cluster) allowed(ctx context.Context, account string, rules []rbacv1.PolicyRule) error {
	first := func(all []string) string { return strings.Join(all[:min(len(all), 1)], "") }
	for _, rule := range rules {
		if len(rule.Resources) == 0 {
			continue
		}
		resource, subresource, _ := strings.Cut(rule.Resources[0], "/")
		review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
			User: "system:serviceaccount:" + rightsNamespace + ":" + account,
			ResourceAttributes: &authorizationv1.ResourceAttributes{
				Group: first(rule.APIGroups), Resource: resource, Subresource: subresource, Name: first(rule.ResourceNames), Verb: first(rule.Verbs),
			},
		}}
		if err := untilWithin(ctx, patience, func(ctx context.Context) (bool, error) {
			answer, err := c.Admin.AuthorizationV1().SubjectAccessReviews().Create(ctx, review, metav1.CreateOptions{})
			return err == nil && answer.Status.Allowed, err
		}); err != nil {
			return fmt.Errorf("waiting until %s may %s %s: %w", account, first(rule.Verbs), rule.Resources[0], err)
		}
	}
	return nil
}

// Token returns a token of the service account that has the documented rights
// and no more.
func (c *Cluster) Token(t testing.TB) string {
	t.Helper()
	token, err := c.token()
	must(t, err)
	return token
}

// newToken makes a token that outlasts the tests of a package.
func (c *Cluster) newToken(ctx context.Context, account string) (string, error) {
	seconds := int64(2 * 3600)
	token, err := c.Admin.CoreV1().ServiceAccounts(rightsNamespace).CreateToken(ctx, account,
		&authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: &seconds}}, metav1.CreateOptions{})
	if err != nil {
		return "", err
	}
	return token.Status.Token, nil
}

// TokenWith returns a token of a new service account that has these rights.
func (c *Cluster) TokenWith(t testing.TB, rules ...rbacv1.PolicyRule) string {
	t.Helper()
	token, _ := c.accountWith(t, rules...)
	return token
}

// TokenAnd returns a token of a new service account that has the documented
// rights and these.
func (c *Cluster) TokenAnd(t testing.TB, rules ...rbacv1.PolicyRule) string {
	t.Helper()
	return c.TokenWith(t, append(c.Rights(t), rules...)...)
}

func (c *Cluster) accountWith(t testing.TB, rules ...rbacv1.PolicyRule) (token, account string) {
	t.Helper()
	// The name tells whose account it is.
	name := Name(t, c.account+"-rights")
	if c.api != nil {
		return c.api.Account(name, rules...), name
	}
	ctx := t.Context()
	_, err := c.Admin.CoreV1().ServiceAccounts(rightsNamespace).Create(ctx, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
	must(t, err)
	_, err = c.Admin.RbacV1().ClusterRoles().Create(ctx, &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name}, Rules: rules}, metav1.CreateOptions{})
	must(t, err)
	must(t, c.bind(ctx, name, name))
	t.Cleanup(func() {
		ctx := context.Background()
		_ = c.Admin.RbacV1().ClusterRoleBindings().Delete(ctx, rightsNamespace+"-"+name, metav1.DeleteOptions{})
		_ = c.Admin.RbacV1().ClusterRoles().Delete(ctx, name, metav1.DeleteOptions{})
		_ = c.Admin.CoreV1().ServiceAccounts(rightsNamespace).Delete(ctx, name, metav1.DeleteOptions{})
	})
	must(t, c.allowed(ctx, name, rules))
	token, err = c.newToken(ctx, name)
	must(t, err)
	return token, name
}

// Provider returns a provider block with the documented rights.
func (c *Cluster) Provider(t testing.TB) map[string]any {
	t.Helper()
	return c.ProviderAt(t, c.REST.Host, c.Token(t))
}

// ProviderAt returns a provider block for an address and a token.
func (c *Cluster) ProviderAt(t testing.TB, host, token string) map[string]any {
	t.Helper()
	block := map[string]any{"host": host, "token": token}
	if ca := c.CA(t); strings.HasPrefix(host, "https") && ca != "" {
		block["cluster_ca_certificate"] = ca
	}
	return block
}

// CA returns the certificate authority of the API server in PEM.
func (c *Cluster) CA(t testing.TB) string {
	t.Helper()
	if len(c.REST.CAData) > 0 {
		return string(c.REST.CAData)
	}
	if c.REST.CAFile == "" {
		return ""
	}
	raw, err := os.ReadFile(c.REST.CAFile)
	must(t, err)
	return string(raw)
}

// Kubeconfig writes a kubeconfig with the documented rights and returns its
// path.
func (c *Cluster) Kubeconfig(t testing.TB) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "kubeconfig")
	content := fmt.Sprintf(`{"apiVersion":"v1","kind":"Config","current-context":"test",
"clusters":[{"name":"test","cluster":{"server":%q,"certificate-authority-data":%q}}],
"users":[{"name":"test","user":{"token":%q}}],
"contexts":[{"name":"test","context":{"cluster":"test","user":"test"}}]}`,
		c.REST.Host, base64.StdEncoding.EncodeToString([]byte(c.CA(t))), c.Token(t))
	must(t, os.WriteFile(path, []byte(content), 0o600))
	return path
}

// ID returns what tells this cluster from others.
func (c *Cluster) ID(t testing.TB) string {
	t.Helper()
	ns, err := c.Admin.CoreV1().Namespaces().Get(t.Context(), metav1.NamespaceSystem, metav1.GetOptions{})
	must(t, err)
	return string(ns.UID)
}
