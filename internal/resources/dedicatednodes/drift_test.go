// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package dedicatednodes_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/label"
)

func TestDedicatedNodes_driftIsNamedAndPutRight(t *testing.T) {
	t.Parallel()
	onFake(t, func(t *testing.T, c *acctest.Cluster) {
		p := newPool(t, c, "Deployment")
		tf, i := terraform(t, c), newInstance()
		w := wish{taints: "team=a:NoExecute", labels: "dedicated=gpu", workloads: map[string]string{"Deployment": pinned}}
		config := p.config(w)
		tf.Settle(t, i, config)
		deployment := func(patch string) {
			t.Helper()
			if _, err := c.Admin.AppsV1().Deployments(p.namespace).Patch(t.Context(), "deployment", types.MergePatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
				t.Fatal(err)
			}
		}
		node, web := "node/"+p.nodes[0], "Deployment/"+p.namespace+"/deployment"
		for _, tt := range []struct {
			name   string
			change func()
			where  string
			want   string
		}{
			{"a label of another owner is no drift", func() { c.Patch(t, p.nodes[0], `{"metadata":{"labels":{"other":"x"}}}`) }, node, ""},
			{"a taint that is gone", func() {
				c.Patch(t, p.nodes[0], `{"spec":{"taints":[{"key":"foreign","value":"1","effect":"NoSchedule"}]}}`)
			}, node, "missing"},
			{"a label that is gone", func() { c.Patch(t, p.nodes[0], `{"metadata":{"labels":{"dedicated":null}}}`) }, node, "missing"},
			{"a label with another value", func() { c.Patch(t, p.nodes[0], `{"metadata":{"labels":{"dedicated":"stolen"}}}`) }, node, "different"},
			{"a pin that is gone", func() { deployment(`{"spec":{"template":{"spec":{"nodeSelector":{"dedicated":null}}}}}`) }, web, "missing"},
			{"a toleration that is gone", func() {
				deployment(`{"spec":{"template":{"spec":{"tolerations":[{"key":"foreign","operator":"Exists"}]}}}}`)
			}, web, "missing"},
		} {
			tt.change()
			planned := tf.Plan(t, i, config)
			drift, _ := tf.Attributes(t, i)["drift"].(map[string]any)
			got, _ := drift[tt.where].(string)
			if got != tt.want || planned.Empty != (tt.want == "") {
				t.Fatalf("%s: the drift is %v and the plan is empty: %t", tt.name, drift, planned.Empty)
			}
			tf.Settle(t, i, config)
			p.want(w, "Deployment")
		}
		tf.Destroy(t, i)
		p.want(wish{}, "Deployment")
	})
}

func TestDedicatedNodes_selectorFollowsTheNodes(t *testing.T) {
	t.Parallel()
	onFake(t, func(t *testing.T, c *acctest.Cluster) {
		p := newPool(t, c, "DaemonSet")
		tf, i := terraform(t, c), newInstance()
		w := wish{taints: "team=a:NoExecute", labels: "dedicated=gpu", workloads: map[string]string{"DaemonSet": tolerating}}
		tf.Settle(t, i, p.config(w))
		c.Patch(t, p.nodes[0], `{"metadata":{"labels":{"pool":null}}}`)
		c.Patch(t, p.other, `{"metadata":{"labels":{"pool":"`+p.name+`"}}}`)
		if planned := tf.Plan(t, i, p.config(w)); planned.Empty {
			t.Fatalf("one node has come and one has gone, and the plan is empty: %v", tf.Attributes(t, i)["drift"])
		}
		tf.Settle(t, i, p.config(w))
		if taints, label := c.Taints(t, p.other), c.Get(t, p.other).Labels["dedicated"]; taints != "team=a:NoExecute" || label == "" {
			t.Fatalf("the node that came has the taints %q and the label %q", taints, label)
		}
		left := c.Get(t, p.nodes[0])
		if _, labelled := left.Labels["dedicated"]; len(left.Spec.Taints) != 1 || labelled {
			t.Fatalf("the node that left keeps %v %v", left.Spec.Taints, left.Labels)
		}
		tf.Destroy(t, i)
		if taints := c.Taints(t, p.other); taints != "" {
			t.Fatalf("the node keeps %q", taints)
		}
	})
}

func TestDedicatedNodes_namedNodesAreWaitedForAndChangeInPlace(t *testing.T) {
	t.Parallel()
	onFake(t, func(t *testing.T, c *acctest.Cluster) {
		tf, name := terraform(t, c), acctest.Name(t, "node")
		c.Node(t, acctest.Node{Name: name + "-a"})
		config := map[string]any{"node_names": []string{name + "-a", name + "-b"}, "taints": acctest.Objects(t, "team=a:NoSchedule"), "timeouts": map[string]any{"create": "8s"}}
		d := tf.Apply(t, newInstance(), config)
		acctest.WantAll(t, d.Warnings(), "1 node does not exist yet", name+"-b")
		acctest.WantAll(t, d.Errors(), `"node_names"`, `Unable to find node "`+name+`-b"`)
		if taints := c.Taints(t, name+"-a"); taints != "" {
			t.Fatalf("something was written: %q", taints)
		}

		delete(config, "timeouts")
		done := make(chan acctest.Diagnostics, 1)
		i := newInstance()
		proxy, waits := c.Proxy(t), make(chan struct{})
		var once sync.Once
		proxy.Spoil(func(r acctest.Request) acctest.Fault {
			if r.Watch && strings.HasSuffix(r.Path, "/nodes") {
				// The apply follows nodes, and this one was not among those it has listed.
				once.Do(func() { close(waits) })
			}
			return acctest.None
		})
		go func() { done <- (&acctest.Terraform{Provider: proxy.Provider(t, c)}).Apply(t, i, config) }()
		<-waits
		c.Node(t, acctest.Node{Name: name + "-b"})
		if d := <-done; d.Errors() != "" {
			t.Fatal(d.Errors())
		}
		tf.Settle(t, i, acctest.With(config, map[string]any{"node_names": []string{name + "-b"}}))
		for node, want := range map[string]string{"-a": "", "-b": "team=a:NoSchedule"} {
			if got := c.Taints(t, name+node); got != want {
				t.Errorf("node %s has the taints %q, want %q", node, got, want)
			}
		}
		tf.Destroy(t, i)
	})
}

// TestDedicatedNodes_failedCreateIsTakenUp fails a create at its first taint.
func TestDedicatedNodes_failedCreateIsTakenUp(t *testing.T) {
	t.Parallel()
	onFake(t, func(t *testing.T, c *acctest.Cluster) {
		p := newPool(t, c, "Deployment")
		proxy := c.Proxy(t)
		tf, i := &acctest.Terraform{Provider: proxy.Provider(t, c)}, newInstance()
		w := wish{taints: "team=a:NoExecute", labels: "dedicated=gpu", workloads: map[string]string{"Deployment": pinned}}
		writes := 0
		proxy.Spoil(func(r acctest.Request) acctest.Fault {
			if r.Write() && strings.HasSuffix(r.Path, p.nodes[1]) {
				if writes++; writes == 2 {
					return http.StatusForbidden
				}
			}
			return acctest.None
		})
		d := tf.Apply(t, i, p.config(w))
		acctest.WantAll(t, d.Errors(), "Apply again to continue where it stopped", "no permission")
		if i.Exists() {
			t.Fatal("a create that failed has saved a state")
		}
		proxy.Spoil(nil)
		p.wantOwned("Deployment")
		acctest.WantAll(t, tf.Plan(t, i, p.config(w)).Diagnostics.Warnings(), "Creating adopts entries of", p.nodes[0], fmt.Sprintf("Deployment \"%s/deployment\": team=a:NoExecute", p.namespace))
		tf.Settle(t, i, p.config(w))
		p.want(w, "Deployment")
		tf.Destroy(t, i)
		p.want(wish{}, "Deployment")
	})
}

func TestDedicatedNodes_importThenPlanIsEmptyAndNothingIsWritten(t *testing.T) {
	t.Parallel()
	onFake(t, func(t *testing.T, c *acctest.Cluster) {
		p := newPool(t, c, "DaemonSet", "Deployment")
		proxy := c.Proxy(t)
		tf := &acctest.Terraform{Provider: proxy.Provider(t, c)}
		w := wish{taints: "team=a:NoExecute zone:NoSchedule", labels: "dedicated=gpu", workloads: map[string]string{"Deployment": pinned, "DaemonSet": tolerating}}
		tf.Settle(t, newInstance(), p.config(w))
		proxy.Spoil(nil)
		i, d := tf.Import(t, typeName, "selector/pool="+p.name+"/team:NoExecute,zone:NoSchedule")
		if d.Errors() != "" {
			t.Fatal(d.Errors())
		}
		if planned := tf.Plan(t, i, p.config(w)); !planned.Empty || len(planned.Diagnostics) > 0 {
			t.Fatalf("the plan after an import is not empty: %v %s%s", tf.Attributes(t, i), planned.Diagnostics.Errors(), planned.Diagnostics.Warnings())
		}
		for _, r := range proxy.Requests() {
			if r.Write() {
				t.Fatalf("%s %s was sent", r.Method, r.Path)
			}
		}
		tf.Destroy(t, i)
		p.want(wish{}, "DaemonSet", "Deployment")
	})
}

// A user who may write a node's annotations has forged a mark of its host's name.
func TestDedicatedNodes_importAndDestroyKeepReservedLabels(t *testing.T) {
	t.Parallel()
	onFake(t, func(t *testing.T, c *acctest.Cluster) {
		tf, name := terraform(t, c), acctest.Name(t, "node")
		c.Node(t, acctest.Node{Name: name})
		config := map[string]any{"node_names": []string{name}, "taints": acctest.Objects(t, "team=a:NoExecute"), "labels": map[string]any{"dedicated": "gpu"}}
		first := newInstance()
		tf.Settle(t, first, config)
		err := c.EditNode(t.Context(), name, func(n *corev1.Node) {
			n.Labels[corev1.LabelHostname] = name
			n.Annotations[label.OwnedAnnotation] = strings.ReplaceAll(n.Annotations[label.OwnedAnnotation], `"dedicated"`, `"`+corev1.LabelHostname+`"`)
		})
		if err != nil {
			t.Fatal(err)
		}
		i, d := tf.Import(t, typeName, "nodes/"+name+"/team:NoExecute")
		if d.Errors() != "" {
			t.Fatal(d.Errors())
		}
		if labels, is := tf.Attributes(t, i)["labels"].(map[string]any); is && len(labels) > 0 {
			t.Errorf("the import takes over the labels %v", labels)
		}
		tf.Destroy(t, i)
		if n := c.Get(t, name); n.Labels[corev1.LabelHostname] != name {
			t.Errorf("the node keeps the labels %v", n.Labels)
		}
	})
}

func TestDedicatedNodes_importTakesTaintsWithoutARecord(t *testing.T) {
	t.Parallel()
	onFake(t, func(t *testing.T, c *acctest.Cluster) {
		tf, name := terraform(t, c), acctest.Name(t, "node")
		c.Node(t, acctest.Node{Name: name, Taints: acctest.Parse(t, "foreign:NoSchedule team=a:NoExecute")})
		i, d := tf.Import(t, typeName, "nodes/"+name+"/team:NoExecute")
		if d.Errors() != "" {
			t.Fatal(d.Errors())
		}
		config := map[string]any{"node_names": []string{name}, "taints": acctest.Objects(t, "team=a:NoExecute")}
		if planned := tf.Plan(t, i, config); !planned.Empty {
			t.Fatalf("the plan after an import is not empty: %v", tf.Attributes(t, i))
		}
		tf.Settle(t, i, acctest.With(config, map[string]any{"labels": map[string]any{"dedicated": "gpu"}}))
		tf.Destroy(t, i)
		if taints := c.Taints(t, name); taints != "foreign:NoSchedule" {
			t.Fatalf("the node keeps %q", taints)
		}
	})
}
