// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package drainnodes_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
)

// TestDrainNodes_waitsForReplacementsByDefault: a controller of an unknown kind recreates the pod
// after a minute.
func TestDrainNodes_waitsForReplacementsByDefault(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		more  map[string]any
		waits bool
	}{
		"default":      {nil, true},
		"switched on":  {map[string]any{"wait_for_replacements": true}, true},
		"switched off": {map[string]any{"wait_for_replacements": false}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			acctest.OnFake(t, func(t *testing.T, c *acctest.Cluster) {
				pool, apps, tf := acctest.Name(t, "pool"), c.Namespace(t), &acctest.Terraform{Provider: c.Provider(t)}
				for _, node := range []string{"-a", "-b"} {
					c.Node(t, acctest.Node{Name: pool + node, Labels: map[string]string{"pool": pool}})
				}
				owned, yes := metav1.OwnerReference{APIVersion: "example.com/v1", Kind: "Server", Name: "web", UID: "web"}, true
				owned.Controller = &yes
				run := func(name, node string) {
					c.Pod(t, apps, name, pool+node, func(p *corev1.Pod) { p.OwnerReferences = []metav1.OwnerReference{owned} })
				}
				run("web-1", "-a")
				walk := tf.Walk(t)
				walk.Between = func() { time.AfterFunc(time.Minute, func() { run("web-2", "-b") }) }
				config := map[string]any{"node_name": pool + "-a", "grace_period_seconds": 0}
				for key, value := range tt.more {
					config[key] = value
				}
				began := time.Now()
				if d := walk.Invoke("kubetaint_drain_nodes", config); d.Errors() != "" {
					t.Fatal(d.Errors())
				}
				if waited := time.Since(began) >= time.Minute; waited != tt.waits {
					t.Errorf("it took %s", time.Since(began))
				}
				time.Sleep(time.Minute)
			})
		})
	}
}
