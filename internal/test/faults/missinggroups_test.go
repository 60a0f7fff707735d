// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package faults_test

import (
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
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

// costsOf applies and destroys a resource on a cluster that serves more kinds, whose nodes have the label
// of OpenShift's machine-config operator where labelled is set. It returns what each phase costs.
func costsOf(t *testing.T, s subject, labelled bool, more ...fakeapi.Kind) map[string]cost {
	t.Helper()
	costs := map[string]cost{}
	bubble(t, moment{api: fakeapi.New(slices.Concat(s.kinds, more)...)}, func(t *testing.T, api *fakeapi.Server) {
		s.world(api)
		time.Sleep(calm)
		if labelled {
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

// TestMissingGroups_costNothing applies each resource to nodes with the label of OpenShift's
// machine-config operator, on clusters that lack the four groups whose kinds are looked for then, or three
// of them: the requests and the time are those without the label, but for the question what the cluster
// serves and, of each phase, one list of each served kind by each of its two processes.
func TestMissingGroups_costNothing(t *testing.T) {
	t.Parallel()
	for _, s := range subjects() {
		if s.action || !slices.Contains(cheap, s.name()) {
			continue
		}
		t.Run(s.name(), func(t *testing.T) {
			t.Parallel()
			plain := costsOf(t, s, false)
			clusters := openShiftKinds()
			clusters["none"] = nil
			for served, kinds := range clusters {
				if slices.ContainsFunc(kinds, func(k fakeapi.Kind) bool {
					return slices.ContainsFunc(s.kinds, func(own fakeapi.Kind) bool { return own.GroupVersionKind == k.GroupVersionKind })
				}) {
					continue
				}
				listed := 0
				for phase, labelled := range costsOf(t, s, true, kinds...) {
					// One group that is asked for ten times costs six seconds, and a controller that loses
					// a conflict with another one looks again after one and a half.
					if labelled.time > plain[phase].time+4*time.Second {
						t.Errorf("serving %s, %s takes %s with the label, and %s without", served, phase, labelled.time, plain[phase].time)
					}
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
					// OpenShift's monitoring has its tolerations in two ConfigMaps, which are not there.
					if n := labelled.requests["get configmaps"]; n > 4 || n > 0 && served != "operator.openshift.io" {
						t.Errorf("serving %s, %s asks for ConfigMaps %d times", served, phase, n)
					}
					delete(labelled.requests, "get configmaps")
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
