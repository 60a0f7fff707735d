// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package faults_test

import (
	"maps"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/fakeapi"
)

// TestMissingGroups_costNothing applies each resource to nodes with the label of OpenShift's
// machine-config operator, on a cluster that lacks the four groups whose kinds are looked for then: the
// requests and the time are those without the label, but for the question what the cluster serves.
func TestMissingGroups_costNothing(t *testing.T) {
	t.Parallel()
	type cost struct {
		requests map[string]int
		time     time.Duration
	}
	for _, s := range subjects() {
		if s.action || !slices.Contains(cheap, s.name()) {
			continue
		}
		t.Run(s.name(), func(t *testing.T) {
			t.Parallel()
			costs := map[bool]map[string]cost{}
			for _, labelled := range []bool{false, true} {
				costs[labelled] = map[string]cost{}
				bubble(t, moment{api: fakeapi.New(s.kinds...)}, func(t *testing.T, api *fakeapi.Server) {
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
						costs[labelled][step.phase] = cost{maps.Clone(requests), took}
						mu.Unlock()
					}
				})
			}
			for phase, plain := range costs[false] {
				labelled := costs[true][phase]
				// One group that is asked for ten times costs six seconds, and a controller that loses
				// a conflict with another one looks again after one and a half.
				if labelled.time > plain.time+4*time.Second {
					t.Errorf("%s takes %s with the label, and %s without", phase, labelled.time, plain.time)
				}
				// Discovery, of two documents and by two processes, which plan and apply.
				if labelled.requests["get "] > 4 {
					t.Errorf("%s asks %d times what the cluster serves", phase, labelled.requests["get "])
				}
				delete(plain.requests, "get ")
				delete(labelled.requests, "get ")
				if diff := cmp.Diff(plain.requests, labelled.requests); diff != "" {
					t.Errorf("%s sends other requests with the label:\n%s", phase, diff)
				}
			}
		})
	}
}
