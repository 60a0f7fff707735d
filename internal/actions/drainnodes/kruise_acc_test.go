// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package drainnodes_test

import (
	"context"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
)

// stageOn makes a stage on this cluster.
func stageOn(t *testing.T, c *acctest.Cluster) *stage {
	t.Helper()
	s := &stage{T: t, c: c, cli: acctest.NewCLI(t), pool: acctest.Name(t, "pool")}
	s.cli.NeedTerraform(14)
	s.apps = s.c.Namespace(t)
	for _, name := range []string{s.node("a"), s.node("b")} {
		s.c.Node(t, acctest.Node{Name: name, Labels: map[string]string{"pool": s.pool, "node": name}})
	}
	return s
}

// TestAccDrainNodes_theRealControllersOfOpenKruise: a DaemonSet of OpenKruise is none of those
// that a drain leaves alone, as kubectl compares the API group. Its controller makes the pod
// again immediately, and the drain ends all the same.
func TestAccDrainNodes_theRealControllersOfOpenKruise(t *testing.T) {
	t.Parallel()
	c := acctest.Kruise(t)
	s := stageOn(t, c)
	labels := map[string]any{"app": "agent"}
	c.Make(t, acctest.Thing{APIVersion: "apps.kruise.io/v1beta1", Kind: "DaemonSet", Namespace: s.apps, Name: "agent"}, map[string]any{"spec": map[string]any{
		"selector": map[string]any{"matchLabels": labels}, "burstReplicas": 250, "revisionHistoryLimit": 10,
		"template": map[string]any{"metadata": map[string]any{"labels": labels}, "spec": map[string]any{
			"nodeSelector": map[string]any{"node": s.node("a")}, "terminationGracePeriodSeconds": 0,
			"containers": []any{map[string]any{"name": "main", "image": "registry.k8s.io/pause:3.10.2"}},
		}},
		"updateStrategy": map[string]any{"type": "RollingUpdate", "rollingUpdate": map[string]any{"rollingUpdateType": "Standard", "partition": 0, "maxUnavailable": 1, "maxSurge": 0}},
	}})
	c.Running(t, s.apps, "agent", 1)
	left := c.Still(t, s.apps)
	s.cli.Write(c.Provider(t), s.byName())
	s.apply("draining node "+s.node("a")+": evicting 1 pod", "node "+s.node("a")+" is drained")
	if names := left(); len(names) > 0 {
		t.Errorf("the drain has left %v", names)
	}
	acctest.Until(t, "its controller has made the pod again", func(ctx context.Context) (bool, error) {
		pods, err := c.Admin.CoreV1().Pods(s.apps).List(ctx, metav1.ListOptions{FieldSelector: "spec.nodeName=" + s.node("a")})
		return err == nil && len(pods.Items) == 1 && pods.Items[0].DeletionTimestamp == nil, err
	})
}
