// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package snapshot

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"sync/atomic"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/admission"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/label"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/printable"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
)

// Snapshot is what the cluster looked like at one moment. It is never changed
// once it is built, so that any number of resources can read it in parallel.
type Snapshot struct {
	// Nodes by name.
	Nodes map[string]*Node
	// Pods by the name of the node that they run on.
	Pods map[string][]*Pod
	// Only are the nodes whose pods were read, nil for all. Where it is set, nothing is known of
	// owners, PodDisruptionBudgets, volumes and admission either.
	Only map[string]bool
	// Waiting are the pods that run on no node yet.
	Waiting []*Pod
	// Parents leads from the UID of a controller that is itself controlled to
	// its controller: ReplicaSet to Deployment, Job to CronJob.
	Parents map[types.UID]Owner
	// Daemons are the templates of DaemonSets by UID. Of one that is not known, the
	// running pods alone tell.
	Daemons map[types.UID]*Daemon
	// Ordered has the StatefulSets whose podManagementPolicy was read, and whether it is OrderedReady:
	// the others are known by their pods alone.
	Ordered map[WorkloadKey]bool
	// Jobs are those of evicted pods by UID, once they were read.
	Jobs    map[types.UID]*Job
	Budgets Budgets
	// Quotas are ResourceQuotas, nil where they were not read: no pod is recreated, or there is no right to.
	Quotas Quotas
	// LimitRanges are those of containers and pods, nil where they were not read: no new pod is placed, or there is no right
	// to.
	LimitRanges LimitRanges
	// PriorityClasses are nil where they were not read.
	PriorityClasses PriorityClasses
	// Volumes by namespace and name of the claim that is bound to them: only those
	// that can be used on some nodes only, or by one pod only.
	Volumes map[string]map[string]*Volume
	// Attachments are limits of CSI volumes, nil where they were not read.
	Attachments *Attachments
	// Storage decides about claims that no volume is bound to, nil where it was not read.
	Storage *Storage
	// NamespaceLabels are the labels of namespaces, nil where they were not read.
	NamespaceLabels map[string]labels.Set
	// Admission is what is given to pods when they are made.
	Admission *admission.Rules
	// Others is what other resources of the run are about to change, nil for nothing.
	Others *Others
	// Gaps reports what could not be read, in sentences for the reader. Verdicts
	// that depend on it are less exact, never wrong.
	Gaps []string
	// OwnerGaps are those of the gaps that keep pods from being rolled up.
	OwnerGaps []string

	index atomic.Pointer[map[WorkloadKey][]*Pod]
}

// AwaitedAnnotation is where a drain records on a node which replacements it waits for, so that
// the next one goes on with that.
const AwaitedAnnotation = "kubetaint.io/awaited-replacements"

// Node is what verdicts and ownership need of a node.
type Node struct {
	Name            string
	UID             types.UID
	ResourceVersion string
	Labels          map[string]string
	Taints          []corev1.Taint
	Unschedulable   bool
	// Deleting is set once a deletion timestamp is: finalizers keep the node, such as Karpenter's while it drains it.
	Deleting bool
	// Ready reports that its condition Ready is true.
	Ready bool
	// Allocatable is what pods can have of the node, nil where it does not tell.
	Allocatable *Resources
	// Record reports who owns which taint; RecordErr that it cannot be read.
	Record    taint.Record
	RecordErr error
	// LabelRecord says the same of labels.
	LabelRecord    label.Record
	LabelRecordErr error
	// OtherAnnotations is how many bytes the annotations beside the two records have.
	OtherAnnotations int
	// Awaited is what an earlier drain of the node waits for, as its annotation has it.
	Awaited string
	// Machine is the Machine API's namespace/name for this node, if any.
	Machine string
	// MachineConfig reports that OpenShift's machine-config operator manages the
	// node.
	MachineConfig bool
}

// Pod is what verdicts need of a pod.
type Pod struct {
	Namespace string
	Name      string
	Node      string
	// Nominated is the node on which the scheduler keeps room for a pod that runs on none yet, "" for none.
	Nominated string
	UID       types.UID
	// Like is the UID of the pod in whose likeness one is to be created that is not there yet.
	Like types.UID
	// Controller is the controlling owner, nil for a bare pod.
	Controller *Controller
	// Scheduling is shared by all pods that are equal in it.
	Scheduling *Scheduling
	// Demand is shared by all pods that are equal in it; nil asks for nothing.
	Demand *Demand
	// Rules is shared by all pods that are equal in it; nil requires nothing of other pods.
	Rules *PodRules
	// Since is when the pod was started, or created while it has not been, in seconds since 1970.
	Since int64
	// Claims are the names of the PersistentVolumeClaims that a pod like this one
	// would use again.
	Claims []string
	// Labels are shared by all pods that are equal in them.
	Labels labels.Set
	// Terminating is set once a deletion timestamp is.
	Terminating bool
	// Overdue is set for a terminating pod that was beyond its grace period when it was read, such as on a node
	// that is lost.
	Overdue bool
	// Pending is set for the phase of that name: it is bound, and no container runs yet.
	Pending bool
	// Ready reports whether its condition Ready is true.
	Ready bool
	// Completed is set for phases Succeeded and Failed.
	Completed bool
	// Mirror is set for the API's image of a static pod.
	Mirror bool
	// LocalData is set where an emptyDir volume goes with the pod.
	LocalData bool
	// Ephemeral is set where a claim goes with the pod, and a new pod gets a new one.
	Ephemeral bool
	// Inline is set for inline volumes that CSI drivers attach.
	Inline bool
	// NamesNode is set where the pod template names the node (spec.nodeName): the scheduler places no pod of it, and each new
	// one is on that node again.
	NamesNode bool
	// Gated is set while scheduling gates keep the scheduler from looking at the pod.
	Gated bool
	// Grace is how many seconds the pod may take to end once it is deleted (terminationGracePeriodSeconds).
	Grace int32
}

// Key returns namespace/name.
func (p *Pod) Key() string {
	return p.Namespace + "/" + p.Name
}

// Compare orders pods by namespace, then name.
func (p *Pod) Compare(other *Pod) int {
	if c := strings.Compare(p.Namespace, other.Namespace); c != 0 {
		return c
	}
	return strings.Compare(p.Name, other.Name)
}

// Controller is a controlling owner reference.
type Controller struct {
	Owner
	UID types.UID
}

// Owner is a workload, within the namespace of its pods. Group is that of its API, empty for
// the core group.
type Owner struct {
	Group string
	Kind  string
	Name  string
}

// OwnerOf returns the owner that an API version, a kind and a name refer to. Nothing validates
// kinds and names in owner references: they are made printable.
func OwnerOf(apiVersion, kind, name string) Owner {
	gv, _ := schema.ParseGroupVersion(apiVersion)
	return Owner{Group: gv.Group, Kind: printable.Line(kind), Name: printable.Line(name)}
}

// DaemonSet reports whether the owner is a DaemonSet of Kubernetes: its controller, unlike
// those of kinds with the same name in other groups, creates pods whatever taints a node has.
func (o Owner) DaemonSet() bool {
	return o.Group == appsv1.GroupName && o.Kind == "DaemonSet"
}

// StatefulSet reports whether the owner is a StatefulSet of Kubernetes or of OpenKruise, whose
// controllers start pods one after the other (github.com/openkruise/kruise v1.9.1
// pkg/controller/statefulset/stateful_set_control.go, processReplica).
func (o Owner) StatefulSet() bool {
	return (o.Group == appsv1.GroupName || o.Group == "apps.kruise.io") && o.Kind == "StatefulSet"
}

// Copies reports whether the controller is one of Kubernetes that creates all of its pods from one template, on any node.
func (c *Controller) Copies() bool {
	return c != nil && (c.Group == appsv1.GroupName && (c.Kind == "ReplicaSet" || c.Kind == "StatefulSet") || c.Job() || c.Group == "" && c.Kind == "ReplicationController")
}

// Job reports whether the owner is a Job of Kubernetes.
func (o Owner) Job() bool { return o.Group == batchv1.GroupName && o.Kind == "Job" }

// String returns kind/name, or "" for none.
func (o Owner) String() string {
	if o.Kind == "" {
		return ""
	}
	return o.Kind + "/" + o.Name
}

// WorkloadKey names a workload in the cluster.
type WorkloadKey struct {
	Namespace string
	Owner
}

// Compare orders workloads by namespace, kind and name.
func (k WorkloadKey) Compare(other WorkloadKey) int {
	return cmp.Or(strings.Compare(k.Namespace, other.Namespace), strings.Compare(k.Kind, other.Kind), strings.Compare(k.Name, other.Name), strings.Compare(k.Group, other.Group))
}

// Scheduling is the part of a pod's spec by which it is judged against nodes.
type Scheduling struct {
	// Tolerations are shared by all schedulings that are equal in them: the pods of a
	// DaemonSet are each bound to another node, and tolerate the same.
	Tolerations  []corev1.Toleration
	NodeSelector map[string]string
	// Affinity is the required node affinity, nil for none, Preferred the preferred one.
	Affinity  *corev1.NodeSelector
	Preferred []corev1.PreferredSchedulingTerm
	// Forbidden are those tolerations that the namespace of such pods does not allow: none
	// is made that has any.
	Forbidden []corev1.Toleration
}

// ToleratesCordon reports whether pods of a scheduling go to nodes that are cordoned
// (k8s.io/kubernetes v1.37.2 pkg/scheduler/framework/plugins/nodeunschedulable/node_unschedulable.go,
// Filter). The argument is whether the feature gate TaintTolerationComparisonOperators counts as on.
func (s *Scheduling) ToleratesCordon(comparison bool) bool {
	cordon := corev1.Taint{Key: corev1.TaintNodeUnschedulable, Effect: corev1.TaintEffectNoSchedule}
	return taint.FirstMatch(s.Tolerations, cordon, comparison) >= 0
}

// Volume is a PersistentVolume that can be used on some nodes only, or by one pod only.
type Volume struct {
	Name string
	// Affinity is its required node affinity, nil for none, shared by volumes that are equal in
	// it. It is matched against labels alone (k8s.io/component-helpers
	// storage/volume/helpers.go, CheckNodeAffinity).
	Affinity *corev1.NodeSelector
	// Zones are its labels of zones and regions, nil for none, shared by volumes that are equal in them.
	Zones *Zones
	// Exclusive is set for the access mode ReadWriteOncePod: one pod can use it at a time.
	Exclusive bool
}

// Owner returns the workload that a pod belongs to, as far up as it is known:
// the Deployment rather than the ReplicaSet. A mirror pod belongs to none: its owner reference
// names its node (k8s.io/kubernetes v1.37.1 pkg/kubelet/pod/mirror_client.go, CreateMirrorPod).
func (s *Snapshot) Owner(p *Pod) Owner {
	if p.Controller == nil || p.Mirror {
		return Owner{}
	}
	if parent, ok := s.Parents[p.Controller.UID]; ok {
		return parent
	}
	return p.Controller.Owner
}

// SortedNodes returns the nodes in the order of their names.
func (s *Snapshot) SortedNodes() []*Node {
	nodes := make([]*Node, 0, len(s.Nodes))
	for _, n := range s.Nodes {
		nodes = append(nodes, n)
	}
	slices.SortFunc(nodes, func(a, b *Node) int { return strings.Compare(a.Name, b.Name) })
	return nodes
}

// With returns the snapshot with other nodes and templates in the place of those that
// it has. The pods are the same.
func (s *Snapshot) With(nodes map[string]*Node, daemons map[types.UID]*Daemon) *Snapshot {
	out := &Snapshot{
		Nodes: maps.Clone(s.Nodes), Pods: s.Pods, Only: s.Only, Waiting: s.Waiting, Parents: s.Parents, Daemons: maps.Clone(s.Daemons), Ordered: s.Ordered, Jobs: s.Jobs,
		Budgets: s.Budgets, Quotas: s.Quotas, LimitRanges: s.LimitRanges, PriorityClasses: s.PriorityClasses, Volumes: s.Volumes, Attachments: s.Attachments, Storage: s.Storage, NamespaceLabels: s.NamespaceLabels, Admission: s.Admission, Others: s.Others, Gaps: s.Gaps, OwnerGaps: s.OwnerGaps,
	}
	maps.Copy(out.Nodes, nodes)
	maps.Copy(out.Daemons, daemons)
	out.index.Store(s.index.Load())
	return out
}

// Admitting returns the snapshot with other rules for new pods.
func (s *Snapshot) Admitting(rules *admission.Rules) *Snapshot {
	out := s.With(nil, nil)
	out.Admission = rules
	return out
}

// WorkloadPods returns the pods of workloads that a change of their template
// replaces: those that run or are to run, in the order of their names.
func (s *Snapshot) WorkloadPods(workloads ...WorkloadKey) []*Pod {
	index := s.PodsByWorkload()
	var out []*Pod
	for _, w := range workloads {
		out = append(out, index[w]...)
	}
	slices.SortFunc(out, (*Pod).Compare)
	return out
}

// PodsByWorkload returns the pods of each workload that run or are to run. It sorts them by
// workload once.
func (s *Snapshot) PodsByWorkload() map[WorkloadKey][]*Pod {
	if built := s.index.Load(); built != nil {
		return *built
	}
	index := map[WorkloadKey][]*Pod{}
	add := func(pods []*Pod) {
		for _, p := range pods {
			if !p.Terminating && !p.Completed {
				key := WorkloadKey{p.Namespace, s.Owner(p)}
				index[key] = append(index[key], p)
			}
		}
	}
	for _, pods := range s.Pods {
		add(pods)
	}
	add(s.Waiting)
	s.index.Store(&index)
	return index
}

// RunsOnEveryNode reports whether a pod is a static one or of a DaemonSet: a drain does not evict it.
func (s *Snapshot) RunsOnEveryNode(p *Pod) bool {
	return p.Mirror || s.Owner(p).DaemonSet() && !p.Completed
}

// VolumesOf returns the volumes that bind a pod to certain nodes: those of its
// bound claims, one for each affinity and zone. A claim that is not bound, or that was not
// read, binds no pod. That of a generic ephemeral volume binds a pod that waits for a node, and not the one that
// replaces another.
func (s *Snapshot) VolumesOf(pod *Pod) []*Volume {
	var out []*Volume
	claims := pod.Claims
	if pod.Ephemeral && pod.Node == "" && s.Storage != nil {
		claims = slices.Clone(claims)
		for _, owned := range s.Storage.Owned[pod.UID] {
			claims = append(claims, owned.Name)
		}
	}
	for _, claim := range claims {
		volume := s.Volumes[pod.Namespace][claim]
		if volume != nil && (volume.Affinity != nil || volume.Zones != nil) && !slices.ContainsFunc(out, func(v *Volume) bool { return v.Affinity == volume.Affinity && v.Zones == volume.Zones }) {
			out = append(out, volume)
		}
	}
	return out
}

// ExclusiveClaims returns the claims of a pod that one pod can use at a time.
func (s *Snapshot) ExclusiveClaims(pod *Pod) []string {
	var out []string
	for _, claim := range pod.Claims {
		if volume := s.Volumes[pod.Namespace][claim]; volume != nil && volume.Exclusive && !slices.Contains(out, claim) {
			out = append(out, claim)
		}
	}
	return out
}
