// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package faults_test

import (
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/fakeapi"
)

// openShiftKinds are the kinds that are looked for where nodes have the label of OpenShift's
// machine-config operator, by their API group.
func openShiftKinds() map[string][]fakeapi.Kind {
	wide := func(k fakeapi.Kind) fakeapi.Kind {
		k.Cluster = true
		return k
	}
	return map[string][]fakeapi.Kind{
		"apps.openshift.io": {fakeapi.CustomKind("apps.openshift.io/v1", "DeploymentConfig", "deploymentconfigs")},
		"operator.openshift.io": {
			fakeapi.CustomKind("operator.openshift.io/v1", "IngressController", "ingresscontrollers"), wide(fakeapi.CustomKind("operator.openshift.io/v1", "DNS", "dnses")),
		},
		"imageregistry.operator.openshift.io": {wide(fakeapi.CustomKind("imageregistry.operator.openshift.io/v1", "Config", "configs"))},
		"operators.coreos.com":                {fakeapi.CustomKind("operators.coreos.com/v1alpha1", "Subscription", "subscriptions")},
	}
}

// cost is what a phase of a resource sends, and the time that it takes.
type cost struct {
	requests map[string]int
	time     time.Duration
}

// setting is a cluster: the kinds that it serves beside a subject's own, whether its nodes have the label of
// OpenShift's machine-config operator, and the namespace of a Deployment without pods, "" for none.
type setting struct {
	kinds    []fakeapi.Kind
	labelled bool
	runs     string
}

// costsOf applies and destroys a resource on a cluster. It returns what each phase costs.
func costsOf(t *testing.T, s subject, on setting) map[string]cost {
	t.Helper()
	costs := map[string]cost{}
	bubble(t, moment{api: fakeapi.New(slices.Concat(s.kinds, on.kinds)...)}, func(t *testing.T, api *fakeapi.Server) {
		s.world(api)
		if on.runs != "" {
			api.Add(withoutPods(on.runs))
		}
		time.Sleep(calm)
		if on.labelled {
			for _, n := range fakeapi.Objects[*corev1.Node](api) {
				fakeapi.Edit(api, "", n.Name, func(n *corev1.Node) {
					n.Labels = maps.Clone(n.Labels)
					metav1.SetMetaDataLabel(&n.ObjectMeta, "node.openshift.io/os_id", "rhcos")
				})
			}
			time.Sleep(calm)
		}
		i := acctest.Instance{Type: "kubetaint_" + s.typeName}
		for _, step := range []struct {
			phase  string
			config map[string]any
		}{{"create", s.first}, {"update", s.second}, {"destroy", nil}} {
			client, requests := api.Client(), map[string]int{}
			// Answers come in parallel.
			var mu sync.Mutex
			client.OnAnswer(func(q fakeapi.Request, status int) {
				// A controller that writes the same object costs a conflict and another look at it,
				// now and then.
				if status == http.StatusConflict || q.Verb == "get" && q.Resource != "" && status == http.StatusOK {
					return
				}
				mu.Lock()
				defer mu.Unlock()
				requests[q.Verb+" "+q.Resource]++
			})
			began := time.Now()
			if d := through(client).Apply(t, &i, step.config); d.Errors() != "" {
				t.Fatalf("%s: %s", step.phase, d.Errors())
			}
			took := time.Since(began)
			time.Sleep(calm)
			mu.Lock()
			costs[step.phase] = cost{maps.Clone(requests), took}
			mu.Unlock()
		}
	})
	return costs
}

// sameTime expects that a phase takes the same time on two clusters. Controllers of a surge look at their MachineSet
// every half second; each of the three writes of a surge comes just before such a look or just after it, which differs
// from one run to the next on the same cluster.
func sameTime(t *testing.T, s subject, phase, where string, labelled, plain cost) {
	t.Helper()
	looks := time.Duration(0)
	if s.name() == "machine_set_taints/surge" {
		looks = 3 * time.Second / 2
	}
	if diff := (labelled.time - plain.time).Abs(); diff > looks {
		t.Errorf("%s, %s takes %s with the label, and %s without", where, phase, labelled.time, plain.time)
	}
}

// withoutPods is a Deployment of no pods.
func withoutPods(namespace string) *appsv1.Deployment {
	labels := map[string]string{"app": "operator"}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "operator"},
		Spec: appsv1.DeploymentSpec{
			Replicas: new(int32(0)), Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "registry.k8s.io/pause:3.10.2"}}}},
		},
	}
}

// TestMissingGroups_costNothing applies each resource to nodes with the label of OpenShift's
// machine-config operator, on clusters that lack the four groups whose kinds are looked for on OpenShift:
// requests and time are exactly those without the label, also on MicroShift.
func TestMissingGroups_costNothing(t *testing.T) {
	t.Parallel()
	acctest.TooLong(t)
	for _, s := range subjects() {
		if s.action || !slices.Contains(cheap, s.name()) {
			continue
		}
		t.Run(s.name(), func(t *testing.T) {
			t.Parallel()
			for _, runs := range []string{"", "openshift-ingress"} {
				plain := costsOf(t, s, setting{runs: runs})
				for phase, labelled := range costsOf(t, s, setting{runs: runs, labelled: true}) {
					if diff := cmp.Diff(plain[phase].requests, labelled.requests); diff != "" {
						t.Errorf("with workloads in %q, %s sends other requests with the label:\n%s", runs, phase, diff)
					}
					sameTime(t, s, phase, "with workloads in "+strconv.Quote(runs), labelled, plain[phase])
				}
			}
		})
	}
}

// TestServedGroups_costOneListOfEachKind applies each resource on OpenShift, to clusters that serve one of the four
// groups, or none: the requests and the time are those of another cluster, but for the question what the
// cluster serves and, of each phase, one list of each served kind by each of its two processes. OpenShift's monitoring
// is not there, so that nothing asks for its ConfigMaps.
func TestServedGroups_costOneListOfEachKind(t *testing.T) {
	t.Parallel()
	acctest.TooLong(t)
	const operators = "openshift-ingress-operator"
	for _, s := range subjects() {
		if s.action || !slices.Contains(cheap, s.name()) {
			continue
		}
		t.Run(s.name(), func(t *testing.T) {
			t.Parallel()
			plain := costsOf(t, s, setting{runs: operators})
			clusters := openShiftKinds()
			clusters["none"] = nil
			for served, kinds := range clusters {
				if slices.ContainsFunc(kinds, func(k fakeapi.Kind) bool {
					return slices.ContainsFunc(s.kinds, func(own fakeapi.Kind) bool { return own.GroupVersionKind == k.GroupVersionKind })
				}) {
					continue
				}
				listed := 0
				for phase, labelled := range costsOf(t, s, setting{kinds: kinds, labelled: true, runs: operators}) {
					sameTime(t, s, phase, "serving "+served, labelled, plain[phase])
					// Discovery, of two documents and by two processes, which plan and apply.
					if labelled.requests["get "] > 4 {
						t.Errorf("serving %s, %s asks %d times what the cluster serves", served, phase, labelled.requests["get "])
					}
					for _, k := range kinds {
						n := labelled.requests["list "+k.Plural]
						if n > 2 {
							t.Errorf("serving %s, %s lists %s %d times", served, phase, k.Plural, n)
						}
						listed += n
						delete(labelled.requests, "list "+k.Plural)
					}
					want := maps.Clone(plain[phase].requests)
					delete(want, "get ")
					delete(labelled.requests, "get ")
					if diff := cmp.Diff(want, labelled.requests); diff != "" {
						t.Errorf("serving %s, %s sends other requests with the label:\n%s", served, phase, diff)
					}
				}
				// Taints that go may need no tolerations any more, whichever their kinds are.
				if taints := s.typeName == "dedicated_nodes" || strings.HasSuffix(s.typeName, "_taints"); taints && len(kinds) > 0 && listed == 0 {
					t.Errorf("serving %s, nothing asks for its kinds", served)
				}
			}
		})
	}
}
