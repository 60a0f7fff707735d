// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package drainnodes_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
)

// cloud plays a cloud provider's API: the machines of a pool are created and deleted as the
// provisioners of terraform_data ask for it, by files.
type cloud struct {
	*stage
	dir string
}

// newCloud has no pool yet. Its command line has before_destroy.
func newCloud(t *testing.T) *cloud {
	t.Helper()
	return newCloudFor(t, 16)
}

// newCloudFor is the same for Terraform 1.MINOR and later.
func newCloudFor(t *testing.T, minor int) *cloud {
	t.Helper()
	c := acctest.Connect(t)
	s := &cloud{stage: &stage{T: t, c: c, cli: acctest.NewCLI(t), pool: acctest.Name(t, "pool")}, dir: t.TempDir()}
	s.cli.NeedTerraform(minor)
	s.apps = s.c.Namespace(t)
	s.serve()
	return s
}

// node makes one of a pool, which takes the pods of the test.
func (s *cloud) node(pool, number string) {
	s.Helper()
	s.c.Node(s.T, acctest.Node{Name: s.pool + "-" + pool + number, Labels: map[string]string{"fleet": s.pool, "pool": s.pool + "-" + pool}})
}

// serve answers requests until the test ends.
func (s *cloud) serve() {
	ctx, done := s.Context(), make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		for ctx.Err() == nil {
			asked, _ := filepath.Glob(filepath.Join(s.dir, "*.ask"))
			for _, file := range asked {
				verb, pool, _ := strings.Cut(strings.TrimSuffix(filepath.Base(file), ".ask"), "-")
				s.answer(file, verb, pool)
			}
			select {
			case <-ctx.Done():
			case <-tick.C:
			}
		}
	}()
	s.Cleanup(func() { <-done })
}

// answer creates machines, deletes them with their pods, or upgrades them, which is the one after the
// other.
func (s *cloud) answer(file, verb, pool string) {
	defer func() {
		// The command line waits for it, even where the test has failed.
		if err := os.Rename(file, strings.TrimSuffix(file, ".ask")+".done"); err != nil {
			s.Error(err)
		}
	}()
	if verb == "create" && s.there(pool) {
		return
	}
	for _, number := range []string{"1", "2"} {
		if verb != "create" {
			s.c.DeleteNode(s.T, s.pool+"-"+pool+number)
		}
		if verb != "delete" {
			s.node(pool, number)
		}
	}
}

// there reports whether the machines of a pool are.
func (s *cloud) there(pool string) bool {
	s.Helper()
	_, err := s.c.Admin.CoreV1().Nodes().Get(s.Context(), s.pool+"-"+pool+"1", metav1.GetOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		s.Fatal(err)
	}
	return err == nil
}

// request is a shell command that asks the cloud for something and waits until it is done, five minutes
// at most: there is no answer once a request has failed the test.
func (s *cloud) request(verb string) string {
	return fmt.Sprintf(`f=%s/%s-${self.input}; rm -f $f.done; touch $f.ask; n=0; until [ -e $f.done ]; do n=$((n + 1)); [ $n -lt 6000 ] || exit 1; sleep 0.05; done`, s.dir, verb)
}

// pools is a configuration of pools.
type pools struct {
	names []string
	// generation replaces the machines where it changes.
	generation int
	// lifecycle and trigger are more attributes of the pools and of what triggers the drain.
	lifecycle, trigger string
	// drain are more attributes of the action.
	drain []string
}

// write writes the configuration. Destroy provisioners run before actions: so the machines are a
// resource of their own, which goes after the pool.
func (s *cloud) write(p pools) {
	s.Helper()
	s.writeAt(s.c.Provider(s.T), p)
}

func (s *cloud) writeAt(provider map[string]any, p pools) {
	s.Helper()
	names := strings.ReplaceAll(fmt.Sprintf("%q", p.names), `" "`, `", "`)
	s.cli.Write(provider, fmt.Sprintf(`
resource "terraform_data" "machines" {
  for_each         = toset(%[1]s)
  input            = each.key
  triggers_replace = %[2]d
  provisioner "local-exec" {
    command = %[3]q
  }
  provisioner "local-exec" {
    when    = destroy
    command = %[4]q
  }
  lifecycle {
    %[5]s
  }
}

resource "terraform_data" "pool" {
  for_each         = toset(%[1]s)
  input            = each.key
  triggers_replace = terraform_data.machines[each.key].id
  lifecycle {
    %[5]s
    action_trigger {
      events  = [before_destroy]
      actions = [action.kubetaint_drain_nodes.pool]
      %[6]s
    }
  }
}

action "kubetaint_drain_nodes" "pool" {
  config {
    node_selector = "pool=%[7]s-${caller.input}"
    %[8]s
  }
}
`, names, p.generation, s.request("create"), s.request("delete"), p.lifecycle, p.trigger, s.pool, strings.Join(p.drain, "\n    ")))
}

// runs applies pools, and then runs an app on them.
func (s *cloud) runs(p pools, app string, replicas int32) {
	s.Helper()
	s.write(p)
	s.cli.MustRun("apply", "-auto-approve", "-input=false")
	s.c.Deployment(s.T, s.apps, app, replicas, func(spec *corev1.PodSpec) { spec.NodeSelector = map[string]string{"fleet": s.pool} })
	s.c.Running(s.T, s.apps, app, int(replicas))
}

// spare adds a node beside the pools.
func (s *cloud) spare() {
	s.Helper()
	s.node("spare", "")
}

// home brings the pods of an app from the spare node back to the pools.
func (s *cloud) home(app string, pods int) {
	s.Helper()
	spare := s.pool + "-spare"
	cordon := func(on bool) {
		if err := s.c.EditNode(s.Context(), spare, func(n *corev1.Node) { n.Spec.Unschedulable = on }); err != nil {
			s.Fatal(err)
		}
	}
	s.c.Cordon(s.T, s.apps, spare)
	none := int64(0)
	if err := s.c.Admin.CoreV1().Pods(s.apps).DeleteCollection(s.Context(), metav1.DeleteOptions{GracePeriodSeconds: &none}, metav1.ListOptions{FieldSelector: "spec.nodeName=" + spare}); err != nil {
		s.Fatal(err)
	}
	s.c.Running(s.T, s.apps, app, pods)
	cordon(false)
}

// wants expects that these of the pools are there, and the others are not.
func (s *cloud) wants(pools ...string) {
	s.Helper()
	for _, pool := range []string{"blue", "green"} {
		if got := s.there(pool); got != slices.Contains(pools, pool) {
			s.Fatalf("the machines of pool %s are there: %v", pool, got)
		}
	}
}

// label writes a label of a node.
func (s *cloud) label(node, key, value string) {
	s.Helper()
	if err := s.c.EditNode(s.Context(), s.pool+"-"+node, func(n *corev1.Node) { n.Labels[key] = value }); err != nil {
		s.Error(err)
	}
}
