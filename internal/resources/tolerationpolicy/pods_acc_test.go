// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package tolerationpolicy_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/toleration"
)

// term is a node selector term as pods ask for it.
func term(expressions ...corev1.NodeSelectorRequirement) corev1.NodeSelectorTerm {
	return corev1.NodeSelectorTerm{MatchExpressions: expressions}
}

func in(key string, values ...string) corev1.NodeSelectorRequirement {
	return corev1.NodeSelectorRequirement{Key: key, Operator: corev1.NodeSelectorOpIn, Values: values}
}

// affinity writes the terms of a pod's required node affinity: those that are joined by
// or with |, and what each demands with &.
func affinity(p *corev1.Pod) string {
	if p.Spec.Affinity == nil || p.Spec.Affinity.NodeAffinity == nil || p.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution == nil {
		return ""
	}
	var terms []string
	for _, t := range p.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms {
		var parts []string
		for _, e := range append(t.MatchExpressions, t.MatchFields...) {
			parts = append(parts, e.Key+" "+string(e.Operator)+" "+strings.Join(e.Values, ","))
		}
		terms = append(terms, strings.Join(parts, " & "))
	}
	return strings.Join(terms, " | ")
}

func require(p *corev1.Pod, terms ...corev1.NodeSelectorTerm) {
	p.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: terms}}}
}

func TestAccTolerationPolicy_givesToPodsWhatTheyLack(t *testing.T) {
	t.Parallel()
	newStage(t).givesToPodsWhatTheyLack()
}

func (s *stage) givesToPodsWhatTheyLack() {
	t := s.t
	name := acctest.Name(t, "policy")
	s.apply(fresh(), s.config(name, "team=a:NoExecute@60 spot*:NoSchedule", map[string]any{"pin": map[string]any{"pool": "a", "zone": "z"}}))
	const both, pinned = "spot Exists:NoSchedule, team=a:NoExecute for 60s", "pool In a & zone In z"
	for name, tt := range map[string]struct {
		change                func(*corev1.Pod)
		tolerations, affinity string
	}{
		"a pod that asks for nothing": {nil, both, pinned},
		"one that tolerates one of them for another time keeps that": {func(p *corev1.Pod) {
			p.Spec.Tolerations = acctest.ParseTolerations(t, "team=a:NoExecute@5 x*")
		}, "team=a:NoExecute for 5s, x Exists, spot Exists:NoSchedule", pinned},
		"one that tolerates more is left as it is": {func(p *corev1.Pod) {
			p.Spec.Tolerations = acctest.ParseTolerations(t, "team* spot*")
		}, "team Exists, spot Exists", pinned},
		"one that tolerates everything is left as it is": {func(p *corev1.Pod) {
			p.Spec.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}}
		}, "Exists", pinned},
		"tolerations of other values, effects and keys do not count": {func(p *corev1.Pod) {
			p.Spec.Tolerations = acctest.ParseTolerations(t, "team=b:NoExecute team=a:NoSchedule spot=1:NoSchedule")
		}, "team=b:NoExecute, team=a:NoSchedule, spot=1:NoSchedule, " + both, pinned},
		"no operator is Equal": {func(p *corev1.Pod) {
			p.Spec.Tolerations = []corev1.Toleration{{Key: "team", Value: "a", Effect: corev1.TaintEffectNoExecute}}
		}, "team=a:NoExecute, spot Exists:NoSchedule", pinned},
		"every term of its affinity demands the labels as well": {func(p *corev1.Pod) {
			require(p, term(in("disk", "ssd")), term(in("disk", "nvme"), in("pool", "a")))
		}, both, "disk In ssd & pool In a & zone In z | disk In nvme & pool In a & zone In z"},
		"a term of fields alone": {func(p *corev1.Pod) {
			require(p, corev1.NodeSelectorTerm{MatchFields: []corev1.NodeSelectorRequirement{in("metadata.name", "n")}}, corev1.NodeSelectorTerm{})
		}, both, "pool In a & zone In z & metadata.name In n | "},
		"a pod that prefers nodes": {func(p *corev1.Pod) {
			p.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []corev1.PreferredSchedulingTerm{{Weight: 1, Preference: term(in("disk", "ssd"))}}}}
		}, both, pinned},
		"a pod of another affinity": {func(p *corev1.Pod) {
			p.Spec.Affinity = &corev1.Affinity{PodAffinity: &corev1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{TopologyKey: "zone", LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"a": "b"}}}}}}
		}, both, pinned},
		"a pod of another namespace": {func(p *corev1.Pod) { p.Namespace = metav1.NamespaceDefault }, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := s.on(t)
			var first *corev1.Pod
			s.becomes("tolerations", func() string { first = s.try(tt.change); return own(first.Spec.Tolerations) }, tt.tolerations)
			s.want("affinity", affinity(first), tt.affinity)
			// A pod that was made once is made again unchanged.
			again := s.try(func(p *corev1.Pod) { p.Namespace, p.Spec = first.Namespace, *first.Spec.DeepCopy() })
			s.want("tolerations of the second time", own(again.Spec.Tolerations), tt.tolerations)
			s.want("affinity of the second time", affinity(again), tt.affinity)
		})
	}
}

func TestAccTolerationPolicy_matchesWhatIsMeant(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	const gpu = corev1.ResourceName("example.com/gpu")
	asks := func(n string) corev1.ResourceRequirements {
		return corev1.ResourceRequirements{Limits: corev1.ResourceList{gpu: resource.MustParse(n)}}
	}
	always := corev1.ContainerRestartPolicyAlways
	label := func(p *corev1.Pod) { p.Labels = map[string]string{"app": "train"} }
	s.matches(map[string]meant{
		"a container that requests": {map[string]any{"requests": []any{string(gpu), "example.com/other"}}, func(p *corev1.Pod) { p.Spec.Containers[0].Resources = asks("1") }, true},
		"an init container that requests": {map[string]any{"requests": []any{string(gpu)}}, func(p *corev1.Pod) {
			p.Spec.InitContainers = []corev1.Container{{Name: "init", Image: "x", Resources: asks("1")}}
		}, true},
		"a sidecar that requests": {map[string]any{"requests": []any{string(gpu)}}, func(p *corev1.Pod) {
			p.Spec.InitContainers = []corev1.Container{{Name: "side", Image: "x", RestartPolicy: &always, Resources: asks("2")}}
		}, true},
		"one that requests none of it":       {map[string]any{"requests": []any{string(gpu)}}, func(p *corev1.Pod) { p.Spec.Containers[0].Resources = asks("0") }, false},
		"one that requests something else":   {map[string]any{"requests": []any{"example.com/other"}}, func(p *corev1.Pod) { p.Spec.Containers[0].Resources = asks("1") }, false},
		"one that requests nothing":          {map[string]any{"requests": []any{string(gpu)}}, nil, false},
		"a pod that matches the selector":    {map[string]any{"pod_selector": "app in (train, infer),!legacy"}, label, true},
		"a pod that does not":                {map[string]any{"pod_selector": "app=infer"}, label, false},
		"a namespace that matches":           {map[string]any{"namespace_selector": "kubernetes.io/metadata.name=" + s.namespace}, nil, true},
		"a namespace that does not":          {map[string]any{"namespace_selector": "kubernetes.io/metadata.name=other"}, nil, false},
		"a pod of which only a part matches": {map[string]any{"pod_selector": "app=train", "requests": []any{string(gpu)}}, label, false},
		"a namespace of the system by name":  {map[string]any{"namespaces": []any{metav1.NamespaceSystem}}, func(p *corev1.Pod) { p.Namespace = metav1.NamespaceSystem }, true},
	})
}

// TestAccTolerationPolicy_matchesEverything runs alone: what it matches are the pods of
// other tests too, whose plans would speak of its policies.
//
//nolint:paralleltest // See above.
func TestAccTolerationPolicy_matchesEverything(t *testing.T) {
	stageOn(t, acctest.Alone(t)).matches(map[string]meant{
		"everything":                  {map[string]any{"match_all": true}, nil, true},
		"everything but the system's": {map[string]any{"match_all": true}, func(p *corev1.Pod) { p.Namespace = metav1.NamespaceSystem }, false},
	})
}

// meant reports whether a pod is to be matched.
type meant struct {
	match  map[string]any
	change func(*corev1.Pod)
	meant  bool
}

// matches makes a policy for each case, and tries its pod.
func (s *stage) matches(cases map[string]meant) {
	s.t.Helper()
	for name, tt := range cases {
		s.t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := s.on(t)
			name := acctest.Name(t, shared)
			if _, narrow := tt.match["match_all"]; !narrow && tt.match["namespace_selector"] == nil && tt.match["namespaces"] == nil {
				tt.match["namespaces"] = []any{s.namespace}
			}
			s.apply(fresh(), s.config(name, name+"*", map[string]any{"match": tt.match}))
			want := ""
			if tt.meant {
				want = name + " Exists"
			}
			// Policies of other cases may be about this pod as well.
			s.becomes("tolerations", func() (got string) {
				for _, one := range s.try(tt.change).Spec.Tolerations {
					if one.Key == name {
						got = taint.FormatToleration(one)
					}
				}
				return got
			}, want)
		})
	}
}

// TestAccTolerationPolicy_withPodTolerationRestriction: the plug-in merges tolerations
// before policies and checks them after; what pods get in the end is the same.
func TestAccTolerationPolicy_withPodTolerationRestriction(t *testing.T) {
	t.Parallel()
	c := acctest.Beside(t)
	for name, test := range map[string]func(*stage){
		"gives to pods what they lack": (*stage).givesToPodsWhatTheyLack,
		"pods of every controller":     (*stage).podsOfEveryController,
		"several on one pod add up":    (*stage).severalOnOnePodAddUp,
		"random pods are judged":       func(s *stage) { s.judgesRandomPods(judgements()) },
		"a namespace that forbids it":  (*stage).isWarnedOfNamespacesThatForbidIt,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(stageOn(t, c))
		})
	}
}

// TestAccTolerationPolicy_podsOfEveryController: what their real controllers make is given
// exactly what a pod is that is made by hand.
func TestAccTolerationPolicy_podsOfEveryController(t *testing.T) {
	t.Parallel()
	newStage(t).podsOfEveryController()
}

func (s *stage) podsOfEveryController() {
	t := s.t
	node := acctest.Name(t, "node")
	s.c.Node(t, acctest.Node{Name: node, Labels: map[string]string{"pool": node}, Taints: acctest.Parse(t, "team="+node+":NoSchedule")})
	s.apply(fresh(), s.config(acctest.Name(t, "policy"), "team="+node+":NoSchedule", map[string]any{"pin": map[string]any{"pool": node}}))
	s.becomes("tolerations", s.given, "team="+node+":NoSchedule")
	ctx, grace := t.Context(), int64(0)
	// At the end the policy goes before the workloads: what they make then must not run on nodes of other
	// tests.
	here := map[string]string{"pool": node}
	plain := func(spec *corev1.PodSpec) { spec.TerminationGracePeriodSeconds, spec.NodeSelector = &grace, here }
	s.c.Deployment(t, s.namespace, "deployment", 2, plain)
	s.c.StatefulSet(t, s.namespace, "statefulset", 2, plain)
	job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: "job"}, Spec: batchv1.JobSpec{Template: corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "job"}},
		Spec:       corev1.PodSpec{NodeSelector: here, RestartPolicy: corev1.RestartPolicyNever, Containers: []corev1.Container{{Name: "main", Image: "registry.k8s.io/pause:3.10.2"}}},
	}}}
	if _, err := s.c.Admin.BatchV1().Jobs(s.namespace).Create(ctx, job, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	s.c.Pod(t, s.namespace, "bare", "", func(p *corev1.Pod) { p.Labels = map[string]string{"app": "bare"} })
	// The controller of DaemonSets asks the template which nodes get a pod: one that does
	// not tolerate the taint gets none there, whatever its pods would be given.
	s.c.DaemonSet(t, s.namespace, "daemonset", 1, func(spec *corev1.PodSpec) {
		plain(spec)
		spec.Tolerations = acctest.ParseTolerations(t, "team*:NoSchedule")
	})
	for app, want := range map[string]int{"deployment": 2, "statefulset": 2, "job": 1, "bare": 1, "daemonset": 1} {
		var pods []corev1.Pod
		acctest.Until(t, "the pods of "+app+" are on the node", func(ctx context.Context) (bool, error) {
			list, err := s.c.Admin.CoreV1().Pods(s.namespace).List(ctx, metav1.ListOptions{LabelSelector: "app=" + app})
			if err != nil {
				return false, err
			}
			pods = list.Items
			for _, p := range pods {
				if p.Spec.NodeName != node {
					return false, nil
				}
			}
			return len(pods) == want, nil
		})
		for i := range pods {
			tolerates, requires := "team="+node+":NoSchedule", "pool In "+node
			if app == "daemonset" {
				// Its controller chooses the nodes of its pods.
				tolerates, requires = "team Exists:NoSchedule", "metadata.name In "+node
			}
			s.want("tolerations of "+app, own(pods[i].Spec.Tolerations), tolerates)
			s.want("affinity of "+app, affinity(&pods[i]), requires)
		}
	}
}

func TestAccTolerationPolicy_severalOnOnePodAddUp(t *testing.T) {
	t.Parallel()
	newStage(t).severalOnOnePodAddUp()
}

func (s *stage) severalOnOnePodAddUp() {
	t := s.t
	a, b, c := acctest.Name(t, "a"), acctest.Name(t, "b"), acctest.Name(t, "c")
	s.apply(fresh(), s.config(a, "team=a:NoSchedule shared*", map[string]any{"pin": map[string]any{"pool": "a"}}))
	s.apply(fresh(), s.config(b, "team=b:NoSchedule shared*", map[string]any{"pin": map[string]any{"zone": "z"}}))
	// A change by one policy has the API server ask all of them again: nothing is added twice.
	s.apply(fresh(), s.config(c, "late*", nil))
	var pod *corev1.Pod
	// The API server promises no order of policies.
	s.becomes("tolerations", func() string { pod = s.try(nil); return own(toleration.Sort(pod.Spec.Tolerations)) }, "late Exists, shared Exists, team=a:NoSchedule, team=b:NoSchedule")
	got := strings.Split(affinity(pod), " & ")
	slices.Sort(got)
	s.want("affinity", strings.Join(got, " & "), "pool In a & zone In z")
}
