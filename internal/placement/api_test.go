// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package placement

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

// amounts reads a list such as "cpu=1m memory=2".
func amounts(text string) corev1.ResourceList {
	out := corev1.ResourceList{}
	for _, one := range strings.Fields(text) {
		name, value, _ := strings.Cut(one, "=")
		out[corev1.ResourceName(name)] = resource.MustParse(value)
	}
	return out
}

func container(requests string) corev1.Container {
	return corev1.Container{Resources: corev1.ResourceRequirements{Requests: amounts(requests)}}
}

func containers(requests ...string) []corev1.Container {
	var out []corev1.Container
	for _, r := range requests {
		out = append(out, container(r))
	}
	return out
}

// fromAPI is a pod as a snapshot has it.
func fromAPI(p *corev1.Pod) *snapshot.Pod {
	out := &snapshot.Pod{
		Namespace: p.Namespace, Name: p.Name, Node: p.Spec.NodeName, UID: p.UID, Labels: p.Labels, Ready: true,
		Demand: snapshot.DemandOf(p), Rules: snapshot.PodRulesOf(&p.Spec), Terminating: p.DeletionTimestamp != nil, Nominated: p.Status.NominatedNodeName,
		Scheduling: &snapshot.Scheduling{Tolerations: p.Spec.Tolerations, NodeSelector: p.Spec.NodeSelector},
	}
	if a := p.Spec.Affinity; a != nil && a.NodeAffinity != nil {
		out.Scheduling.Affinity, out.Scheduling.Preferred = a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution, a.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution
	}
	if p.Status.StartTime != nil {
		out.Since = p.Status.StartTime.Unix()
	}
	return out
}

// prepared is a simulation in which a pod is about to be placed.
func (w world) prepared(p *snapshot.Pod) (*simulation, *class) {
	s := newSimulation(New(w.Snapshot, Scenario{}, false), nil)
	c := s.classOf(p, p.Scheduling, p.Requests())
	s.chance = newChance(1, 1)
	s.reset()
	s.running = true
	return s, c
}

// answers returns what each node answers to a pod.
func (w world) answers(p *snapshot.Pod) map[string]answer {
	s, c := w.prepared(p)
	out := map[string]answer{}
	for i, n := range s.places {
		out[n.node.Name] = s.ask(c, int32(i))
	}
	return out
}

// expect compares what nodes answer with what they are expected to, in the order of their names.
func (w world) expect(t *testing.T, p *snapshot.Pod, want ...answer) {
	t.Helper()
	got := w.answers(p)
	for i, n := range w.SortedNodes() {
		if got[n.Name] != want[i] {
			t.Errorf("%s answers %d, want %d", n.Name, got[n.Name], want[i])
		}
	}
}

// term reads a term of pod affinity such as "app in (a,b)@zone", with namespaces behind a "#" and
// a selector of namespaces behind a "%".
func term(text string) corev1.PodAffinityTerm {
	var out corev1.PodAffinityTerm
	text, namespaceSelector, selects := strings.Cut(text, "%")
	if selects {
		out.NamespaceSelector = selector(namespaceSelector)
	}
	text, namespaces, named := strings.Cut(text, "#")
	if named {
		out.Namespaces = strings.Split(namespaces, ",")
	}
	text, out.TopologyKey, _ = strings.Cut(text, "@")
	out.LabelSelector = selector(text)
	return out
}

func selector(text string) *metav1.LabelSelector {
	out, err := metav1.ParseToLabelSelector(text)
	if err != nil {
		panic(err)
	}
	return out
}

// apiPod is a pod that is being built.
type apiPod struct{ corev1.Pod }

// labelledPod is a pod with labels such as "app=web,tier=front".
func labelledPod(labels string) *apiPod {
	p := &apiPod{}
	p.Labels = labelsOf(labels)
	p.Spec.Affinity = &corev1.Affinity{PodAffinity: &corev1.PodAffinity{}, PodAntiAffinity: &corev1.PodAntiAffinity{}}
	return p
}

func labelsOf(text string) map[string]string {
	out := map[string]string{}
	for one := range strings.SplitSeq(text, ",") {
		if key, value, _ := strings.Cut(one, "="); key != "" {
			out[key] = value
		}
	}
	return out
}

func (p *apiPod) at(node string) *apiPod {
	p.Spec.NodeName, p.Name = node, p.Name+"on-"+node
	return p
}

func (p *apiPod) in(namespace string) *apiPod {
	p.Namespace = namespace
	return p
}

func (p *apiPod) near(terms ...string) *apiPod {
	for _, one := range terms {
		list := &p.Spec.Affinity.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution
		*list = append(*list, term(one))
	}
	return p
}

func (p *apiPod) apart(terms ...string) *apiPod {
	for _, one := range terms {
		list := &p.Spec.Affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution
		*list = append(*list, term(one))
	}
	return p
}

func (p *apiPod) preferNear(weight int32, text string) *apiPod {
	list := &p.Spec.Affinity.PodAffinity.PreferredDuringSchedulingIgnoredDuringExecution
	*list = append(*list, corev1.WeightedPodAffinityTerm{Weight: weight, PodAffinityTerm: term(text)})
	return p
}

func (p *apiPod) preferApart(weight int32, text string) *apiPod {
	list := &p.Spec.Affinity.PodAntiAffinity.PreferredDuringSchedulingIgnoredDuringExecution
	*list = append(*list, corev1.WeightedPodAffinityTerm{Weight: weight, PodAffinityTerm: term(text)})
	return p
}

// topologyWorld is a world of nodes such as "n1 zone=z1,host=h1" and of pods on them.
func topologyWorld(nodes []string, pods ...*apiPod) world {
	w := newWorld()
	for _, text := range nodes {
		name, labels, _ := strings.Cut(text, " ")
		w.Nodes[name] = &snapshot.Node{Name: name, Labels: labelsOf(labels)}
	}
	for _, p := range pods {
		w = w.run(fromAPI(&p.Pod))
	}
	return w
}

// metav1Selector is a selector as a snapshot has it.
func metav1Selector(text string) labels.Selector {
	out, err := metav1.LabelSelectorAsSelector(selector(text))
	if err != nil {
		panic(err)
	}
	return out
}
