// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package cloud

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"time"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// APIVersion and Kind are those of a Spec.
const (
	APIVersion = "cloud.kubetaint.io/v1"
	Kind       = "InventedMachineSpec"
)

// Spec is what a Machine's spec.providerSpec.value holds: what the cloud does
// for this Machine. Every field may be left out; then an instance comes and goes
// immediately. Durations are written as Go writes them: 500ms, 2m.
//
// Each Machine has its own copy from the template, and the cloud reads it there:
// a change of the template is for the Machines that are made after it, and what
// holds up a Machine that exists is changed in the Machine.
type Spec struct {
	metav1.TypeMeta `json:",inline"`

	// ProvisionDelay is how long a Machine stays Provisioning.
	ProvisionDelay metav1.Duration `json:"provisionDelay,omitzero"`
	// BootDelay is how long it takes from then until the Node joins.
	BootDelay metav1.Duration `json:"bootDelay,omitzero"`
	// DeleteDelay is how long an instance takes to go. The Machine controller looks
	// again after 30s, or what --requeue-after says.
	DeleteDelay metav1.Duration `json:"deleteDelay,omitzero"`

	// Jitter makes each of these delays longer by something below it, which depends
	// on the seed and on the number of the Machine alone: Machines are counted as for
	// FailMachines.
	Jitter metav1.Duration `json:"jitter,omitzero"`
	// Seed is what chance goes by.
	Seed uint64 `json:"seed,omitempty"`

	// Fail makes every Machine fail for good.
	Fail bool `json:"fail,omitempty"`
	// FailMachines makes some fail for good. Those Machines of a MachineSet whose
	// spec names this field are counted from 1, in the order in which their
	// instances are asked for.
	FailMachines []int `json:"failMachines,omitempty"`
	// Quota is how many instances the MachineSet may have, those that are going
	// included. Beyond it a Machine stays Provisioning without any error message.
	Quota *int `json:"quota,omitempty"`
	// DeleteError makes every attempt to delete the instance fail with this text.
	DeleteError string `json:"deleteError,omitempty"`

	// Image is what an instance boots, which changes nothing about it. Package
	// validation refuses an image that has been withdrawn.
	Image string `json:"image,omitempty"`

	// Node describes the Node that joins.
	Node NodeSpec `json:"node,omitzero"`
}

// NodeSpec is what a kubelet would register its Node with.
type NodeSpec struct {
	// Labels come beside those that every Node has.
	Labels map[string]string `json:"labels,omitempty"`
	// Taints are those of --register-with-taints.
	Taints []corev1.Taint `json:"taints,omitempty"`
	// Allocatable is what pods can have of it; kwok gives it plenty where nothing
	// is said.
	Allocatable corev1.ResourceList `json:"allocatable,omitempty"`
}

// specOf reads the Spec of a Machine. A field that the cloud does not know is an
// error, so that a mistyped one does not go unnoticed.
func specOf(m *machinev1beta1.Machine) (*Spec, error) {
	if m.Spec.ProviderSpec.Value == nil {
		return nil, errors.New("spec.providerSpec.value must be set")
	}
	decoder := json.NewDecoder(bytes.NewReader(m.Spec.ProviderSpec.Value.Raw))
	decoder.DisallowUnknownFields()
	spec := &Spec{}
	if err := decoder.Decode(spec); err != nil {
		return nil, fmt.Errorf("spec.providerSpec.value: %w", err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("spec.providerSpec.value: more than one value")
	}
	if spec.APIVersion != APIVersion || spec.Kind != Kind {
		return nil, fmt.Errorf("spec.providerSpec.value: this cloud makes machines of %s %s only, not of %q %q", APIVersion, Kind, spec.APIVersion, spec.Kind)
	}
	return spec, nil
}

// delay makes the delays of the Machine that is asked for as the n-th longer.
func (s *Spec) delay(n int) {
	chance := rand.New(rand.NewPCG(s.Seed, uint64(n)))
	for _, d := range []*metav1.Duration{&s.ProvisionDelay, &s.BootDelay, &s.DeleteDelay} {
		d.Duration += time.Duration(chance.Int64N(int64(s.Jitter.Duration)))
	}
}

// fails reports whether the Machine that is asked for as the n-th fails.
func (s *Spec) fails(n int) bool {
	return s.Fail || slices.Contains(s.FailMachines, n)
}
