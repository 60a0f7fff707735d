// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package drainnodes_test

import (
	"context"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
)

const invoke = "-invoke=action.kubetaint_drain_nodes.this"

// stage is a pool of two nodes with a Deployment on them, and a command line.
type stage struct {
	*testing.T
	c          *acctest.Cluster
	cli        *acctest.CLI
	pool, apps string
}

func newStage(t *testing.T) *stage {
	t.Helper()
	return stageOn(t, acctest.Connect(t))
}

func (s *stage) node(name string) string { return s.pool + "-" + name }

// on runs a Deployment on one node alone, whose pods find no other.
func (s *stage) on(node, name string, replicas int32, change func(*corev1.PodSpec)) {
	s.Helper()
	s.c.Deployment(s.T, s.apps, name, replicas, func(spec *corev1.PodSpec) {
		spec.NodeSelector = map[string]string{"node": node}
		if change != nil {
			change(spec)
		}
	})
}

// hcl is a configuration of the action.
func hcl(attributes ...string) string {
	return "action \"kubetaint_drain_nodes\" \"this\" {\n  config {\n    " + strings.Join(attributes, "\n    ") + "\n  }\n}\n"
}

func (s *stage) byName(more ...string) string {
	return hcl(append([]string{fmt.Sprintf("node_name = %q", s.node("a"))}, more...)...)
}

func (s *stage) bySelector(more ...string) string {
	return hcl(append([]string{fmt.Sprintf("node_selector = %q", "pool="+s.pool)}, more...)...)
}

// apply invokes the action, and expects that it succeeds.
func (s *stage) apply(parts ...string) {
	s.Helper()
	s.says(s.cli.MustRun("apply", "-auto-approve", "-input=false", invoke), parts...)
}

// fails runs a command, and expects that it fails.
func (s *stage) fails(args []string, parts ...string) {
	s.Helper()
	out, ok := s.cli.Run(args...)
	if ok {
		s.Fatalf("%v did not fail:\n%s", args, out)
	}
	s.says(out, parts...)
}

func (s *stage) says(printed string, parts ...string) {
	s.Helper()
	acctest.WantAll(s.T, acctest.Unfold(printed), parts...)
}

// open lets pods come to a node that look for "open".
func (s *stage) open(node string) {
	s.Helper()
	s.edit(node, func(n *corev1.Node) { n.Labels["open"] = s.pool })
}

func (s *stage) edit(node string, change func(*corev1.Node)) {
	s.Helper()
	if err := s.c.EditNode(s.Context(), s.node(node), change); err != nil {
		s.Fatal(err)
	}
}

// cordoned expects that these of the two nodes are, and the others are not.
func (s *stage) cordoned(want ...string) {
	s.Helper()
	for _, name := range []string{"a", "b"} {
		if got := s.c.Get(s.T, s.node(name)).Spec.Unschedulable; got != slices.Contains(want, name) {
			s.Fatalf("node %s is cordoned: %v", name, got)
		}
	}
}

// pods names the running pods of a node by their app, sorted.
func (s *stage) pods(node string) string {
	s.Helper()
	list, err := s.c.Admin.CoreV1().Pods(s.apps).List(s.Context(), metav1.ListOptions{FieldSelector: "spec.nodeName=" + node})
	if err != nil {
		s.Fatal(err)
	}
	var out []string
	for _, p := range list.Items {
		if p.DeletionTimestamp == nil {
			out = append(out, p.Labels["app"])
		}
	}
	slices.Sort(out)
	return strings.Join(out, " ")
}

var apply = []string{"apply", "-auto-approve", "-input=false", invoke}

// TestAccDrainNodes_evictsAndTellsItsProgress: the pods move to the other node, those of
// DaemonSets stay, and the node stays cordoned.
func TestAccDrainNodes_evictsAndTellsItsProgress(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.c.DaemonSet(t, s.apps, "agent", 2, func(spec *corev1.PodSpec) { spec.NodeSelector = map[string]string{"pool": s.pool} })
	// The scheduler may know two nodes as of two different moments. So the pods
	// begin where they are drained: the other node comes to suit them later.
	s.open("a")
	s.c.Deployment(t, s.apps, "web", 6, func(spec *corev1.PodSpec) { spec.NodeSelector = map[string]string{"open": s.pool} })
	s.open("b")
	s.cli.Write(s.c.Provider(t), s.byName())
	a := s.node("a")
	if got := s.pods(a); got != "agent"+strings.Repeat(" web", 6) {
		t.Fatalf("node a has %q", got)
	}
	s.apply(`Draining node "`+a+`" evicts `, "Deployment "+s.apps+"/web", "node "+a+" is cordoned", "draining node "+a+": evicting ", "waiting for ", "is being evicted", "node "+a+" is drained", "1 node drained and cordoned")
	s.cordoned("a")
	if got := s.pods(a); got != "agent" {
		t.Fatalf("node a has %q", got)
	}
	s.c.Running(t, s.apps, "web", 6)
	if got := s.pods(s.node("b")); got != "agent"+strings.Repeat(" web", 6) {
		t.Fatalf("node b has %q", got)
	}
	s.apply("draining node " + a + ": evicting 0 pods")
}

// TestAccDrainNodes_aBudgetIsAskedAgain: what stands still is told with its reason, and
// the drain goes on by itself once it may.
func TestAccDrainNodes_aBudgetIsAskedAgain(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.on(s.node("a"), "db", 1, nil)
	letGo := s.c.Budget(t, s.apps, "strict", "db")
	s.cli.Write(s.c.Provider(t), s.byName())
	cmd := s.cli.Command(apply...)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	held := regexp.MustCompile(`waiting for 1 pod of node ` + s.node("a") + `: pod ` + s.apps + `/db-\S+ cannot be evicted yet: The disruption budget strict needs`)
	var printed strings.Builder
	buffer := make([]byte, 4096)
	for {
		n, err := out.Read(buffer)
		printed.Write(buffer[:n])
		if held.MatchString(acctest.Unfold(printed.String())) {
			letGo()
		}
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := cmd.Wait(); err != nil {
		t.Fatalf("%v:\n%s", err, printed.String())
	}
	if !held.MatchString(acctest.Unfold(printed.String())) {
		t.Fatalf("nothing tells what holds the drain:\n%s", printed.String())
	}
	s.says(printed.String(), "node "+s.node("a")+" is drained")
	if got := s.pods(s.node("a")); got != "" {
		t.Fatalf("node a has %q", got)
	}
}

// TestAccDrainNodes_timeoutSaysWhatIsLeft: which nodes are cordoned, which are drained,
// and which pods are held by what; the next invocation goes on.
func TestAccDrainNodes_timeoutSaysWhatIsLeft(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.on(s.node("a"), "web", 2, nil)
	s.on(s.node("b"), "db", 1, nil)
	letGo := s.c.Budget(t, s.apps, "strict", "db")
	s.cli.Write(s.c.Provider(t), s.bySelector(`timeout = "45s"`))
	a, b := s.node("a"), s.node("b")
	s.fails(apply, `Unable to drain nodes matching "pool=`+s.pool+`": the drain timed out`, `The drain was waiting for 1 pod of node "`+b+`":`,
		"cannot be evicted yet: The disruption budget strict needs", "These nodes are cordoned, and stay so: "+a+", "+b+". Of these are drained: "+a+".", "it continues with the nodes that are left", "kubectl uncordon "+a+" "+b)
	s.cordoned("a", "b")
	s.says(s.cli.MustRun("plan", "-input=false", invoke), "Cordoned already, by an earlier drain or by another user: "+a+", "+b)
	letGo()
	s.cli.Write(s.c.Provider(t), s.bySelector())
	s.apply("node "+b+" is drained", "2 nodes drained and cordoned")
	if got := s.pods(b); got != "" {
		t.Fatalf("node b has %q", got)
	}
}

// TestAccDrainNodes_timeoutWhileItAsksSaysWhatIsLeft ends in the middle of an eviction that
// is asked for again: what held it before that is told all the same.
func TestAccDrainNodes_timeoutWhileItAsksSaysWhatIsLeft(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.on(s.node("a"), "db", 1, nil)
	s.c.Budget(t, s.apps, "strict", "db")
	proxy, over := s.c.Proxy(t), make(chan struct{})
	defer close(over)
	var asked atomic.Int64
	proxy.Spoil(func(r acctest.Request) acctest.Fault {
		if strings.HasSuffix(r.Path, "/eviction") && asked.Add(1) > 1 {
			<-over
			return acctest.CutBefore
		}
		return acctest.None
	})
	s.cli.Write(proxy.Provider(t, s.c), s.byName(`timeout = "15s"`))
	s.fails(apply, "the drain timed out", `The drain was waiting for 1 pod of node "`+s.node("a")+`":`, "cannot be evicted yet: The disruption budget strict needs", "find out why these pods are not deleted")
	if asked.Load() < 2 {
		t.Fatal("no eviction was asked for again: the test shows nothing")
	}
}

// TestAccDrainNodes_refusals is what is refused before anything is written.
func TestAccDrainNodes_refusals(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.on(s.node("a"), "cache", 1, func(spec *corev1.PodSpec) {
		spec.Volumes = []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}}
	})
	s.c.Pod(t, s.apps, "bare", s.node("b"), nil)
	s.c.DaemonSet(t, s.apps, "agent", 2, func(spec *corev1.PodSpec) { spec.NodeSelector = map[string]string{"pool": s.pool} })
	for name, tt := range map[string]struct {
		config string
		want   []string
	}{
		"local data":                      {s.byName(), []string{"1 pod stops the drain", "has local data (emptyDir) that would be lost: set delete_local_data = true", "Nothing has been written."}},
		"a pod without a controller":      {s.bySelector("delete_local_data = true"), []string{"pod " + s.apps + "/bare on node " + s.node("b") + " has no controller"}},
		"DaemonSets that are not ignored": {s.bySelector("ignore_daemon_sets = false"), []string{"4 pods stop the drain", "is owned by a DaemonSet, which would recreate it immediately"}},
		"a node that there is not":        {hcl(`node_name = "nobody"`), []string{"There is no node of this name"}},
		"neither a name nor a selector":   {hcl(), []string{"node_name", "node_selector"}},
		"both":                            {s.byName(`node_selector = "a=b"`), []string{"node_name", "node_selector"}},
		"an empty selector":               {hcl(`node_selector = ""`), []string{"An empty selector would match everything"}},
		"a grace period below zero":       {s.byName("grace_period_seconds = -1"), []string{"grace_period_seconds", "at least 0"}},
	} {
		s.cli.Write(s.c.Provider(t), tt.config)
		out, ok := s.cli.Run(apply...)
		if ok {
			t.Fatalf("%s: it was not refused:\n%s", name, out)
		}
		s.says(out, tt.want...)
	}
	s.cordoned()
	s.cli.Write(s.c.Provider(t), hcl(`node_selector = "pool=`+s.pool+`-nobody"`))
	s.says(s.cli.MustRun(apply...), "No node matches")
	s.cli.Write(s.c.Provider(t), s.byName("delete_local_data = true"))
	s.apply("node " + s.node("a") + " is drained")
}

// TestAccDrainNodes_podsOfTwoBudgetsAreRefused: the eviction API never evicts them, so that
// the drain would wait until its time is over.
func TestAccDrainNodes_podsOfTwoBudgetsAreRefused(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.on(s.node("a"), "db", 1, nil)
	s.c.Budget(t, s.apps, "strict", "db")
	second := s.c.Budget(t, s.apps, "stricter", "db")
	s.cli.Write(s.c.Provider(t), s.byName())
	for _, args := range [][]string{{"plan", "-input=false", invoke}, apply} {
		s.fails(args, "1 pod stops the drain", "is covered by 2 PodDisruptionBudgets (strict, stricter), and the eviction API evicts no pod that more than one covers: delete all but one of them, or narrow their selectors (kubectl get pdb -n "+s.apps+" -o yaml)", "Nothing has been written.")
	}
	s.cordoned()
	second()
	s.says(s.cli.MustRun("plan", "-input=false", invoke), "PDB allows 0")
}

// TestAccDrainNodes_budget is checked at plan, and again right before the first write.
func TestAccDrainNodes_budget(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.cli.Write(s.c.Provider(t), s.byName(fmt.Sprintf("evictions = { protected_namespaces = [%q] }", s.apps)))
	s.cli.MustRun("plan", "-input=false", "-out=plan", invoke)
	s.on(s.node("a"), "web", 1, nil)
	want := []string{`Unable to drain node "` + s.node("a") + `": 1 pod of protected namespaces would be evicted`, s.apps + "/web-", "Nothing has been written.", "Tolerations do not keep these pods", "protected_namespaces in evictions"}
	s.fails([]string{"plan", "-input=false", invoke}, want...)
	s.fails([]string{"apply", "-input=false", "plan"}, want...)
	s.cordoned()
}

// TestAccDrainNodes_kill9AfterEachWrite kills the real provider process after each
// single write, and invokes the action again.
func TestAccDrainNodes_kill9AfterEachWrite(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	kills := 0
	for writes := range acctest.Kills(3) {
		for _, name := range []string{"a", "b"} {
			s.edit(name, func(n *corev1.Node) { n.Spec.Unschedulable = false })
		}
		for _, name := range []string{"a", "b"} {
			app := fmt.Sprintf("web-%s-%d", name, writes)
			s.on(s.node(name), app, 2, nil)
		}
		proxy, still := s.c.Proxy(t), s.c.Still(t, s.apps)
		s.cli.Write(proxy.Provider(t, s.c), s.bySelector())
		s.cli.MustRun("plan", "-input=false", "-out=plan", invoke)
		killed := s.cli.ApplyAndKill(proxy, acctest.Request.Write, writes)
		if killed {
			kills++
			s.cli.MustRun(apply...)
		}
		s.cordoned("a", "b")
		// A scheduler that does not know of a cordon yet may put others there.
		if left := still(); len(left) > 0 {
			t.Fatalf("killed after write %d: %v are still there", writes, left)
		}
		for _, name := range []string{"a", "b"} {
			app := fmt.Sprintf("web-%s-%d", name, writes)
			if err := s.c.Admin.AppsV1().Deployments(s.apps).Delete(t.Context(), app, metav1.DeleteOptions{}); err != nil {
				t.Fatal(err)
			}
			s.c.Running(t, s.apps, app, 0)
		}
		if !killed {
			break
		}
	}
	// Two cordons and four evictions.
	if kills < acctest.MinKills(5) {
		t.Fatalf("the action was killed only %d times", kills)
	}
	t.Logf("killed %d times", kills)
}

// TestAccDrainNodes_gracePeriodIsThatOfTheConfiguration on a node where no kubelet ends the
// pods, so that they are seen terminating.
func TestAccDrainNodes_gracePeriodIsThatOfTheConfiguration(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	quiet := s.node("quiet")
	s.c.Node(t, acctest.Node{Name: quiet, Quiet: true, Labels: map[string]string{"node": quiet}, Allocatable: corev1.ResourceList{corev1.ResourcePods: resource.MustParse("9")}})
	s.c.Deployment(t, s.apps, "web", 0, func(spec *corev1.PodSpec) { spec.NodeSelector = map[string]string{"node": quiet} })
	s.c.Change(t, acctest.Thing{APIVersion: "apps/v1", Kind: "Deployment", Namespace: s.apps, Name: "web"}, "person", `{"spec":{"replicas":1}}`)
	var pod *corev1.Pod
	acctest.Until(t, "a pod is bound", func(ctx context.Context) (bool, error) {
		pods, err := s.c.Admin.CoreV1().Pods(s.apps).List(ctx, metav1.ListOptions{LabelSelector: "app=web"})
		if err != nil || len(pods.Items) == 0 {
			return false, err
		}
		pod = &pods.Items[0]
		return pod.Spec.NodeName == quiet, nil
	})
	s.cli.Write(s.c.Provider(t), hcl(fmt.Sprintf("node_name = %q", quiet), "grace_period_seconds = 77", `timeout = "45s"`))
	s.fails(apply, "pod "+s.apps+"/"+pod.Name+" is terminating")
	got, err := s.c.Admin.CoreV1().Pods(s.apps).Get(t.Context(), pod.Name, metav1.GetOptions{})
	if err != nil || got.DeletionGracePeriodSeconds == nil || *got.DeletionGracePeriodSeconds != 77 {
		t.Fatalf("%v: the pod ends within %v", err, got.DeletionGracePeriodSeconds)
	}
}

// TestAccDrainNodes_withoutTheRightToEvict says so, and what is left.
func TestAccDrainNodes_withoutTheRightToEvict(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.on(s.node("a"), "web", 1, nil)
	rules := slices.DeleteFunc(s.c.Rights(t), func(r rbacv1.PolicyRule) bool { return slices.Contains(r.Resources, "pods/eviction") })
	s.cli.Write(s.c.ProviderAt(t, s.c.REST.Host, s.c.TokenWith(t, rules...)), s.byName())
	s.fails(apply, `Unable to drain node "`+s.node("a")+`"`, `the guide "Permissions"`, "These nodes are cordoned, and stay so: "+s.node("a"), "pods/eviction")
}
