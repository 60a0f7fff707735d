// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package nodetaints_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
)

// TestAccNodeTaints_onlyIsPastedFromWhatTheCommandLinePrints: what a person selects in the terminal, with the
// frame taken off, is the whole attribute.
func TestAccNodeTaints_onlyIsPastedFromWhatTheCommandLinePrints(t *testing.T) {
	t.Parallel()
	c, cli := acctest.Connect(t), acctest.NewCLI(t)
	name, apps := acctest.Name(t, "node"), c.Namespace(t)
	c.Node(t, acctest.Node{Name: name, Labels: map[string]string{"pool": name}})
	c.Deployment(t, apps, "web", 2, func(spec *corev1.PodSpec) { spec.NodeSelector = map[string]string{"pool": name} })
	c.Running(t, apps, "web", 2)
	c.Pod(t, apps, "debug", name, nil)
	write := func(evictions string) {
		cli.Write(c.Provider(t), fmt.Sprintf("resource %q \"this\" {\n  node_name = %q\n  taints = [{ key = \"dedicated\", value = \"gpu\", effect = \"NoExecute\" }]\n%s\n}\n", typeName, name, evictions))
	}
	write("  evictions = { only = [] }")
	out, ok := cli.Run("plan", "-input=false", "-no-color")
	if ok {
		t.Fatalf("no eviction is approved, and the plan succeeds:\n%s", out)
	}
	acctest.WantAll(t, acctest.Unfold(out), "3 pods of "+apps+"/Pod/debug and 1 more workload would be evicted, and evictions.only = [] allows none")
	unframed := regexp.MustCompile(`(?m)^│ ?`).ReplaceAllString(out, "")
	_, list, found := strings.Cut(unframed, "To approve these evictions, set:\n\n")
	list, _, closed := strings.Cut(list, "\n  }\n")
	if !found || !closed {
		t.Fatalf("there is no list:\n%s", out)
	}
	write(list + "\n  }")
	cli.MustRun("apply", "-auto-approve", "-input=false")
	wantTaints(t, c, name, "dedicated=gpu:NoExecute")
	cli.MustRun("destroy", "-auto-approve", "-input=false")
}
