// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package nodetaints_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
)

// ownersOf makes the controllers of pods, and returns references to them by KIND/NAME.
func ownersOf(t *testing.T, c *acctest.Cluster) map[string]metav1.OwnerReference {
	t.Helper()
	out := map[string]metav1.OwnerReference{}
	note := func(group, kind string, made metav1.Object, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		out[kind+"/"+made.GetName()] = metav1.OwnerReference{APIVersion: group, Kind: kind, Name: made.GetName(), UID: made.GetUID(), Controller: new(true)}
	}
	named, apps := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Name: name} }, c.Admin.AppsV1()
	for _, name := range []string{"tolerates", "owned", "bound", "high", "large"} {
		made, err := apps.ReplicaSets(metav1.NamespaceDefault).Create(t.Context(), &appsv1.ReplicaSet{ObjectMeta: named(name)}, metav1.CreateOptions{})
		note("apps/v1", "ReplicaSet", made, err)
	}
	for _, name := range []string{"a", "b"} {
		set, err := apps.StatefulSets(metav1.NamespaceDefault).Create(t.Context(), &appsv1.StatefulSet{ObjectMeta: named(name)}, metav1.CreateOptions{})
		note("apps/v1", "StatefulSet", set, err)
		job, err := c.Admin.BatchV1().Jobs(metav1.NamespaceDefault).Create(t.Context(), &batchv1.Job{ObjectMeta: named(name), Spec: batchv1.JobSpec{BackoffLimit: new(int32(6))}}, metav1.CreateOptions{})
		note("batch/v1", "Job", job, err)
	}
	return out
}

func claimed(name string) func(*corev1.PodSpec) {
	return func(spec *corev1.PodSpec) { spec.Volumes = claiming(name) }
}

// needy makes nodes of one pool each, whose pods need what a pool is named by.
func needy(t *testing.T, c *acctest.Cluster) {
	t.Helper()
	pools := []string{"tolerating", "bare", "owned", "bound", "every", "free"}
	c.Crowd(t, len(pools), 0, func(n int, node *corev1.Node, _ *corev1.Pod) {
		node.Labels, node.Spec.Taints = map[string]string{"pool": pools[n]}, []corev1.Taint{{Key: "old", Effect: corev1.TaintEffectPreferNoSchedule}}
	})
	owners := ownersOf(t, c)
	on := func(pool, name, owner string, change func(*corev1.PodSpec)) {
		t.Helper()
		c.Pod(t, metav1.NamespaceDefault, name, fmt.Sprintf("crowd-%d", slices.Index(pools, pool)), func(p *corev1.Pod) {
			if owner != "" {
				p.OwnerReferences = []metav1.OwnerReference{owners[owner]}
			}
			if change != nil {
				change(&p.Spec)
			}
		})
	}
	on("tolerating", "tolerates", "ReplicaSet/tolerates", func(spec *corev1.PodSpec) {
		spec.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}}
	})
	on("bare", "bare", "", nil)
	on("owned", "owned", "ReplicaSet/owned", nil)
	on("bound", "bound", "ReplicaSet/bound", claimed("bound"))
	for _, name := range []string{"a", "b"} {
		for n := range 2 {
			on("every", fmt.Sprintf("%s-%d", name, n), "StatefulSet/"+name, claimed("set-"+name))
		}
		on("every", "job-"+name, "Job/"+name, nil)
	}
	on("every", "high", "ReplicaSet/high", func(spec *corev1.PodSpec) { spec.PriorityClassName = "high" })
	on("every", "large", "ReplicaSet/large", func(spec *corev1.PodSpec) {
		spec.Containers[0].Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("100")}
	})
	bound(t, c, "bound")
	bound(t, c, "set-a")
	storing(t, c)
	admitting(t, c)
}

// storing makes a claim that waits for a volume of a class with capacities, and the objects that CSI drivers have.
func storing(t *testing.T, c *acctest.Cluster) {
	t.Helper()
	storage, named := c.Admin.StorageV1(), func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Name: name} }
	class := &storagev1.StorageClass{ObjectMeta: named("slow"), Provisioner: "csi.example.com", VolumeBindingMode: new(storagev1.VolumeBindingWaitForFirstConsumer)}
	_, err := storage.StorageClasses().Create(t.Context(), class, metav1.CreateOptions{})
	if err == nil {
		_, err = storage.CSIDrivers().Create(t.Context(), &storagev1.CSIDriver{ObjectMeta: named("csi.example.com"), Spec: storagev1.CSIDriverSpec{StorageCapacity: new(true)}}, metav1.CreateOptions{})
	}
	if err == nil {
		claim := &corev1.PersistentVolumeClaim{ObjectMeta: named("set-b"), Spec: corev1.PersistentVolumeClaimSpec{StorageClassName: new("slow")}}
		_, err = c.Admin.CoreV1().PersistentVolumeClaims(metav1.NamespaceDefault).Create(t.Context(), claim, metav1.CreateOptions{})
	}
	if err != nil {
		t.Fatal(err)
	}
}

// admitting makes what admission asks of new pods: a PriorityClass, and a webhook that selects namespaces by labels.
func admitting(t *testing.T, c *acctest.Cluster) {
	t.Helper()
	if _, err := c.Admin.SchedulingV1().PriorityClasses().Create(t.Context(), &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: "high"}, Value: 1}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	hook := admissionregistrationv1.ValidatingWebhook{
		Name: "pods.example.com", NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"checked": "yes"}},
		Rules: []admissionregistrationv1.RuleWithOperations{{
			Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create},
			Rule:       admissionregistrationv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"pods"}},
		}},
	}
	all := &admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: "pods"}, Webhooks: []admissionregistrationv1.ValidatingWebhook{hook}}
	if _, err := c.Admin.AdmissionregistrationV1().ValidatingWebhookConfigurations().Create(t.Context(), all, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// maxNeedyRequests is what a plan of one resource makes at most: a taint is removed, and evicted pods need every list.
const maxNeedyRequests = 27

// TestNodeTaints_plansListOnlyWhatTheirPodsNeed states the requests of each kind of plan. Each list is made once. Those of
// Jobs and StatefulSets differ: the metadata of all shows owners and ownership records, the specs are read for evicted pods.
func TestNodeTaints_plansListOnlyWhatTheirPodsNeed(t *testing.T) {
	t.Parallel()
	acctest.CountsRequests(t)
	always := []string{
		"get namespaces", "list nodes", "list pods", "list replicasets", "list jobs", "list daemonsets", "list poddisruptionbudgets", "list persistentvolumes",
		"list mutatingadmissionpolicies",
	}
	recreated := []string{"list resourcequotas", "list limitranges", "list mutatingwebhookconfigurations", "list validatingwebhookconfigurations", "list namespaces"}
	attached := slices.Concat(recreated, []string{"list persistentvolumeclaims", "list csidrivers", "list csinodes"})
	every := slices.Concat(attached, []string{"list storageclasses", "list csistoragecapacities", "list priorityclasses", "list statefulsets", "list jobs", "get configmaps", "list nodepools"})
	removed := slices.Concat(every, []string{"create selfsubjectrulesreviews", "list deployments", "list statefulsets"})
	acctest.OnFake(t, func(t *testing.T, c *acctest.Cluster) {
		needy(t, c)
		audit, provider := c.Audit(t)
		for _, tt := range []struct {
			name, pool, effect string
			// removes is set where a taint of others is removed.
			removes bool
			beside  []string
			total   int
		}{
			{name: "no pod is affected", pool: "tolerating", effect: "NoExecute", total: 9},
			{name: "a pod stays", pool: "owned", effect: "NoSchedule", beside: []string{"list limitranges"}, total: 10},
			{name: "a pod without a controller is evicted", pool: "bare", effect: "NoExecute", total: 9},
			{name: "a pod is recreated", pool: "owned", effect: "NoExecute", beside: recreated, total: 14},
			{name: "a pod with a volume is recreated", pool: "bound", effect: "NoExecute", beside: attached, total: 17},
			{name: "pods of every kind are recreated", pool: "every", effect: "NoExecute", beside: every, total: 24},
			{name: "the same, and a taint is removed", pool: "every", effect: "NoExecute", removes: true, beside: removed, total: maxNeedyRequests},
		} {
			audit.Reset()
			tf, config := &acctest.Terraform{Provider: provider}, map[string]any{"node_selector": "pool=" + tt.pool, "taints": acctest.Objects(t, "dedicated=gpu:"+tt.effect)}
			if tt.removes {
				config["absent_taints"] = []any{map[string]any{"key": "old", "effect": "PreferNoSchedule"}}
			}
			planned := tf.Plan(t, newInstance(), config)
			if d := planned.Diagnostics; d.Errors() != "" {
				t.Fatal(d.Errors())
			}
			total, count := requested(t, tt.name, audit)
			want := map[string]int{}
			for _, list := range slices.Concat(always, tt.beside) {
				want[list]++
			}
			if diff := cmp.Diff(want, count); diff != "" || total != tt.total {
				t.Errorf("%s: %d requests: %s\n%s", tt.name, total, diff, planned.Diagnostics.Warnings())
			}
			if says := planned.Diagnostics.Warnings(); strings.Contains(says, "quotas") || strings.Contains(says, "LimitRanges") {
				t.Errorf("%s: %s", tt.name, says)
			}
		}
	})
}
