// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package snapshot

// PriorityClasses are those of the cluster by name, nil where they were not read.
type PriorityClasses map[string]PriorityClass

// PriorityClass is what admission gives to new pods.
type PriorityClass struct {
	Value int32
	// Patient is set for the preemptionPolicy Never.
	Patient bool
	// Default is set for the class of new pods that name none.
	Default bool
}

// Those that the API server creates. They can be neither changed nor missed for long
// (k8s.io/kubernetes v1.37.2 pkg/apis/scheduling/helpers.go, SystemPriorityClasses).
const (
	systemClusterCritical = "system-cluster-critical"
	systemNodeCritical    = "system-node-critical"
)

// NamesClass reports whether new pods of this demand have a PriorityClass that may be gone or have another value by now.
func (d *Demand) NamesClass() bool {
	return d.PriorityClass != "" && !SystemClass(d.PriorityClass)
}

// SystemClass reports whether a PriorityClass is one of those that every cluster has.
func SystemClass(name string) bool {
	return name == systemClusterCritical || name == systemNodeCritical
}

// Prioritize returns the demand with what its PriorityClass gives to a new pod now, and false where the class is gone:
// admission then refuses the pod. A pod without one gets the default class
// (k8s.io/kubernetes v1.37.2 plugin/pkg/admission/priority/admission.go, establishPriority).
func (d *Demand) Prioritize(classes PriorityClasses) (*Demand, bool) {
	name := d.PriorityClass
	if name == "" {
		name = classes.Default()
	}
	class, exists := classes[name]
	switch {
	case name == "" || classes == nil || name == d.PriorityClass && !d.NamesClass():
		return d, true
	case !exists:
		return d, false
	case name == d.PriorityClass && class.Value == d.Priority && class.Patient == d.Patient:
		return d, true
	}
	next := *d
	next.PriorityClass, next.Priority, next.Patient = name, class.Value, class.Patient
	return &next, true
}

// Default returns the name of the default class, "" for none.
func (c PriorityClasses) Default() string {
	for name, class := range c {
		if class.Default {
			return name
		}
	}
	return ""
}
