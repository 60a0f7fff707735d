// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package faults_test

import (
	"strings"
	"testing"
	"time"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
	records "github.com/kubetaint/terraform-provider-kubetaint/internal/record"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/fakeapi"
)

// TestFullAnnotations has annotations of others leave an object too little room for a record. The plan
// refuses, and names the annotation and the sizes. Where there is just enough room, it does not.
func TestFullAnnotations(t *testing.T) {
	t.Parallel()
	for _, s := range subjects() {
		// A policy is an object of the resource's own.
		if s.action || s.typeName == "toleration_policy" || !due(s) {
			continue
		}
		kinds := map[string]bool{}
		bubble(t, moment{api: fakeapi.New(s.kinds...)}, func(_ *testing.T, api *fakeapi.Server) {
			s.world(api)
			time.Sleep(calm)
			for _, o := range annotatedObjects(api) {
				if len(s.reads(o)) > 0 {
					kinds[o.kind] = true
				}
			}
		})
		for kind := range kinds {
			for _, full := range []bool{true, false} {
				name := s.name() + " " + kind
				if !full {
					name += " with room"
				}
				t.Run(name, func(t *testing.T) {
					t.Parallel()
					bubble(t, moment{api: fakeapi.New(s.kinds...)}, func(t *testing.T, api *fakeapi.Server) {
						s.world(api)
						time.Sleep(calm)
						left := 2000
						if full {
							left = 50
						}
						for _, o := range annotatedObjects(api) {
							if o.kind == kind && len(s.reads(o)) > 0 {
								o.annotations["example.com/other"] = strings.Repeat("x", records.Most-size(o.annotations)-len("example.com/other")-left)
								o.put(o.annotations)
							}
						}
						time.Sleep(calm)
						told := through(api.Client()).Plan(t, &acctest.Instance{Type: "kubetaint_" + s.typeName}, s.first).Diagnostics.Errors()
						switch {
						case !full && told != "":
							t.Errorf("with %d bytes of room it is refused: %s", left, told)
						case full && (!strings.Contains(told, "the annotation kubetaint.io/") || !strings.Contains(told, "the limit for all is 262144")):
							t.Errorf("it is told %q", told)
						}
					})
				})
			}
		}
	}
}
