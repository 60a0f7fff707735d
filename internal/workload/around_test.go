// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package workload

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// TestAround_whatWasMadeGoesWithTheLastOfIt names what is removed from an IngressController in
// place of the fields that go.
func TestAround_whatWasMadeGoesWithTheLastOfIt(t *testing.T) {
	t.Parallel()
	const (
		tolerations = "spec.nodePlacement.tolerations"
		pin         = "spec.nodePlacement.nodeSelector.matchLabels.a"
		other       = "spec.nodePlacement.nodeSelector.matchLabels.b"
		both        = `"nodePlacement":{"nodeSelector":{"matchLabels":{"a":"1"}},"tolerations":[{"key":"a"}]}`
		// The API server does not tell the fields of a label selector apart.
		oursOfBoth = `"f:nodePlacement":{".":{},"f:nodeSelector":{},"f:tolerations":{}}`
	)
	for name, tt := range map[string]struct {
		spec, ours    string
		gone, written []string
		want          []string
	}{
		"all of it":                           {both, oursOfBoth, []string{tolerations, pin}, nil, []string{"spec.nodePlacement"}},
		"the tolerations alone":               {both, oursOfBoth, []string{tolerations}, nil, []string{tolerations}},
		"the pin alone":                       {both, oursOfBoth, []string{pin}, nil, []string{"spec.nodePlacement.nodeSelector"}},
		"the pin, while another is written":   {both, oursOfBoth, []string{pin}, []string{other}, []string{pin}},
		"tolerations in place of the pin":     {`"nodePlacement":{"nodeSelector":{"matchLabels":{"a":"1"}}}`, oursOfBoth, []string{pin}, []string{tolerations}, []string{"spec.nodePlacement.nodeSelector"}},
		"another label is there":              {`"nodePlacement":{"nodeSelector":{"matchLabels":{"a":"1","b":"2"}}}`, oursOfBoth, []string{pin}, nil, []string{pin}},
		"two labels of the same map":          {`"nodePlacement":{"nodeSelector":{"matchLabels":{"a":"1","b":"2"}}}`, oursOfBoth, []string{pin, other}, nil, []string{"spec.nodePlacement"}},
		"an expression is there":              {`"nodePlacement":{"nodeSelector":{"matchExpressions":[],"matchLabels":{"a":"1"}}}`, oursOfBoth, []string{pin}, nil, []string{"spec.nodePlacement.nodeSelector.matchLabels"}},
		"the placement was made by another":   {both, `"f:nodePlacement":{"f:nodeSelector":{},"f:tolerations":{}}`, []string{tolerations, pin}, nil, []string{tolerations, "spec.nodePlacement.nodeSelector"}},
		"the selector was written by another": {both, `"f:nodePlacement":{".":{},"f:tolerations":{}}`, []string{tolerations, pin}, nil, []string{tolerations, pin}},
		"nothing was made":                    {both, `"f:replicas":{}`, []string{tolerations, pin}, nil, []string{tolerations, pin}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := observe(t, object(t, "operator.openshift.io/v1", "IngressController", `{"metadata":{"managedFields":[{"manager":"terraform-provider-kubetaint","operation":"Update",`+
				`"fieldsType":"FieldsV1","fieldsV1":{"f:spec":{`+tt.ours+`}}}]},"spec":{`+tt.spec+`}}`))
			split := func(paths []string) (out [][]string) {
				for _, path := range paths {
					out = append(out, strings.Split(path, "."))
				}
				return out
			}
			var got []string
			for _, path := range w.Around.Emptied(split(tt.gone), split(tt.written)) {
				got = append(got, JoinPath(path))
			}
			slices.Sort(got)
			if diff := cmp.Diff(slices.Sorted(slices.Values(tt.want)), got, cmpopts.EquateEmpty()); diff != "" {
				t.Error(diff)
			}
		})
	}
}
