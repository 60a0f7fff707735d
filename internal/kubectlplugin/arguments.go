// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package kubectlplugin

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/planner"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
)

// change is the taints of a command line.
type change struct {
	taints []corev1.Taint
	absent []taint.ID
	// keys are those of which taints of every effect are removed.
	keys []string
}

// split returns the names and the taints of a command line: names come first, and everything with one
// of the characters of a taint is one (k8s.io/kubectl v0.37.2 pkg/cmd/taint/taint.go, Complete).
func split(args []string) (names, taints []string, err error) {
	for _, s := range args {
		switch {
		case isTaint(s):
			taints = append(taints, s)
		case len(taints) > 0:
			return nil, nil, fmt.Errorf("all names must be specified before taint changes: %s", s)
		default:
			names = append(names, s)
		}
	}
	return names, taints, nil
}

func isTaint(s string) bool {
	return strings.ContainsAny(s, "=:") || strings.HasSuffix(s, "-")
}

// parse reads taints in kubectl's notation: key=value:Effect and key:Effect add, key:Effect- and key-
// remove. The value of a taint that is removed does not count
// (k8s.io/kubectl v0.37.2 pkg/cmd/taint/utils.go, parseTaints). Taints are sorted, as the provider has
// them from a set: messages name them in that order.
func parse(specs []string) (change, error) {
	var c change
	for _, spec := range specs {
		removed, removes := strings.CutSuffix(spec, "-")
		switch {
		case !removes:
			t, err := taint.Parse(spec)
			if err != nil {
				return c, err
			}
			c.taints = append(c.taints, t)
		case !strings.Contains(removed, ":"):
			// The value does not count, and any effect will do to check the key.
			t, err := taint.Parse(strings.Split(removed, "=")[0] + ":" + string(corev1.TaintEffectNoExecute))
			if err != nil {
				return c, err
			}
			c.keys = append(c.keys, t.Key)
		default:
			t, err := taint.Parse(removed)
			if err != nil {
				return c, err
			}
			c.absent = append(c.absent, taint.IDOf(t))
		}
	}
	c.taints = taint.Sort(c.taints)
	return c, c.check()
}

// check returns what contradicts itself.
func (c change) check() error {
	if twice := taint.Duplicates(c.taints); len(twice) > 0 {
		return fmt.Errorf("duplicated taints with the same key and effect: %s", twice[0])
	}
	for _, t := range c.taints {
		if slices.Contains(c.absent, taint.IDOf(t)) || slices.Contains(c.keys, t.Key) {
			return fmt.Errorf("cannot both modify and remove the following taint in the same command: %s", taint.Format(t))
		}
	}
	return nil
}

// removes returns the taints that are removed, those of keys with the effects that they have in the
// lists. Errors: no list has a taint that is removed, as for kubectl, which names it for each node without it
// (k8s.io/kubectl v0.37.2 pkg/cmd/taint/utils.go, deleteTaints). Where there is no list, a taint with its
// effect is no error.
func (c change) removes(lists ...[]corev1.Taint) ([]taint.ID, error) {
	out := slices.Clone(c.absent)
	var missing failures
	for _, id := range c.absent {
		if len(lists) > 0 && !slices.ContainsFunc(slices.Concat(lists...), func(t corev1.Taint) bool { return taint.IDOf(t) == id }) {
			missing = append(missing, fmt.Errorf("taint %q not found", id))
		}
	}
	for _, key := range c.keys {
		var found []taint.ID
		for _, t := range slices.Concat(lists...) {
			if t.Key == key {
				found = append(found, taint.IDOf(t))
			}
		}
		if len(found) == 0 {
			missing = append(missing, fmt.Errorf("taint %q not found", key))
		}
		out = append(out, found...)
	}
	return slices.Compact(taint.SortIDs(out)), missing.orNil()
}

// atLeastOne returns an error where a command line has no taint.
func atLeastOne(specs []string) error {
	if len(specs) == 0 {
		return errors.New("at least one taint change is required")
	}
	return nil
}

// atMostOne returns an error where a command line has several names.
func atMostOne(names []string) error {
	if len(names) > 1 {
		return fmt.Errorf("one name or --selector must be specified, and not %d names", len(names))
	}
	return nil
}

// firstOf returns the first error, nil where there is none.
func firstOf(all ...error) error {
	return cmp.Or(all...)
}

// nodes are the nodes of a command line: by name, or by the flag --selector.
type nodes struct{ selector string }

func (n *nodes) flag(cmd *cobra.Command, of string) {
	cmd.Flags().StringVarP(&n.selector, "selector", "l", "", "Selector (label query) of the "+of+", as in kubectl get.")
}

// choose returns the selector, nil for the names. Errors: neither or both are given.
func (n *nodes) choose(what string, names []string) (labels.Selector, error) {
	switch {
	case n.selector == "" && len(names) == 0:
		return nil, fmt.Errorf("a name of a %[1]s or --selector must be specified", what)
	case n.selector != "" && len(names) > 0:
		return nil, fmt.Errorf("cannot specify both a %s name and a --selector option", what)
	case n.selector == "":
		return nil, nil
	}
	return selectorOf(n.selector)
}

// selectorOf returns a selector that is not empty.
func selectorOf(written string) (labels.Selector, error) {
	selector, err := labels.Parse(written)
	if err == nil && selector.Empty() {
		err = errors.New("an empty selector matches everything: name at least one label")
	}
	return selector, err
}

// nodeTypes are what can stand before the name of a node, as "kubectl get nodes -o name" prints it
// (k8s.io/kubectl v0.37.2 pkg/cmd/drain/drain.go, Complete).
var nodeTypes = []string{"node/", "nodes/", "no/"}

// target returns the nodes as the planner takes them. Errors: those of choose.
func (n *nodes) target(names []string) (planner.Target, error) {
	selector, err := n.choose("node", names)
	for i, name := range names {
		for _, prefix := range nodeTypes {
			names[i] = strings.TrimPrefix(names[i], prefix)
		}
		if names[i] == "" {
			return planner.Target{}, fmt.Errorf("%q has no name of a node", name)
		}
	}
	switch {
	case err != nil:
		return planner.Target{}, err
	case selector != nil:
		return planner.Target{Selector: selector}, nil
	case len(names) == 1:
		return planner.Target{Name: names[0]}, nil
	}
	slices.Sort(names)
	return planner.Target{Names: slices.Compact(names)}, nil
}

// present returns an error for each named node that the cluster does not have.
func present(s *snapshot.Snapshot, target planner.Target) error {
	var missing failures
	for _, name := range target.Named() {
		if s.Nodes[name] == nil {
			missing = append(missing, apierrors.NewNotFound(corev1.Resource("nodes"), name))
		}
	}
	return missing.orNil()
}
