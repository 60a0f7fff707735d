// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package faults_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/fakeapi"
)

func said(d acctest.Diagnostics) string { return d.Errors() + d.Warnings() }

// TestPlan_isRightWithoutARefresh plans every operation as "terraform plan -refresh=false"
// does: the plan equals one after a refresh, and its apply ends in sync.
func TestPlan_isRightWithoutARefresh(t *testing.T) {
	t.Parallel()
	for _, s := range subjects() {
		if s.action {
			continue
		}
		for _, o := range s.operations() {
			t.Run(s.name()+" "+o.name, func(t *testing.T) {
				t.Parallel()
				st := prepare(t, s, o)
				bubble(t, st.start, func(t *testing.T, api *fakeapi.Server) {
					tf, i := through(api.Client()), st.instance
					planned := tf.Walk(t).Plan(&i, o.to)
					if o.to != nil {
						if diff := cmp.Diff(st.planned.State.MsgPack, planned.State.MsgPack); diff != "" {
							t.Errorf("another state is planned: %s", diff)
						}
					}
					if diff := cmp.Diff(said(st.planned.Diagnostics), said(planned.Diagnostics)); diff != "" {
						t.Errorf("it says other things: %s", diff)
					}
					if d := tf.Carry(t, &i, planned, o.to); d.Errors() != "" {
						t.Fatal(d.Errors())
					}
					st.end(t, api, &i)
				})
			})
		}
	}
}
