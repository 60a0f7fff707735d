// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package admission

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/annotations"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/toleration"
)

// The paths by which marks tell the two lists of a namespace apart.
const (
	DefaultList = "default"
	AllowedList = "allowed"
)

// Lists are what the annotations of a namespace say of the tolerations of its pods.
type Lists struct {
	// Default is given to every pod; Allowed is all that pods may have, where it is not
	// empty.
	Default, Allowed []corev1.Toleration
	// Record reports who owns which entry.
	Record toleration.Record
	// OtherAnnotations is how many bytes the annotations beside these have.
	OtherAnnotations int
	// Err reports that an annotation cannot be read: to write over it would lose what it says.
	Err error
}

// Of returns one of the lists, by its name.
func (l Lists) Of(list string) []corev1.Toleration {
	if list == AllowedList {
		return l.Allowed
	}
	return l.Default
}

// ObserveLists reads the annotations of a namespace.
func ObserveLists(all map[string]string) Lists {
	out := Lists{OtherAnnotations: annotations.Others(all, DefaultsAnnotation, WhitelistAnnotation, toleration.OwnedAnnotation)}
	var errs [3]error
	out.Default, errs[0] = parseAnnotation(all, DefaultsAnnotation)
	out.Allowed, errs[1] = parseAnnotation(all, WhitelistAnnotation)
	out.Record, errs[2] = toleration.ParseRecord(all[toleration.OwnedAnnotation])
	out.Err = errors.Join(errs[:]...)
	return out
}

func parseAnnotation(all map[string]string, name string) ([]corev1.Toleration, error) {
	list, err := ParseList(all[name])
	if err != nil {
		return nil, fmt.Errorf("the annotation %s cannot be read: %w", name, err)
	}
	return list, nil
}

// Annotations are the annotations of the lists, nil for those that go: an empty list is
// no annotation, as it stood before the first entry. Errors: none that a list of strings
// and numbers could cause.
func (l Lists) Annotations() (map[string]*string, error) {
	out := map[string]*string{DefaultsAnnotation: nil, WhitelistAnnotation: nil, toleration.OwnedAnnotation: nil}
	for name, list := range map[string][]corev1.Toleration{DefaultsAnnotation: l.Default, WhitelistAnnotation: l.Allowed} {
		if len(list) == 0 {
			continue
		}
		raw, err := json.Marshal(list)
		if err != nil {
			return nil, err
		}
		out[name] = new(string(raw))
	}
	if s := l.Record.String(); s != "" {
		out[toleration.OwnedAnnotation] = &s
	}
	return out, nil
}

// TooLarge reports why the API server would refuse the annotations of the lists beside the others of
// the namespace, "" where it would not.
func (l Lists) TooLarge() string {
	values, err := l.Annotations()
	if err != nil {
		return err.Error()
	}
	written := map[string]string{}
	for name, value := range values {
		if value != nil {
			written[name] = *value
		}
	}
	return annotations.TooLarge(l.OtherAnnotations, written)
}

// ListClaim is what one resource wants of the lists of a namespace.
type ListClaim struct {
	Namespace        string
	Default, Allowed toleration.Claim
}

// TakingOver is the same of a create, which adopts what carries its id.
func (c ListClaim) TakingOver() ListClaim {
	c.Default.TakeOver, c.Allowed.TakeOver = true, true
	return c
}

// Entries are those of both lists.
func (c ListClaim) Entries() []toleration.ID {
	return slices.Concat(toleration.IDs(c.Default.Tolerations), toleration.IDs(c.Allowed.Tolerations))
}

// MergedLists is the outcome of a merge.
type MergedLists struct {
	Lists
	// Default and Allowed report what was merged into which list.
	DefaultMerged, AllowedMerged toleration.Merged
	// Changed is false where nothing needs to be written.
	Changed bool
}

// Conflicts make the whole merge void: nothing may be written.
func (m MergedLists) Conflicts() []toleration.Conflict {
	return slices.Concat(m.DefaultMerged.Conflicts, m.AllowedMerged.Conflicts)
}

// TakenOver are entries of an earlier generation that the claim adopts.
func (m MergedLists) TakenOver() []corev1.Toleration {
	return slices.Concat(m.DefaultMerged.TakenOver, m.AllowedMerged.TakenOver)
}

// Merge changes only what the claim owns in both lists, entry by entry: what others wrote
// keeps its place.
func (c ListClaim) Merge(l Lists) MergedLists {
	c.Default.Path, c.Allowed.Path = DefaultList, AllowedList
	out := MergedLists{Lists: l}
	out.DefaultMerged = toleration.Merge(l.Default, l.Record, c.Default, nil, true)
	out.AllowedMerged = toleration.Merge(l.Allowed, out.DefaultMerged.Record, c.Allowed, nil, true)
	if len(out.Conflicts()) > 0 {
		return out
	}
	out.Default, out.Allowed, out.Record = out.DefaultMerged.Tolerations, out.AllowedMerged.Tolerations, out.AllowedMerged.Record
	out.Changed = out.DefaultMerged.Changed || out.AllowedMerged.Changed
	return out
}

// Claims are those to each of the lists.
func (c ListClaim) Claims() []toleration.Claim {
	c.Default.Path, c.Allowed.Path = DefaultList, AllowedList
	return []toleration.Claim{c.Default, c.Allowed}
}

// Rejecting returns what the lists do not allow of the tolerations that admission adds to
// every new pod: those of DefaultTolerationSeconds (k8s.io/kubernetes v1.37.2
// plugin/pkg/admission/defaulttolerationseconds/admission.go) and of the plug-in itself. Where
// it returns any, new pods of the namespace are rejected, whatever they tolerate.
func (l Lists) Rejecting(bestEffort bool) []corev1.Toleration {
	made, _ := Made(withDefaultSeconds(nil), nil, nil, Namespace{Defaults: l.Default}.Gives(bestEffort))
	return l.Forbidden(made)
}

// Forbidden returns those tolerations of a pod that a namespace does not allow: the plug-in
// refuses such a pod (k8s.io/kubernetes v1.37.1 pkg/util/tolerations/tolerations.go,
// VerifyAgainstWhitelist). An empty list allows everything.
func (l Lists) Forbidden(tolerations []corev1.Toleration) []corev1.Toleration {
	return Forbidden(l.Allowed, tolerations)
}

// Forbidden returns those tolerations that a list does not allow, as Lists.Forbidden does.
func Forbidden(allowed, tolerations []corev1.Toleration) []corev1.Toleration {
	if len(allowed) == 0 {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(tolerations), func(t corev1.Toleration) bool {
		return slices.ContainsFunc(allowed, func(entry corev1.Toleration) bool { return allows(entry, t) })
	})
}

// allows compares as the plug-in does, which is not what a scheduler makes of tolerations: a
// toleration without an operator means Equal to other callers, and is allowed here by its
// very like alone (isSuperset in the same file).
func allows(entry, t corev1.Toleration) bool {
	if apiequality.Semantic.DeepEqual(entry, t) {
		return true
	}
	everything := entry.Key == "" && entry.Operator == corev1.TolerationOpExists
	if entry.Key != t.Key && !everything || entry.Effect != "" && entry.Effect != t.Effect {
		return false
	}
	if limit := entry.TolerationSeconds; entry.Effect == corev1.TaintEffectNoExecute && limit != nil && (t.TolerationSeconds == nil || *t.TolerationSeconds > *limit) {
		return false
	}
	switch entry.Operator {
	case corev1.TolerationOpExists:
		return true
	case corev1.TolerationOpEqual, "":
		return t.Operator == corev1.TolerationOpEqual && t.Value == entry.Value
	default:
		return false
	}
}
