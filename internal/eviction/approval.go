// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package eviction

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

// anything is the part of an approval that every namespace, kind or name matches.
const anything = "*"

// kindPattern is how a custom resource may name its kind (k8s.io/apiextensions-apiserver v0.37.2
// pkg/apis/apiextensions/validation/validation.go, ValidateCustomResourceDefinitionNames), but with a
// capital: the API conventions ask for it, and an entry for a "deployment" would approve nothing.
var kindPattern = regexp.MustCompile(`^[A-Z]([-A-Za-z0-9]{0,61}[A-Za-z0-9])?$`)

// Approval is an entry of the limit only: workloads whose pods may be evicted. Each part is a name, or "*"
// for any. The API group of a kind does not count: messages do not print it.
type Approval struct{ Namespace, Kind, Name string }

// ParseApproval reads namespace/Kind/name, where "*" may stand for each part, and namespace/* as the short
// form of namespace/*/*. Errors: what is wrong, and how entries are written.
func ParseApproval(entry string) (Approval, error) {
	parts := strings.Split(entry, "/")
	if len(parts) == 2 && parts[1] == anything {
		parts = append(parts, anything)
	}
	if len(parts) == 2 && isNamespace(parts[0]) && parts[1] != "" {
		return Approval{}, fmt.Errorf("it names no kind: write %[1]s/Deployment/%[2]s, %[1]s/Deployment/* or %[1]s/*", parts[0], parts[1])
	}
	if len(parts) != 3 {
		return Approval{}, errors.New("it must be namespace/Kind/name, such as shop/Deployment/web, shop/Deployment/* or shop/*")
	}
	a := Approval{Namespace: parts[0], Kind: parts[1], Name: parts[2]}
	switch {
	case a.Namespace != anything && !isNamespace(a.Namespace):
		return Approval{}, fmt.Errorf("its namespace must be * or the whole name of one, and not %q", a.Namespace)
	case a.Kind != anything && !kindPattern.MatchString(a.Kind):
		return Approval{}, fmt.Errorf("its kind must be * or a kind as messages print it, such as Deployment, and not %q", a.Kind)
	case a.Name != anything && !isName(a.Name):
		return Approval{}, fmt.Errorf("its name must be * or the whole name of a workload, and not %q", a.Name)
	}
	return a, nil
}

// ApprovalFor returns the approval of a pod's workload and of no other one. A pod without a controller is a
// workload of kind Pod, and so is a pod whose owner reference holds no kind or no name that an entry can
// have: nothing validates owner references.
func ApprovalFor(p *snapshot.Pod, owner snapshot.Owner) Approval {
	if !kindPattern.MatchString(owner.Kind) || !isName(owner.Name) {
		return Approval{p.Namespace, "Pod", p.Name}
	}
	return Approval{p.Namespace, owner.Kind, owner.Name}
}

func isNamespace(s string) bool { return len(validation.IsDNS1123Label(s)) == 0 }

func isName(s string) bool { return len(validation.IsDNS1123Subdomain(s)) == 0 }

// String returns the approval as ParseApproval reads it.
func (a Approval) String() string {
	if a.Kind == anything && a.Name == anything {
		return a.Namespace + "/" + anything
	}
	return a.Namespace + "/" + a.Kind + "/" + a.Name
}

// Covers reports whether all that another approval approves is approved by this one.
func (a Approval) Covers(other Approval) bool {
	covers := func(part, of string) bool { return part == anything || part == of }
	return covers(a.Namespace, other.Namespace) && covers(a.Kind, other.Kind) && covers(a.Name, other.Name)
}
