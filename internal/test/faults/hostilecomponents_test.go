// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package faults_test

import (
	"maps"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/label"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/fakeapi"
	tolerations "github.com/kubetaint/terraform-provider-kubetaint/internal/toleration"
	workloads "github.com/kubetaint/terraform-provider-kubetaint/internal/workload"
)

// componentKind is what a component of a ConfigMap is called here, as if it were an object of its own.
// One that is former is meant only by a configuration that names it.
const componentKind = "Component"

// componentRecords are the annotations that a ConfigMap has once for each component.
var componentRecords = []string{tolerations.OwnedAnnotation, label.OwnedAnnotation}

// components are those of monitoring's ConfigMap, each with its own records.
func components(api *fakeapi.Server) []annotated {
	var out []annotated
	for _, o := range fakeapi.Objects[*corev1.ConfigMap](api) {
		ref := workloads.Ref{APIVersion: "v1", Kind: "ConfigMap", Namespace: o.Namespace, Name: o.Name}
		config := configOf(o)
		for _, component := range workloads.Components(ref) {
			out = append(out, componentOf(api, o, component, config[component.Name]))
		}
	}
	return out
}

// configOf returns what the text of a ConfigMap says.
func configOf(o *corev1.ConfigMap) (config map[string]any) {
	if err := yaml.Unmarshal([]byte(o.Data[workloads.ConfigKey]), &config); err != nil {
		panic(err)
	}
	return config
}

func componentOf(api *fakeapi.Server, o *corev1.ConfigMap, component workloads.Component, fields any) annotated {
	own := maps.Clone(o.Annotations)
	maps.DeleteFunc(own, func(name, _ string) bool { return strings.HasPrefix(name, "kubetaint.io/owned-") })
	for _, record := range componentRecords {
		if value, there := o.Annotations[record+"."+component.Name]; there {
			own[record] = value
		}
	}
	if own == nil {
		own = map[string]string{}
	}
	annotations := map[string]any{}
	for name, value := range own {
		annotations[name] = value
	}
	kind := componentKind
	if component.Former {
		kind = "Former " + componentKind
	}
	return annotated{
		kind: kind, namespace: o.Namespace, name: o.Name, annotations: own,
		of: map[string]any{"metadata": map[string]any{"annotations": annotations}, component.Name: fields},
		put: func(annotations map[string]string) {
			fakeapi.Edit(api, o.Namespace, o.Name, func(o *corev1.ConfigMap) {
				if o.Annotations == nil {
					o.Annotations = map[string]string{}
				}
				for name, value := range annotations {
					o.Annotations[name] = value
				}
				for _, record := range componentRecords {
					if value, there := annotations[record]; there {
						delete(o.Annotations, record)
						o.Annotations[record+"."+component.Name] = value
					}
				}
			})
		},
	}
}
