// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package message

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/eviction"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/golden"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/placement"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

// cluster is a snapshot with a node that changes, worker-1, of 64 cores.
type cluster struct{ *snapshot.Snapshot }

func aCluster() cluster {
	return cluster{&snapshot.Snapshot{Nodes: map[string]*snapshot.Node{}, Pods: map[string][]*snapshot.Pod{}, Budgets: snapshot.Budgets{}, Quotas: snapshot.Quotas{}, LimitRanges: snapshot.LimitRanges{}}}.node("worker-1", 64)
}

func (c cluster) node(name string, cores int64) cluster {
	c.Nodes[name] = &snapshot.Node{Name: name, Labels: map[string]string{"host": name}, Allocatable: &snapshot.Resources{MilliCPU: cores * 1000, Memory: 64 << 30, Pods: 110}}
	return c
}

type podOption func(*snapshot.Pod)

// pods are those of a workload, such as "shop/Deployment/web", each of which asks for so many cores. What
// has no kind is a bare pod.
func (c cluster) pods(node, workload string, n int, cores int64, options ...podOption) cluster {
	parts := strings.Split(workload, "/")
	asks := snapshot.Resources{MilliCPU: cores * 1000}
	var first *snapshot.Pod
	for i := range n {
		p := &snapshot.Pod{
			Namespace: parts[0], Name: fmt.Sprintf("%s-%d", parts[len(parts)-1], i), Node: node, Labels: labels.Set{"app": parts[len(parts)-1]},
			Scheduling: &snapshot.Scheduling{}, Demand: &snapshot.Demand{Asks: asks, Holds: asks}, Ready: true,
		}
		if len(parts) == 3 {
			p.Controller = &snapshot.Controller{Owner: snapshot.Owner{Group: "apps", Kind: parts[1], Name: parts[2]}}
		}
		for _, o := range options {
			o(p)
		}
		if first == nil {
			first = p
		}
		p.Scheduling, p.Demand, p.Labels = first.Scheduling, first.Demand, first.Labels
		c.Pods[node] = append(c.Pods[node], p)
	}
	return c
}

func (c cluster) budget(namespace, app string, allowed int32) cluster {
	c.Budgets[namespace] = append(c.Budgets[namespace], snapshot.Budget{Name: app, Selector: labels.SelectorFromSet(labels.Set{"app": app}), Allowed: allowed})
	return c
}

// quota is one of a namespace, of which so many pods are used.
func (c cluster) quota(namespace, name string, resource corev1.ResourceName, hard, used int64, scopes ...corev1.ScopedResourceSelectorRequirement) cluster {
	c.Quotas[namespace] = append(c.Quotas[namespace], snapshot.Quota{Name: name, Scopes: scopes, Limits: []snapshot.QuotaLimit{{Resource: resource, Hard: hard, Used: used}}})
	return c
}

func unready(p *snapshot.Pod) { p.Ready = false }

// second is the second pod of a StatefulSet.
func second(p *snapshot.Pod) { p.Name = strings.TrimSuffix(p.Name, "0") + "1" }

func pinned(p *snapshot.Pod) {
	p.Scheduling.Affinity = snapshot.OnNode(nil, p.Node)
}

func selecting(key, value string) podOption {
	return func(p *snapshot.Pod) { p.Scheduling.NodeSelector = map[string]string{key: value} }
}

func tolerating(t ...corev1.Toleration) podOption {
	return func(p *snapshot.Pod) { p.Scheduling.Tolerations = t }
}

func urgent(p *snapshot.Pod)    { p.Demand.Priority = 1000 }
func localData(p *snapshot.Pod) { p.LocalData = true }
func completed(p *snapshot.Pod) { p.Completed = true }
func ephemeral(p *snapshot.Pod) { p.Ephemeral = true }

// placedByVolcano has a scheduler and devices that no simulation knows.
func placedByVolcano(p *snapshot.Pod) {
	d := *p.Demand
	d.Scheduler, d.Devices = "volcano", true
	p.Demand = &d
}

// controlledBy moves the kind of a pod's controller to another API group.
func controlledBy(group string) podOption {
	return func(p *snapshot.Pod) { p.Controller.Group = group }
}

// The goldens are whole warnings of situations that a person meets, to be looked at in 80 columns.
// A range from fewer orders claims less.
func TestPreview_reportsHowManyOrdersWereTried(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		orders int
		cut    bool
		want   string
	}{
		"all of them":   {orders: 30},
		"some of them":  {orders: 4, want: "\n\n4 of 30 orders were tried, since the plan or the cluster is large. Ranges may be wider.\n\n"},
		"a part of one": {orders: 1, cut: true, want: "\n\nLarge cluster: 1 of 30 orders was tried in part. Fewer pods may be Pending.\n\n"},
	} {
		change := eviction.Scenario{Taints: map[string][]corev1.Taint{"worker-1": taintsOf(t, "dedicated=gpu:NoExecute")}}
		report := eviction.Evaluate(aCluster().node("worker-2", 1).pods("worker-1", "shop/Deployment/web", 3, 1).Snapshot, change, eviction.ComparisonUnknown)
		report.Outcome().Orders, report.Outcome().Cut = tt.orders, tt.cut
		_, detail := Preview(applying(t, `node "worker-1"`, "dedicated=gpu:NoExecute"), report)
		if strings.Contains(detail, " orders ") != (tt.want != "") || !strings.Contains(detail, tt.want) {
			t.Errorf("%s: want %q in:\n%s", name, tt.want, detail)
		}
	}
}

func TestPreview_goldensOfSituations(t *testing.T) {
	t.Parallel()
	five := int64(300)
	tainted := func(notation string) eviction.Scenario {
		return eviction.Scenario{Taints: map[string][]corev1.Taint{"worker-1": taintsOf(t, notation)}}
	}
	gpu, drain := tainted("dedicated=gpu:NoExecute"), eviction.Scenario{Drains: map[string]bool{"worker-1": true}}
	deleting, selected := drain, drain
	deleting.Deletes, selected.Selects = true, func(p *snapshot.Pod) bool { return p.Labels["app"] == "checkout" }
	patient := tolerating(corev1.Toleration{Key: "dedicated", Operator: "Exists", Effect: "NoExecute", TolerationSeconds: &five})
	machines := drain
	again := func() cluster {
		c := aCluster().node("worker-2", 8).pods("worker-1", "ml/Deployment/serving", 3, 1, patient).pods("worker-1", "ml/StatefulSet/db", 1, 1, patient, selecting("host", "worker-1"))
		c.Nodes["worker-2"].Unschedulable = true
		return c
	}
	back, patientDaemon := aCluster().node("worker-2", 8).pods("worker-1", "ops/Deployment/agent", 2, 1, selecting("host", "worker-1"), tolerating(corev1.Toleration{Key: corev1.TaintNodeUnschedulable, Operator: "Exists"})).
		pods("worker-1", "shop/Deployment/web", 1, 1), aCluster().node("worker-2", 8).pods("worker-1", "platform/DaemonSet/logs", 1, 1, pinned, patient)
	machines.Comes = []placement.Coming{{Node: &snapshot.Node{Name: "new", Labels: map[string]string{"pool": "gpu"}}, Of: `MachineSet "gpu-a"`}}
	few := machines
	few.Comes = []placement.Coming{{Node: &snapshot.Node{Name: "new", Labels: map[string]string{"pool": "gpu"}, Allocatable: &snapshot.Resources{MilliCPU: 1500, Memory: 1 << 40, Pods: 9}}, Of: `MachineSet "gpu-a"`, Count: 2}}
	stranding := aCluster().node("worker-2", 8).pods("worker-1", "shop/Deployment/web", 2, 1, tolerating(corev1.Toleration{Key: "dedicated", Value: "web", Effect: "NoExecute"}))
	stranding.Nodes["worker-1"].Taints = taintsOf(t, "dedicated=web:NoExecute")
	mixed := aCluster().node("worker-2", 12).
		pods("worker-1", "ml/jupyter-anna", 1, 1, localData).
		pods("worker-1", "ml/Deployment/trainer", 4, 1, selecting("pool", "gpu")).
		pods("worker-1", "payments/Deployment/checkout", 2, 1).budget("payments", "checkout", 1).
		pods("worker-1", "platform/DaemonSet/logs", 1, 1, pinned).
		pods("worker-1", "web/Deployment/frontend", 4, 1).
		pods("worker-1", "ml/Deployment/serving", 3, 1, patient).
		pods("worker-1", "batch/Job/report", 3, 0, completed)
	other := corev1.Toleration{Key: "other", Operator: "Exists"}
	hurried := other
	hurried.TolerationSeconds, hurried.Effect = &five, "NoExecute"
	later := aCluster().node("worker-2", 2).pods("worker-2", "ml/Deployment/slow", 1, 2, tolerating(hurried)).pods("worker-1", "shop/Deployment/web", 1, 2, tolerating(other))
	laterChange := tainted("dedicated=gpu:NoExecute")
	laterChange.Taints["worker-2"] = taintsOf(t, "other:NoExecute")
	crowd, long := aCluster().node("worker-2", 64), aCluster().node("worker-2", 64)
	for i := range 24 {
		crowd = crowd.pods("worker-1", fmt.Sprintf("shop/Deployment/web-%02d", i), 1+i%3, 0)
	}
	long = long.pods("worker-1", "an-unusually-long-namespace-of-a-team/Deployment/an-unusually-long-name-of-a-workload-that-does-not-fit", 2, 1).
		pods("worker-1", "platform-observability/StatefulSet/victoria-metrics-storage-long", 2, 1, selecting("pool", "metrics"), localData).
		pods("worker-1", "shop/Deployment/web", 2, 1)
	quotasUnread := aCluster().node("worker-2", 8).pods("worker-1", "shop/Deployment/web", 3, 1)
	quotasUnread.Quotas, quotasUnread.LimitRanges = nil, nil
	quotas := aCluster().node("worker-2", 4).quota("shop", "compute", "requests.cpu", 3000, 5000).quota("ml", "one", "pods", 2, 3).
		quota("batch", "urgent", "pods", 1, 2, corev1.ScopedResourceSelectorRequirement{ScopeName: "OfALaterVersion", Operator: corev1.ScopeSelectorOpExists}).
		pods("worker-1", "shop/Deployment/web", 5, 1).pods("worker-1", "ml/Deployment/a", 1, 0).pods("worker-1", "ml/Deployment/b", 1, 0).
		pods("worker-1", "batch/Deployment/queue", 2, 0)
	for name, tt := range map[string]struct {
		cluster  cluster
		change   eviction.Scenario
		about    string
		stranded bool
	}{
		"perhaps-lost":      {aCluster().node("worker-2", 8).pods("worker-1", "ci/TaskRun/build", 2, 1, controlledBy("tekton.dev")).pods("worker-1", "vms/VirtualMachineInstance/db", 1, 1, controlledBy("kubevirt.io")).pods("worker-1", "shop/Deployment/web", 2, 1), gpu, "", false},
		"all-fit":           {aCluster().node("worker-2", 8).pods("worker-1", "shop/Deployment/web", 3, 1), gpu, "", false},
		"room-for-one":      {aCluster().node("worker-2", 1).pods("worker-1", "shop/Deployment/web", 10, 1), gpu, "", false},
		"depends-on-order":  {aCluster().node("worker-2", 6).pods("worker-1", "shop/Deployment/large", 2, 3).pods("worker-1", "shop/Deployment/small", 3, 2), gpu, "", false},
		"preempted":         {aCluster().node("worker-2", 4).pods("worker-1", "pay/Deployment/core", 1, 3, urgent).pods("worker-2", "prod/Deployment/calm", 1, 2).node("worker-3", 2), gpu, "", false},
		"preempted-pending": {aCluster().node("worker-2", 4).pods("worker-1", "pay/Deployment/core", 1, 3, urgent).pods("worker-2", "prod/Deployment/calm", 1, 2).pods("worker-2", "prod/one-off", 1, 1), gpu, "", false},
		"again":             {again(), gpu, "", false},
		"again-or-not":      {aCluster().node("worker-2", 8).pods("worker-1", "ml/Deployment/serving", 3, 1, patient), gpu, "", false},
		"again-of-a-daemon": {patientDaemon, gpu, "", false},
		"again-by-name":     {aCluster().node("worker-2", 8).pods("worker-1", "ops/Deployment/agent", 2, 1, func(p *snapshot.Pod) { p.NamesNode = true }).pods("worker-1", "shop/Deployment/web", 1, 1), gpu, "", false},
		"again-in-a-drain":  {back, drain, "drain", false},
		"everything":        {mixed, gpu, "", false},
		"drained":           {mixed, drain, "drain", false},
		"deleted":           {mixed, deleting, "deleted", false},
		"selected":          {mixed, selected, "selected", false},
		"new-machines":      {aCluster().node("worker-2", 8).pods("worker-1", "ml/Deployment/serving", 2, 1, selecting("pool", "gpu")).pods("worker-1", "shop/Deployment/web", 2, 1, selecting("pool", "gone")), machines, "drain", false},
		"few-new-machines":  {aCluster().node("worker-2", 8).pods("worker-1", "ml/Deployment/serving", 5, 1, selecting("pool", "gpu")), few, "drain", false},
		"few-for-a-set":     {aCluster().node("worker-2", 8).pods("worker-1", "db/StatefulSet/pg", 5, 1, selecting("pool", "gpu")), few, "drain", false},
		"no-schedule":       {aCluster().node("worker-2", 8).pods("worker-1", "ml/StatefulSet/db", 2, 1, selecting("host", "worker-1")).pods("worker-1", "platform/DaemonSet/logs", 1, 1, pinned), tainted("dedicated=gpu:NoSchedule"), "no-schedule", false},
		"not-known":         {aCluster().node("worker-2", 8).pods("worker-1", "shop/Deployment/web", 2, 1, tolerating(corev1.Toleration{Key: "dedicated", Operator: "Gt", Value: "5"})), tainted("dedicated=9:NoExecute"), "", false},
		"stranding":         {stranding, gpu, "", true},
		"later-room":        {later, laterChange, "", false},
		"ordered-sets":      {aCluster().node("worker-2", 1).pods("worker-1", "db/StatefulSet/pg", 3, 1), gpu, "", false},
		"unready-set":       {aCluster().node("worker-2", 8).pods("worker-2", "db/StatefulSet/pg", 1, 1, unready).pods("worker-1", "db/StatefulSet/pg", 1, 1, second), gpu, "", false},
		"another-scheduler": {aCluster().node("worker-2", 8).pods("worker-1", "ml/Deployment/trainer", 12, 1, placedByVolcano), gpu, "", false},
		"quotas":            {quotas, gpu, "", false},
		"quotas-unread":     {quotasUnread, gpu, "", false},
		"webhooks":          {aCluster().node("worker-2", 9).pods("worker-1", "shop/Deployment/web", 3, 1), gpu, "webhooks", false},
		"webhooks-unread":   {aCluster().node("worker-2", 9).pods("worker-1", "shop/Deployment/web", 3, 1), gpu, "webhooks unread", false},
		"autoscaled":        {aCluster().node("worker-2", 1).pods("worker-1", "shop/Deployment/web", 3, 1), gpu, "autoscaled", false},
		"ephemeral-volumes": {aCluster().node("worker-2", 8).pods("worker-1", "shop/Deployment/web", 2, 1, ephemeral).pods("worker-1", "shop/one-off", 1, 1, ephemeral), gpu, "", false},
		"inline-volumes":    {aCluster().node("worker-2", 8).pods("worker-1", "shop/Deployment/web", 2, 1, func(p *snapshot.Pod) { p.Inline = true }), gpu, "", false},
		"storage":           {withStorage(), gpu, "", false},
		"limit-ranges":      {limitRanges(), gpu, "", false},
		"classes":           {classed(snapshot.PriorityClasses{"high": {Value: 1000}}), gpu, "", false},
		"classes-unread":    {classed(nil), gpu, "", false},
		"resized":           {aCluster().node("worker-2", 2).pods("worker-1", "shop/Deployment/web", 1, 3, func(p *snapshot.Pod) { p.Demand.Resized = true }), gpu, "", false},
		"only-completed":    {aCluster().pods("worker-1", "batch/Job/report", 3, 0, completed), gpu, "", false},
		"many-workloads":    {crowd, gpu, "", false},
		"long-names":        {long, gpu, "", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			about := applying(t, `node "worker-1"`, "dedicated=gpu:NoExecute")
			switch tt.about {
			case "drain":
				about = Subject{Verb: "Draining", What: `node "worker-1"`}
			case "deleted":
				about = Subject{Verb: "Draining", What: `node "worker-1"`}
			case "selected":
				about = Subject{Verb: "Draining", What: `node "worker-1" of pods matching "app=checkout"`}
			case "autoscaled":
				about.Unmodelled.NodeGroups = []string{"gpu-a", "gpu-b", "NodePool default", "a-node-group-with-a-long-name-that-wraps"}
				about.Unmodelled.Profile = "HighNodeUtilization"
			case "webhooks":
				about.Unmodelled.Webhooks = []string{"gatekeeper-validating-webhook-configuration", "istio-sidecar-injector", "kyverno-resource-mutating-webhook-cfg"}
			case "webhooks unread":
				about.Unmodelled.WebhooksUnread = true
			case "no-schedule":
				about = applying(t, `node "worker-1"`, "dedicated=gpu:NoSchedule")
			}
			about.RefusesStranded = tt.stranded
			summary, detail := Preview(about, eviction.Evaluate(tt.cluster.Snapshot, tt.change, eviction.ComparisonUnknown))
			for line := range strings.Lines(detail) {
				if n := width(strings.TrimSuffix(line, "\n")); strings.HasPrefix(line, " ") && n > tableWidth {
					t.Errorf("a row has %d columns: %s", n, line)
				}
			}
			golden.Check(t, "situation-"+name+".golden", summary+"\n\n"+detail+"\n")
		})
	}
}
