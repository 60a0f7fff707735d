// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package acctest

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/toleration"
)

// A toleration that retires goes with the last taint of the cluster that it tolerates,
// whatever takes that away, and stays as long as any test has such a taint. So its key or
// its value must be one of its test's own.

// ownName is what a name ends with that Name has made.
var ownName = regexp.MustCompile(`-[0-9a-f]{16}`)

// OwnTaints gives taints in kubectl's notation keys that no other test has, where others
// share the cluster. The name is one of the test's own.
func (c *Cluster) OwnTaints(taints, name string) string {
	if c.api != nil || c.alone {
		return taints
	}
	all := strings.Fields(taints)
	for i, one := range all {
		end := strings.IndexAny(one, "=:")
		all[i] = one[:end] + ownName.FindString(name) + one[end:]
	}
	return strings.Join(all, " ")
}

// shared are the tolerations that a patch has retire and that taints of other tests may be
// tolerated by, as failures name them.
func shared(patch json.RawMessage, one write) (found []string) {
	var written struct {
		Metadata struct{ Annotations map[string]*string }
	}
	if json.Unmarshal(patch, &written) != nil {
		return nil
	}
	value := written.Metadata.Annotations[toleration.OwnedAnnotation]
	if value == nil {
		return nil
	}
	record, err := toleration.ParseRecord(*value)
	if err != nil {
		return nil
	}
	for _, mark := range record {
		if mark.Retiring && !ownName.MatchString(mark.Key) && !ownName.MatchString(mark.Value) {
			found = append(found, fmt.Sprintf("%s (%s)", taint.FormatToleration(mark.Toleration()), one))
		}
	}
	return found
}

// noteShared notes tolerations of the test that taints of other tests may keep or remove.
func (w *writer) noteShared(found []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, one := range found {
		if !slices.Contains(w.shared, one) {
			w.shared = append(w.shared, one)
		}
	}
}
