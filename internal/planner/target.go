// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package planner

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/machineset"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

// Target is which nodes are meant: one by name, several by name, those that a
// selector matches, or those of MachineSets.
type Target struct {
	Name     string
	Names    []string
	Selector labels.Selector
	// MachineSets is set where nodes are selected by their MachineSets: what they must have
	// is in a template, and no node matches by itself.
	MachineSets *machineset.Target
}

// Matches reports whether a node is meant.
func (t Target) Matches(n *snapshot.Node) bool {
	if t.Selector != nil {
		return t.Selector.Matches(labels.Set(n.Labels))
	}
	if t.Names == nil && t.MachineSets == nil {
		return t.Name == n.Name
	}
	return slices.Contains(t.Names, n.Name)
}

// NamesOf returns the names of the nodes that are meant, sorted.
func (t Target) NamesOf(nodes []*snapshot.Node) []string {
	var out []string
	for _, n := range nodes {
		if t.Matches(n) {
			out = append(out, n.Name)
		}
	}
	slices.Sort(out)
	return out
}

// Among reports whether a node is meant among those that the caller has found: of MachineSets, these
// are theirs.
func (t Target) Among(n *snapshot.Node) bool { return t.MachineSets != nil || t.Matches(n) }

// Named returns the names of the nodes that are meant by name.
func (t Target) Named() []string {
	if t.Selector == nil && t.Names == nil && t.MachineSets == nil {
		return []string{t.Name}
	}
	return t.Names
}

// String returns the form that ids and import use: node/NAME, nodes/NAME,NAME,
// selector/SELECTOR, or machine_sets/NAMESPACE/NAME and machine_sets/NAMESPACE/SELECTOR.
func (t Target) String() string {
	if t.MachineSets != nil {
		return "machine_sets/" + t.MachineSets.String()
	}
	if t.Selector != nil {
		// The parser sorts; the two ways to write equality are left to us.
		return "selector/" + strings.ReplaceAll(t.Selector.String(), "==", "=")
	}
	if t.Names != nil {
		return "nodes/" + strings.Join(t.Names, ",")
	}
	return "node/" + t.Name
}
