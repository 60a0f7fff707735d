// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package recorded

import (
	"bytes"
	"context"
	"slices"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/workload"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/yamledit"
)

// maxDepth bounds how deep placements are looked for: paths of tolerations have fewer names.
const maxDepth = 16

// addPlacements adds the lists of tolerations and the node selectors of a custom object, wherever they
// are in its spec: a configuration can name any path.
func addPlacements(kept, object map[string]any) {
	spec, is := object["spec"].(map[string]any)
	if !is {
		return
	}
	found := placements(spec, maxDepth)
	if len(found) == 0 {
		return
	}
	own, _ := kept["spec"].(map[string]any)
	if own == nil {
		own = map[string]any{}
	}
	overlay(own, found)
	kept["spec"] = own
}

// placements returns an object with the placements in it alone, empty for none.
func placements(object map[string]any, depth int) map[string]any {
	out := map[string]any{}
	if depth == 0 {
		return out
	}
	for name, value := range object {
		switch v := value.(type) {
		case []any:
			if name == "tolerations" {
				out[name], _ = tolerationFields.of(v)
			}
		case map[string]any:
			if name == "nodeSelector" {
				if texts := selectorOf(v); len(texts) > 0 {
					out[name] = texts
				}
			} else if inner := placements(v, depth-1); len(inner) > 0 {
				out[name] = inner
			}
		}
	}
	return out
}

// selectorOf returns the labels of a node selector, or of its matchLabels.
func selectorOf(selector map[string]any) map[string]any {
	out := map[string]any{}
	for name, value := range selector {
		if _, is := value.(string); is {
			out[name] = value
		}
	}
	if inner, is := selector["matchLabels"].(map[string]any); is {
		out["matchLabels"] = selectorOf(inner)
	}
	return out
}

// overlay puts the fields of an object into another one.
func overlay(into, from map[string]any) {
	for name, value := range from {
		inner, is := value.(map[string]any)
		old, was := into[name].(map[string]any)
		if is && was {
			overlay(old, inner)
			continue
		}
		into[name] = value
	}
}

var configMaps = schema.GroupResource{Resource: "configmaps"}

const configKey = workload.ConfigKey

// reduceConfig returns what is recorded of a ConfigMap of OpenShift's monitoring: of its text the
// tolerations and node selectors of the components. The rest can hold credentials.
func reduceConfig(ref workload.Ref, object *unstructured.Unstructured) *unstructured.Unstructured {
	if ref.Name == reportName {
		return reduceReport(object)
	}
	out := reduce(configMaps, object)
	text, found, err := unstructured.NestedString(object.Object, "data", configKey)
	if err != nil || !found {
		return out
	}
	out.Object["data"] = map[string]any{configKey: placementText(ref, text)}
	return out
}

// placementText returns a text with the placements of components alone. One that cannot be read stays one
// that cannot be read.
func placementText(ref workload.Ref, text string) string {
	document, err := yamledit.Parse(text)
	if err != nil {
		return "unreadable: ["
	}
	all := document.Value()
	out := map[string]any{}
	for _, c := range workload.Components(ref) {
		if fields, is := all[c.Name].(map[string]any); is {
			out[c.Name], _ = placementFields.of(fields)
		} else if all[c.Name] != nil {
			out[c.Name] = "not a mapping"
		}
	}
	if len(out) == 0 {
		return ""
	}
	var b configText
	e := yaml.NewEncoder(&b)
	e.SetIndent(2)
	if e.Encode(out) != nil {
		return "unreadable: ["
	}
	return b.String()
}

// maxConfig is above every ConfigMap that an API server stores.
const maxConfig = 2 << 20

// configText is a text that is not larger than the ConfigMaps of a cluster, whatever its aliases become.
type configText struct{ bytes.Buffer }

// Write writes as long as there is room.
func (c *configText) Write(p []byte) (int, error) {
	if c.Len()+len(p) > maxConfig {
		return 0, bytes.ErrTooLarge
	}
	return c.Buffer.Write(p)
}

// configs records the ConfigMaps of OpenShift's monitoring and the reports of cluster-autoscaler, by name: no others are
// read. Where those of monitoring are missing, all are, so that the kind is named.
func (r *recording) configs(ctx context.Context) error {
	k := kindRecord{Version: "v1", Resource: configMaps.Resource, Kind: "ConfigMap"}
	if r.hasher != nil {
		return r.noConfigs(k)
	}
	var found []*unstructured.Unstructured
	for _, ref := range slices.Concat(configRefs, reportRefs) {
		if ref.Name == reportName && len(k.Some) == 0 && r.openshift() {
			break
		}
		object, err := r.source.Object(ctx, k.gvr(), ref.Namespace, ref.Name)
		switch is, known := missing(err); {
		case !known:
			return err
		case is == stateForbidden:
			continue
		case is == stateRecorded:
			found = append(found, reduceConfig(ref, object))
		}
		k.Some = append(k.Some, ref.Namespace+"/"+ref.Name)
	}
	if len(k.Some) == 0 {
		return r.noConfigs(k)
	}
	if err := r.begin(k); err != nil {
		return err
	}
	for _, object := range found {
		if err := r.object(k, object); err != nil {
			return err
		}
	}
	return nil
}

// noConfigs marks the ConfigMaps as missing where OpenShift's monitoring reads them.
func (r *recording) noConfigs(k kindRecord) error {
	if !r.openshift() {
		return nil
	}
	return r.hidden(k)
}

func (r *recording) openshift() bool {
	_, is := r.serves.first("operator.openshift.io", func(ServedResource) bool { return true })
	return is
}
