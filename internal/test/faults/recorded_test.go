// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package faults_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/fakeapi"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/messages"
)

// TestRecorded_plansAreThoseOfTheCluster plans every operation of every resource from a recording of the
// cluster: the plan and what it says are those of the cluster. An apply is refused, and so are actions.
func TestRecorded_plansAreThoseOfTheCluster(t *testing.T) {
	t.Parallel()
	acctest.TooLong(t)
	messages.Expect(t, "Unable to apply from a snapshot")
	for _, s := range subjects() {
		for _, o := range s.operations() {
			t.Run(s.name()+" "+o.name, func(t *testing.T) {
				t.Parallel()
				st := prepare(t, s, o)
				bubble(t, st.start, func(t *testing.T, api *fakeapi.Server) {
					version := api.Version()
					tf := acctest.SnapshotOf(t, fakeapi.Host, api.Client())
					warns := "The plan is made from the snapshot"
					if _, d := tf.Start(t); strings.Count(d.Warnings(), warns) != 1 || d.Errors() != "" {
						t.Errorf("configuring says %s%s", d.Errors(), d.Warnings())
					}
					i := st.instance
					if s.action {
						wantRefused(t, tf.Invoke(t, i.Type, o.to))
					} else {
						st.plannedAlike(t, through(api.Client()), tf)
						wantRefused(t, tf.Carry(t, &i, st.planned, o.to))
					}
					if api.Version() != version {
						t.Error("the cluster has been changed")
					}
				})
			})
		}
	}
}

// plannedAlike compares a plan from a recording with one of the cluster.
func (s *stage) plannedAlike(t *testing.T, live, recording *acctest.Terraform) {
	t.Helper()
	said := map[*acctest.Terraform]string{}
	var states []string
	for _, tf := range []*acctest.Terraform{live, recording} {
		i := s.instance
		planned := tf.Plan(t, &i, s.to)
		// A dry run of a pod shows whether a plug-in of the API server is on, and a recording has none.
		planned.Diagnostics = slices.DeleteFunc(planned.Diagnostics, func(d *tfprotov6.Diagnostic) bool {
			return strings.HasSuffix(d.Summary, "PodTolerationRestriction is off")
		})
		said[tf] = planned.Diagnostics.Errors() + planned.Diagnostics.Warnings()
		if planned.State != nil {
			states = append(states, string(planned.State.MsgPack))
		}
	}
	if said[live] != said[recording] {
		t.Errorf("the plan from the recording says\n%s\nthat of the cluster\n%s", said[recording], said[live])
	}
	if len(states) == 2 && states[0] != states[1] {
		t.Errorf("the plan from the recording is\n%q\nthat of the cluster\n%q", states[1], states[0])
	}
}

func wantRefused(t *testing.T, d acctest.Diagnostics) {
	t.Helper()
	if e := d.Errors(); !strings.HasPrefix(e, "[] Unable to apply from a snapshot\n") || strings.Count(e, "\n[") > 0 {
		t.Errorf("the apply is not refused: %s", e)
	}
}
