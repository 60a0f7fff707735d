// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package tfschema

import (
	"context"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
)

// UniqueTaints checks that no two taints of a set have the same key and effect,
// which Kubernetes does not allow on one node whatever their values
// (k8s.io/kubernetes v1.37.1 pkg/apis/core/validation/validation.go,
// validateNodeTaints). Taints that are not known yet are left out.
func UniqueTaints() validator.Set {
	return unique{"A node cannot have two taints with the same key and effect, regardless of their values: keep one of them."}
}

// UniqueAbsent checks the same of a set of identities.
func UniqueAbsent() validator.Set {
	return unique{"Naming a taint once is enough: keep one of them."}
}

// unique refuses two objects of a set with the same key and effect.
type unique struct {
	advice string
}

// Description reports what is allowed.
func (unique) Description(context.Context) string {
	return "each key and effect must be unique"
}

// MarkdownDescription reports what is allowed.
func (u unique) MarkdownDescription(ctx context.Context) string { return u.Description(ctx) }

// ValidateSet adds an error at the set for each identity that it holds twice.
func (u unique) ValidateSet(_ context.Context, req validator.SetRequest, resp *validator.SetResponse) {
	seen := map[taint.ID]int{}
	for _, id := range identities(req.ConfigValue) {
		seen[id]++
		if seen[id] == 2 {
			resp.Diagnostics.AddAttributeError(req.Path, fmt.Sprintf("Unable to use taint %q twice in %s", id, req.Path),
				fmt.Sprintf("%s has %s more than once. %s", req.Path, id, u.advice))
		}
	}
}

// RefuseOverlap adds an error at absent for each identity that is also in taints:
// it would be wanted and unwanted. Taints that are not
// known yet are left out.
func RefuseOverlap(taints, absent types.Set, at path.Path, diags *diag.Diagnostics) {
	wanted := map[taint.ID]bool{}
	for _, id := range identities(taints) {
		wanted[id] = true
	}
	for _, id := range identities(absent) {
		if wanted[id] {
			diags.AddAttributeError(at, fmt.Sprintf("Unable to keep taint %q both present and absent", id),
				fmt.Sprintf("The same key and effect are in taints and in %s. A taint is identified by these, regardless of its value: remove one of them.", at))
		}
	}
}

// identities returns the key and effect of each object whose both are known, in
// the set's order.
func identities(set types.Set) []taint.ID {
	var ids []taint.ID
	for _, element := range set.Elements() {
		object, ok := element.(types.Object)
		if !ok || object.IsNull() || object.IsUnknown() {
			continue
		}
		key, keyKnown := known(object.Attributes()["key"])
		effect, effectKnown := known(object.Attributes()["effect"])
		if keyKnown && effectKnown {
			ids = append(ids, taint.ID{Key: key, Effect: corev1.TaintEffect(effect)})
		}
	}
	return ids
}

func known(v attr.Value) (string, bool) {
	s, ok := v.(types.String)
	return s.ValueString(), ok && !s.IsNull() && !s.IsUnknown()
}
