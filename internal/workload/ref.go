// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package workload

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

// Ref names one object.
type Ref struct {
	APIVersion string
	Kind       string
	// Namespace is empty for objects of the whole cluster.
	Namespace string
	Name      string
	// Component is the part of the object that is meant, where several workloads follow from it;
	// empty for all of it. See Components.
	Component string
}

// String returns KIND/NAMESPACE/NAME, as an import writes it; a component follows after #.
func (r Ref) String() string {
	out := r.Kind + "/" + r.Name
	if r.Namespace != "" {
		out = r.Kind + "/" + r.Namespace + "/" + r.Name
	}
	if r.Component != "" {
		out += "#" + r.Component
	}
	return out
}

// GroupedKind is the kind in ids and proofs: KIND.GROUP for kinds that the provider does not
// know, since several groups may have kinds of one name.
func (r Ref) GroupedKind() string {
	if _, known := Lookup(r.APIVersion, r.Kind); !known && group(r.APIVersion) != "" {
		return r.Kind + "." + group(r.APIVersion)
	}
	return r.Kind
}

// Grouped returns the same as String, with GroupedKind in place of the kind. Builds before there
// were groups wrote String in all ids and proofs: record.Seal reads these as well.
func (r Ref) Grouped() string {
	r.Kind = r.GroupedKind()
	return r.String()
}

// shownKind is the kind for a reader, with its group if another kind of its name is known.
func (r Ref) shownKind() string {
	if _, namesake := Lookup("", r.Kind); namesake {
		return r.GroupedKind()
	}
	return r.Kind
}

// Whole is the object that the component is a part of.
func (r Ref) Whole() Ref {
	r.Component = ""
	return r
}

// Annotation is where the record stands that other objects have at this annotation: those of
// components stand side by side.
func (r Ref) Annotation(name string) string {
	if r.Component == "" {
		return name
	}
	return name + "." + r.Component
}

// Title names the object for a reader, such as Deployment "shop/web".
func (r Ref) Title() string {
	if r.Component != "" {
		return r.Component + " of " + r.Whole().Title()
	}
	if r.Namespace == "" {
		return fmt.Sprintf("%s %q", r.shownKind(), r.Name)
	}
	return fmt.Sprintf("%s %q", r.shownKind(), r.Namespace+"/"+r.Name)
}

// Kubectl is how a kubectl command names the object, or others of its kind and namespace
// where which is another name or a selector.
func (r Ref) Kubectl(which string) string {
	kind := strings.ToLower(r.Kind)
	if group, _, found := strings.Cut(r.APIVersion, "/"); found && strings.Contains(group, ".") {
		// Kinds of other groups may have the same name.
		kind += "." + group
	}
	if r.Namespace != "" {
		which += " -n " + r.Namespace
	}
	return kind + " " + which
}

// Words names the object in a list of steps, such as Deployment shop/web.
func (r Ref) Words() string {
	r.Kind = r.shownKind()
	return strings.Replace(r.String(), "/", " ", 1)
}

// GroupVersionKind returns the type of the object.
func (r Ref) GroupVersionKind() schema.GroupVersionKind {
	return schema.FromAPIVersionAndKind(r.APIVersion, r.Kind)
}

// Owner is the object as the owner of pods.
func (r Ref) Owner() snapshot.WorkloadKey {
	return snapshot.WorkloadKey{Namespace: r.Namespace, Owner: snapshot.OwnerOf(r.APIVersion, r.Kind, r.Name)}
}

// SplitPath splits a path such as "spec.template.spec.tolerations".
func SplitPath(path string) ([]string, error) {
	fields := strings.Split(path, ".")
	for _, field := range fields {
		if field == "" || strings.ContainsAny(field, "[]/*\"' \t\r\n") {
			return nil, fmt.Errorf("%q is not a path: write the names of the fields joined by dots, such as spec.nodePlacement.tolerations", path)
		}
	}
	if len(fields) < 2 || fields[0] == "metadata" || fields[0] == "status" {
		return nil, fmt.Errorf("%q is not a path to tolerations: it must lead through the spec, such as spec.nodePlacement.tolerations", path)
	}
	return fields, nil
}
