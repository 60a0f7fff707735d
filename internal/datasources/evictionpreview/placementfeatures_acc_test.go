// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package evictionpreview_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
)

// gpu is the extended resource of some nodes.
const gpu corev1.ResourceName = "example.com/gpu"

// Features of a cluster, not of one workload.
const (
	daemonSets   = "DaemonSet"
	scopedQuotas = "ResourceQuota with a scope"
)

// furtherFeatures are those that a workload has beside one of featuresOfPods, and those of clusters.
var furtherFeatures = []string{
	spreadOfNodes(corev1.NodeInclusionPolicyHonor), spreadOfNodes(corev1.NodeInclusionPolicyIgnore), cronJobs, backoffLimits,
	oneVolume, attachedVolumes, boundVolumes, ephemeralVolumes, claimTemplates, daemonSets, scopedQuotas, boundedRanges, tolerationPolicies,
	cordonedNodes, zonedNodes, cordonTolerated, bestEffort, deadlines, failurePolicies, podScopes, preferredPods, softSpread, zoneVolumes,
}

// featuresOfPods are those that one of three workloads has one of.
var featuresOfPods = map[string]func(p *places, name string, spec *corev1.PodSpec){
	"minDomains":                         (*places).minDomains,
	"matchLabelKeys of topology spread":  (*places).spreadByKeys,
	"namespaceSelector":                  (*places).namespaceSelector,
	"matchLabelKeys of affinity":         (*places).matchKeys,
	"mismatchLabelKeys":                  (*places).mismatchKeys,
	"affinity to another workload":       (*places).nearAnother,
	"anti-affinity to another workload":  (*places).awayFromAnother,
	"extended resource":                  (*places).asksForGPU,
	"sidecar":                            (*places).sidecar,
	"overhead":                           (*places).overhead,
	"preemptionPolicy Never":             (*places).patient,
	"tolerationSeconds of the new taint": (*places).toleratesForAWhile,
	"pod-level resources":                (*places).podLevel,
	"required node affinity":             (*places).requires,
	"host ports of some addresses":       (*places).hostPorts,
}

// feature gives one of three workloads a random feature.
func (p *places) feature(name string, spec *corev1.PodSpec) {
	p.t.Helper()
	if p.features == nil || p.features.IntN(3) > 0 {
		return
	}
	p.featureOf[name] = one(p, slices.Sorted(maps.Keys(featuresOfPods))...)
	featuresOfPods[p.featureOf[name]](p, name, spec)
}

// rack is a label of nodes that no other pool has: a spread that ignores node affinity counts all nodes with it.
func (p *places) rack() string { return p.pool + "-rack" }

// includes spreads the pods of some workloads over racks, counting those of nodes that node affinity or a node selector
// excludes, or not.
func (p *places) includes(name string, spec *corev1.PodSpec) {
	if p.features == nil || p.added.IntN(4) > 0 || p.featureOf[name] != "" {
		return
	}
	policies := []corev1.NodeInclusionPolicy{corev1.NodeInclusionPolicyHonor, corev1.NodeInclusionPolicyIgnore}
	affinity, taints := policies[p.added.IntN(2)], policies[p.added.IntN(2)]
	p.have(name, spreadOfNodes(affinity))
	spec.TopologySpreadConstraints = append(spec.TopologySpreadConstraints, corev1.TopologySpreadConstraint{
		MaxSkew: 1 + p.added.Int32N(2), TopologyKey: p.rack(), WhenUnsatisfiable: corev1.DoNotSchedule, LabelSelector: appIn(name), NodeAffinityPolicy: &affinity, NodeTaintsPolicy: &taints,
	})
	zone, rack := fmt.Sprintf("z%d", p.added.IntN(2)), fmt.Sprintf("r%d", p.added.IntN(3))
	switch p.added.IntN(3) {
	case 0:
		spec.NodeSelector["zone"] = zone
	case 1:
		spec.NodeSelector[p.rack()] = rack
	default:
		require(spec, corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{{Key: p.rack(), Operator: corev1.NodeSelectorOpNotIn, Values: []string{rack}}}})
	}
}

// spreadOfNodes is the feature of a nodeAffinityPolicy.
func spreadOfNodes(policy corev1.NodeInclusionPolicy) string {
	return "nodeAffinityPolicy " + string(policy)
}

// one draws one of several values.
func one[T any](p *places, of ...T) T { return of[p.features.IntN(len(of))] }

func (p *places) minDomains(name string, spec *corev1.PodSpec) {
	spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{
		MaxSkew: 1 + p.features.Int32N(2), TopologyKey: p.topology(), WhenUnsatisfiable: corev1.DoNotSchedule, LabelSelector: appIn(name), MinDomains: new(1 + p.features.Int32N(4)),
	}}
}

// spreadByKeys selects the pods of all workloads, and those of the same by a key. Only pods of Deployments have
// the label pod-template-hash: a key that a pod does not have is ignored.
func (p *places) spreadByKeys(_ string, spec *corev1.PodSpec) {
	all := &metav1.LabelSelector{}
	key := one(p, "app", "pod-template-hash")
	if key != "app" {
		all = exists("app")
	}
	spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{
		MaxSkew: 1 + p.features.Int32N(2), TopologyKey: p.topology(), WhenUnsatisfiable: corev1.DoNotSchedule, LabelSelector: all, MatchLabelKeys: []string{key},
	}}
}

// namespaceSelector selects the pods' own namespace. That of anti-affinity may select all others: their pods are on no node
// of the pool.
func (p *places) namespaceSelector(name string, spec *corev1.PodSpec) {
	own := metav1.LabelSelectorRequirement{Key: corev1.LabelMetadataName, Operator: metav1.LabelSelectorOpIn, Values: []string{p.namespace}}
	term := corev1.PodAffinityTerm{TopologyKey: p.topology(), LabelSelector: appIn(name, p.another(name))}
	add := one(p, seek, avoid)
	if p.features.IntN(3) == 0 {
		add, term.TopologyKey, own.Operator = avoid, corev1.LabelHostname, metav1.LabelSelectorOpNotIn
	}
	term.NamespaceSelector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{own}}
	add(spec, term)
}

func (p *places) matchKeys(_ string, spec *corev1.PodSpec) {
	term := corev1.PodAffinityTerm{TopologyKey: p.topology(), LabelSelector: &metav1.LabelSelector{}, MatchLabelKeys: []string{"app"}}
	if p.features.IntN(2) == 0 {
		term.LabelSelector, term.MatchLabelKeys = exists("app"), []string{"pod-template-hash"}
	}
	one(p, seek, avoid)(spec, term)
}

// mismatchKeys selects the pods of all other workloads.
func (p *places) mismatchKeys(_ string, spec *corev1.PodSpec) {
	one(p, seek, avoid)(spec, corev1.PodAffinityTerm{TopologyKey: p.topology(), LabelSelector: &metav1.LabelSelector{}, MismatchLabelKeys: []string{"app"}})
}

func (p *places) nearAnother(name string, spec *corev1.PodSpec) {
	seek(spec, corev1.PodAffinityTerm{TopologyKey: p.topology(), LabelSelector: appIn(p.another(name))})
}

func (p *places) awayFromAnother(name string, spec *corev1.PodSpec) {
	avoid(spec, corev1.PodAffinityTerm{TopologyKey: p.topology(), LabelSelector: appIn(p.another(name))})
}

func (*places) asksForGPU(_ string, spec *corev1.PodSpec) {
	own := &spec.Containers[0].Resources
	own.Limits = corev1.ResourceList{gpu: *resource.NewQuantity(1, resource.DecimalSI)}
	own.Requests[gpu] = own.Limits[gpu]
}

// sidecar adds a container that runs beside the others, and one before it that has ended by then.
func (p *places) sidecar(_ string, spec *corev1.PodSpec) {
	always := corev1.ContainerRestartPolicyAlways
	spec.InitContainers = []corev1.Container{{Name: "beside", Image: spec.Containers[0].Image, RestartPolicy: &always, Resources: p.asks(4)}}
	if p.features.IntN(2) == 0 {
		spec.InitContainers = append(spec.InitContainers, corev1.Container{Name: "before", Image: spec.Containers[0].Image, Resources: p.asks(8)})
	}
}

func (p *places) asks(quarters int64) corev1.ResourceRequirements {
	return corev1.ResourceRequirements{Requests: corev1.ResourceList{
		"cpu": *resource.NewMilliQuantity(250*p.features.Int64N(quarters), resource.DecimalSI), "memory": *resource.NewQuantity(0, resource.BinarySI),
	}}
}

// overhead has admission give the pods that of a RuntimeClass.
func (p *places) overhead(_ string, spec *corev1.PodSpec) {
	p.t.Helper()
	name, classes := acctest.Name(p.t, "runtime"), p.c.Admin.NodeV1().RuntimeClasses()
	_, err := classes.Create(p.t.Context(), &nodev1.RuntimeClass{
		ObjectMeta: metav1.ObjectMeta{Name: name}, Handler: "runc", Overhead: &nodev1.Overhead{PodFixed: p.asks(4).Requests},
	}, metav1.CreateOptions{})
	p.must(err)
	p.t.Cleanup(func() { _ = classes.Delete(context.Background(), name, metav1.DeleteOptions{}) })
	spec.RuntimeClassName = &name
}

// patient gives pods a priority with which they preempt none.
func (p *places) patient(_ string, spec *corev1.PodSpec) {
	p.t.Helper()
	if spec.PriorityClassName == "" {
		p.urgents++
	}
	requests := spec.Containers[0].Resources.Requests
	p.urgent("0", corev1.PreemptNever)(spec)
	spec.Containers[0].Resources.Requests = requests
}

// toleratesForAWhile lets pods be evicted later than others.
func (p *places) toleratesForAWhile(_ string, spec *corev1.PodSpec) {
	p.later = true
	seconds := one[int64](p, 5, 10)
	spec.Tolerations = append(spec.Tolerations, corev1.Toleration{Key: "dedicated", Value: "gpu", Effect: corev1.TaintEffectNoExecute, TolerationSeconds: &seconds})
}

// change returns the taints of the change. Pods that tolerate one for a while would be placed on the tainted nodes
// without an end: another one keeps them away.
func (p *places) change() []corev1.Taint {
	taints := []corev1.Taint{{Key: "dedicated", Value: "gpu", Effect: corev1.TaintEffectNoExecute}}
	if p.later {
		taints = append(taints, corev1.Taint{Key: "dedicated", Value: "gpu", Effect: corev1.TaintEffectNoSchedule})
	}
	return taints
}

// evict makes the change of a node.
func (p *places) evict(node string) {
	p.t.Helper()
	patch, err := json.Marshal(map[string]any{"spec": map[string]any{"taints": p.change()}})
	p.must(err)
	p.c.Patch(p.t, node, string(patch))
}

func (p *places) topology() string { return one(p, corev1.LabelHostname, "zone") }

// another returns the name of another workload: the one before, or the second.
func (p *places) another(name string) string {
	var n int
	if _, err := fmt.Sscanf(name, "w%d", &n); err != nil || n == 0 {
		return "w1"
	}
	return fmt.Sprintf("w%d", p.features.IntN(n))
}

func appIn(names ...string) *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "app", Operator: metav1.LabelSelectorOpIn, Values: names}}}
}

func exists(key string) *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: key, Operator: metav1.LabelSelectorOpExists}}}
}

// seek adds a term of required affinity, avoid one of anti-affinity.
func seek(spec *corev1.PodSpec, term corev1.PodAffinityTerm) {
	all := affinityOf(spec)
	if all.PodAffinity == nil {
		all.PodAffinity = &corev1.PodAffinity{}
	}
	terms := &all.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution
	*terms = append(*terms, term)
}

func avoid(spec *corev1.PodSpec, term corev1.PodAffinityTerm) {
	all := affinityOf(spec)
	if all.PodAntiAffinity == nil {
		all.PodAntiAffinity = &corev1.PodAntiAffinity{}
	}
	terms := &all.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution
	*terms = append(*terms, term)
}

func affinityOf(spec *corev1.PodSpec) *corev1.Affinity {
	if spec.Affinity == nil {
		spec.Affinity = &corev1.Affinity{}
	}
	return spec.Affinity
}

// gpus gives some nodes of clusters with features an extended resource.
func (p *places) gpus(of corev1.ResourceList) corev1.ResourceList {
	if p.features != nil {
		if n := p.features.Int64N(4); n > 0 {
			of[gpu] = *resource.NewQuantity(n, resource.DecimalSI)
		}
	}
	return of
}

// daemons gives one of three clusters a DaemonSet: its pods run on every node, and are not recreated on tainted ones.
func (p *places) daemons() {
	p.t.Helper()
	if p.features == nil || p.features.IntN(3) > 0 {
		return
	}
	p.kindOf[daemon], p.featureOf[daemon] = daemonSets, daemonSets
	labels := map[string]string{"app": daemon}
	_, err := p.c.Admin.AppsV1().DaemonSets(p.namespace).Create(p.t.Context(), &appsv1.DaemonSet{
		ObjectMeta: metav1.ObjectMeta{Name: daemon},
		Spec: appsv1.DaemonSetSpec{Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{
			NodeSelector: map[string]string{"pool": p.pool}, Containers: []corev1.Container{{Name: "main", Image: "registry.k8s.io/pause:3.10.2", Resources: p.asks(3)}},
		}}},
	}, metav1.CreateOptions{})
	p.must(err)
	if p.repeated {
		// In copies other pods do not wait until the scheduler has placed them.
		acctest.Until(p.t, "the DaemonSet has a pod on every node", func(ctx context.Context) (bool, error) {
			return p.count(ctx, func(one *corev1.Pod) bool { return one.Status.Phase == corev1.PodRunning }) == len(p.nodes), nil
		})
	}
}

// daemon is the DaemonSet of a cluster that has one.
const daemon = "d"

// daemonsThere takes the pods of the DaemonSet out of the counted ones, and reports whether each node has one that is not tainted.
func (p *places) daemonsThere(there map[string]int32, tainted []string) bool {
	n := int(there[daemon])
	delete(there, daemon)
	return p.kindOf[daemon] == "" || n == len(p.nodes)-len(tainted)
}

// scope has half of the ResourceQuotas limit some of the pods alone.
func (p *places) scope(quota *corev1.ResourceQuotaSpec) {
	if p.features == nil || p.features.IntN(2) == 0 {
		return
	}
	p.scoped = true
	switch p.features.IntN(4) {
	case 0:
		quota.Scopes = []corev1.ResourceQuotaScope{corev1.ResourceQuotaScopeNotBestEffort}
	case 1:
		quota.Scopes = []corev1.ResourceQuotaScope{corev1.ResourceQuotaScopeNotTerminating}
	default:
		operator := one(p, corev1.ScopeSelectorOpExists, corev1.ScopeSelectorOpDoesNotExist)
		quota.ScopeSelector = &corev1.ScopeSelector{MatchExpressions: []corev1.ScopedResourceSelectorRequirement{{ScopeName: corev1.ResourceQuotaScopePriorityClass, Operator: operator}}}
	}
	p.scopeOfPods(quota)
}

// cameUp counts the features of the workloads whose pods were on the tainted nodes.
func (p *places) cameUp(tainted []string) {
	if p.tally == nil {
		return
	}
	p.tally.mu.Lock()
	defer p.tally.mu.Unlock()
	if p.tally.features == nil {
		p.tally.features = map[string]int{}
	}
	evicted := false
	for name, pods := range p.on {
		if slices.ContainsFunc(slices.Collect(maps.Values(pods)), func(at int) bool { return at < len(tainted) }) {
			evicted = true
			for _, feature := range p.featuresOf(name) {
				p.tally.features[feature]++
			}
		}
	}
	for name, has := range map[string]bool{scopedQuotas: p.scoped, boundedRanges: p.bounded, tolerationPolicies: p.policy, zonedNodes: p.zoned, cordonedNodes: p.cordoned != "", podScopes: p.ofPods} {
		if evicted && has {
			p.tally.features[name]++
		}
	}
}

// expectFeatures fails if a feature never came up in many clusters.
func (c *placed) expectFeatures(t *testing.T) {
	t.Helper()
	for _, name := range append(slices.Sorted(maps.Keys(featuresOfPods)), furtherFeatures...) {
		t.Logf("%s: %d workloads with evicted pods, %d outside of their range", name, c.features[name], c.outsideOf[name])
		if c.clusters >= enoughClusters && c.features[name] == 0 {
			t.Errorf("%q never came up: the test shows nothing about it", name)
		}
	}
}

// have notes that a workload has a feature beside the one of featureOf.
func (p *places) have(name, feature string) { p.also[name] = append(p.also[name], feature) }

// featuresOf returns all features of a workload.
func (p *places) featuresOf(name string) []string {
	all := slices.Clone(p.also[name])
	if one := p.featureOf[name]; one != "" {
		all = append(all, one)
	}
	return all
}

// named is a workload with its class and its features.
func (p *places) named(name string) string {
	if features := p.featuresOf(name); len(features) > 0 {
		return fmt.Sprintf("%s (%s) %s", p.classOf(name), strings.Join(features, ", "), name)
	}
	return p.classOf(name) + " " + name
}
