// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package acctest

import (
	"context"
	"net/http"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/util/retry"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/fakeapi"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/fakeapi/controllers"
)

// lingering is longer than the provider's watches outlive an apply.
const lingering = 2 * time.Minute

// OnFake runs a test on an in-memory API server of its own, in a bubble of testing/synctest,
// where waiting takes no time. The server also serves the custom kinds. No controller runs:
// a node is ready immediately, pods on it run immediately, and nothing evicts them.
//
// A bubble has no subtests: a test with subtests calls OnFake in each of them.
func OnFake(t *testing.T, test func(t *testing.T, c *Cluster), custom ...fakeapi.Kind) {
	t.Helper()
	onServer(t, func(*fakeapi.Server) {}, test, custom)
}

// OnFakeWithControllers does so beside the small controllers of package
// fakeapi/controllers: workloads have pods that follow their templates, pods are scheduled
// and run, and taints evict them. How the real ones go about it is not shown.
func OnFakeWithControllers(t *testing.T, test func(t *testing.T, c *Cluster), custom ...fakeapi.Kind) {
	t.Helper()
	onServer(t, controllers.Start, test, custom)
}

func onServer(t *testing.T, start func(*fakeapi.Server), test func(t *testing.T, c *Cluster), custom []fakeapi.Kind) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		api := fakeapi.New(custom...)
		// Runs last. Every goroutine must end before the bubble does.
		t.Cleanup(func() {
			api.Close()
			time.Sleep(lingering)
		})
		start(api)
		test(t, onFake(t, api))
	})
}

// onFake returns the cluster of an in-memory API server.
func onFake(t testing.TB, api *fakeapi.Server) *Cluster {
	t.Helper()
	transport := api.Client()
	c := &Cluster{REST: api.Config(), api: api, account: rightsName}
	c.REST.Host = serveInProcess(t, transport)
	c.REST.Transport = transport
	c.REST.Wrap(func(rt http.RoundTripper) http.RoundTripper { return seeing{rt} })
	admin, err := kubernetes.NewForConfig(c.REST)
	must(t, err)
	c.Admin = admin
	c.onward = func() (http.RoundTripper, error) { return transport, nil }
	rights := c.Rights(t)
	c.token = sync.OnceValues(func() (string, error) { return api.Account(rightsName, rights...), nil })
	return c
}

// inProcess are the transports that lead to servers in this process, by address.
var inProcess sync.Map

// serveInProcess gives a transport an address until the test ends. Providers that are
// configured with the address use the transport in place of the network.
func serveInProcess(t testing.TB, transport http.RoundTripper) (address string) {
	t.Helper()
	// client-go sends tokens to https alone.
	address = "https://" + Name(t, "fake") + ".test"
	inProcess.Store(address, transport)
	t.Cleanup(func() { inProcess.Delete(address) })
	return address
}

// transportTo returns the transport to an address in this process, nil for any other one.
func transportTo(address any) http.RoundTripper {
	host, _ := address.(string)
	transport, _ := inProcess.Load(host)
	out, _ := transport.(http.RoundTripper)
	return out
}

// join makes a node of the fake ready and removes the taint that new nodes begin with, as a
// kubelet and the node lifecycle controller do.
func (c *Cluster) join(ctx context.Context, n Node) error {
	if err := c.EditNode(ctx, n.Name, func(node *corev1.Node) {
		node.Spec.Taints = slices.DeleteFunc(node.Spec.Taints, taint.Joining)
	}); err != nil {
		return err
	}
	return retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		node, err := c.Admin.CoreV1().Nodes().Get(ctx, n.Name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if node.Status.Allocatable = n.Allocatable; n.Allocatable == nil && !n.Quiet {
			node.Status.Allocatable = corev1.ResourceList{
				corev1.ResourceCPU: resource.MustParse("1k"), corev1.ResourceMemory: resource.MustParse("1Ti"), corev1.ResourcePods: resource.MustParse("1M"),
			}
		}
		node.Status.Capacity = node.Status.Allocatable
		return c.setReady(ctx, node)
	})
}

// run makes a pod of the fake running where its node has a kubelet.
func (c *Cluster) run(t testing.TB, p *corev1.Pod) *corev1.Pod {
	t.Helper()
	if p.Spec.NodeName == "" || c.Get(t, p.Spec.NodeName).Annotations[played] == "" {
		return p
	}
	running := p
	// A controller of the fake may write the same status in parallel.
	must(t, retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		running.Status.Phase = corev1.PodRunning
		running.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
		written, err := c.Admin.CoreV1().Pods(p.Namespace).UpdateStatus(t.Context(), running, metav1.UpdateOptions{})
		if apierrors.IsConflict(err) {
			fresh, getErr := c.Admin.CoreV1().Pods(p.Namespace).Get(t.Context(), p.Name, metav1.GetOptions{})
			if getErr != nil {
				return getErr
			}
			running = fresh
			return err
		}
		if err == nil {
			running = written
		}
		return err
	}))
	return running
}

// audited returns the requests of an account of the fake from a number on.
func audited(api *fakeapi.Server, account string, from int) []AuditedRequest {
	var out []AuditedRequest
	for _, e := range api.Audit()[from:] {
		if e.User == account {
			out = append(out, AuditedRequest{
				Verb: e.Verb, Resource: e.Resource, Namespace: e.Namespace, Name: e.Name, UserAgent: e.UserAgent, Code: e.Code,
				DryRun: e.DryRun || e.Resource == "selfsubjectrulesreviews",
			})
		}
	}
	return out
}
