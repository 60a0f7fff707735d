// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package workload

import (
	"errors"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/annotations"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/label"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/printable"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/record"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/toleration"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/yamledit"
)

const (
	// ConfigKey is the key of a ConfigMap whose text has the components.
	ConfigKey = "config.yaml"
	// CreatedAnnotation marks a ConfigMap that this provider has created: it is deleted with
	// the last entry if nothing else has been put into it. Its value is a proof, see record.Seal.
	CreatedAnnotation = "kubetaint.io/created"
)

// Config is the text in which a component stands, and what else its ConfigMap holds.
type Config struct {
	Text string
	// Entries are the tolerations as they are written, one for each of the workload's.
	Entries []any
	// Created is the value of CreatedAnnotation, empty where there is none.
	Created string
	// Alone is set if the ConfigMap holds nothing but the text and the records of this component;
	// Last if it holds no records of other ones.
	Alone, Last bool
}

// ConfigError reports that a component's text cannot be read, or not be changed without touching more.
type ConfigError struct {
	Ref     Ref
	Message string
}

// configError is the error of a text. Who writes it chooses its keys and values.
func configError(ref Ref, message string) error {
	return &ConfigError{ref, printable.Line(message)}
}

// Error names the object.
func (e *ConfigError) Error() string {
	return ConfigKey + " of " + e.Ref.Whole().Title() + ": " + e.Message
}

// NoConfig stands for an object with components that does not exist: it is created with the first entry.
func NoConfig(ref Ref) *unstructured.Unstructured {
	object := &unstructured.Unstructured{Object: map[string]any{}}
	object.SetAPIVersion(ref.APIVersion)
	object.SetKind(ref.Kind)
	object.SetNamespace(ref.Namespace)
	object.SetName(ref.Name)
	return object
}

// ObserveComponent takes from an object what is needed of one component: an absent one is empty.
// Errors: *ConfigError.
func ObserveComponent(object *unstructured.Unstructured, ref Ref) (*Workload, error) {
	kind, _ := Lookup(ref.APIVersion, ref.Kind)
	text, _, err := unstructured.NestedString(object.Object, "data", ConfigKey)
	var fields map[string]any
	if err == nil {
		fields, err = componentIn(text, ref.Component)
	}
	if err != nil {
		return nil, configError(ref, err.Error())
	}
	part := NoConfig(ref)
	part.SetUID(object.GetUID())
	part.SetResourceVersion(object.GetResourceVersion())
	part.SetLabels(object.GetLabels())
	part.SetOwnerReferences(object.GetOwnerReferences())
	part.SetAnnotations(annotationsOf(object, ref))
	part.Object[component] = fields
	w, err := Observe(part, kind.Path)
	if err != nil {
		return nil, configError(ref, strings.ReplaceAll(err.Error(), component+".", ref.Component+"."))
	}
	w.Component, w.Writers = ref.Component, writers(object, []string{"data", ConfigKey})
	w.OtherAnnotations = annotations.Others(object.GetAnnotations(), ref.Annotation(toleration.OwnedAnnotation), ref.Annotation(label.OwnedAnnotation))
	for _, err := range []error{w.RecordErr, w.LabelRecordErr} {
		if damaged := new(record.DamagedError); errors.As(err, &damaged) {
			damaged.Annotation = ref.Annotation(damaged.Annotation)
		}
	}
	if found, known := ComponentOf(ref); known {
		w.Pods = found.Pods
	}
	w.Config = configOf(object, ref, text)
	w.Config.Entries, _ = fields["tolerations"].([]any)
	return w, nil
}

// componentIn returns the fields of a component in a text.
func componentIn(text, name string) (map[string]any, error) {
	document, err := yamledit.Parse(text)
	if err != nil {
		return nil, err
	}
	fields, isMap := document.Value()[name].(map[string]any)
	if !isMap && document.Value()[name] != nil {
		return nil, errors.New(name + " is not a mapping")
	}
	// The operator reads a label without a value as one whose value is empty.
	if selector, is := fields["nodeSelector"].(map[string]any); is {
		for key, value := range selector {
			if value == nil {
				selector[key] = ""
			}
		}
	}
	return fields, nil
}

// annotationsOf are the annotations of an object as they are of a component: its own records stand
// where other objects have theirs.
func annotationsOf(object *unstructured.Unstructured, ref Ref) map[string]string {
	out := map[string]string{}
	for name, value := range object.GetAnnotations() {
		out[name] = value
	}
	for _, name := range []string{toleration.OwnedAnnotation, label.OwnedAnnotation} {
		delete(out, name)
		if own, there := out[ref.Annotation(name)]; there {
			delete(out, ref.Annotation(name))
			out[name] = own
		}
	}
	return out
}

// SealedCreated is what the proof is of that this provider has created the ConfigMap of a component.
func (w *Workload) SealedCreated() record.Sealed {
	return record.Sealed{Proof: w.Config.Created, Parts: []string{"created"}}
}

func configOf(object *unstructured.Unstructured, ref Ref, text string) *Config {
	out := &Config{Text: text, Last: true}
	others := 0
	for name := range object.GetAnnotations() {
		switch {
		case name == CreatedAnnotation:
			out.Created = object.GetAnnotations()[name]
		case name == ref.Annotation(toleration.OwnedAnnotation), name == ref.Annotation(label.OwnedAnnotation):
		case strings.HasPrefix(name, toleration.OwnedAnnotation+"."), strings.HasPrefix(name, label.OwnedAnnotation+"."):
			out.Last = false
		default:
			others++
		}
	}
	data, _, _ := unstructured.NestedMap(object.Object, "data")
	binary, _, _ := unstructured.NestedMap(object.Object, "binaryData")
	others += len(data) + len(binary) + len(object.GetLabels()) + len(object.GetFinalizers()) + len(object.GetOwnerReferences())
	if _, there := data[ConfigKey]; there {
		others--
	}
	out.Alone = out.Last && others == 0
	return out
}

// Rewritten returns the component's text with this list of tolerations, nil for the one that is there,
// and with changes of the node selector. All else stays as it is. Errors: *ConfigError.
func (w *Workload) Rewritten(list *[]corev1.Toleration, selector map[string]*string) (string, error) {
	document, err := yamledit.Parse(w.Config.Text)
	text := w.Config.Text
	if err == nil && list != nil {
		text, err = document.SetList([]string{w.Component, "tolerations"}, w.entries(*list))
	}
	if err == nil && len(selector) > 0 {
		if document, err = yamledit.Parse(text); err == nil {
			text, err = document.SetFields([]string{w.Component, "nodeSelector"}, selector)
		}
	}
	if err != nil {
		return "", configError(w.Ref, err.Error())
	}
	return text, nil
}

// entries writes a list. Tolerations that are there stay as they are written, in whatever words.
func (w *Workload) entries(list []corev1.Toleration) []yamledit.Entry {
	out, next := make([]yamledit.Entry, len(list)), 0
	for i, t := range list {
		out[i] = entryOf(t)
		same := slices.IndexFunc(w.Tolerations[next:], func(one corev1.Toleration) bool { return toleration.Equal(one, t) })
		if same < 0 {
			continue
		}
		next += same + 1
		out[i] = nil
		fields, _ := w.Config.Entries[next-1].(map[string]any)
		for name, value := range fields {
			out[i] = append(out[i], yamledit.Field{Name: name, Value: value})
		}
	}
	return out
}

// entryOf writes a toleration with its fields in the order in which people write them.
func entryOf(t corev1.Toleration) yamledit.Entry {
	var out yamledit.Entry
	for _, f := range []yamledit.Field{{Name: "key", Value: t.Key}, {Name: "operator", Value: string(t.Operator)}, {Name: "value", Value: t.Value}, {Name: "effect", Value: string(t.Effect)}} {
		if f.Value != "" {
			out = append(out, f)
		}
	}
	if t.TolerationSeconds != nil {
		out = append(out, yamledit.Field{Name: "tolerationSeconds", Value: *t.TolerationSeconds})
	}
	return out
}

// Holds reports whether an object with components has tolerations that were written. Errors: *ConfigError.
func (r Ref) Holds(object *unstructured.Unstructured, written []corev1.Toleration) error {
	w, err := ObserveComponent(object, r)
	if err != nil {
		return err
	}
	for _, t := range written {
		if !slices.ContainsFunc(w.Tolerations, func(one corev1.Toleration) bool { return toleration.Equal(one, t) }) {
			return &ConfigError{r, "an admission policy removes what is written"}
		}
	}
	return nil
}
