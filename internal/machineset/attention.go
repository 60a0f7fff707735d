// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package machineset

import (
	"fmt"
	"time"
)

// OperatorNamespace is the one namespace that OpenShift's operator has its controllers watch
// (openshift/machine-api-operator pkg/operator/sync.go, newContainers: --namespace).
const OperatorNamespace = "openshift-machine-api"

// attention is how long a controller may take to act on a MachineSet. It takes less than a
// second, or ten while it waits for machines that it has just made
// (pkg/controller/machineset/machine.go, stateConfirmationTimeout).
const attention = 30 * time.Second

// Unattended reports whether no controller acts on the MachineSet, by what its status shows:
//   - status.observedGeneration is missing or old, and has been for longer than a controller
//     takes.
//   - It is in another namespace than the one that OpenShift's operator watches. There, its
//     controller is only late.
//   - No other API has the authority: Refuse tells of that.
func (s *Set) Unattended(now time.Time) bool {
	return s.Namespace != OperatorNamespace && s.Authority == "" && !s.Observed && now.Sub(s.Written) > attention
}

// Neglected reports why no machine follows a MachineSet that no controller acts on, "" for any
// other.
func (o Observed) Neglected() string {
	if !o.Unattended {
		return ""
	}
	seen := "has never been set"
	if o.Set.Reconciled {
		seen = "is older than its generation"
	}
	return fmt.Sprintf("Its status.observedGeneration %s, and it was last written more than %s ago. OpenShift's Machine API operator has its controllers watch the namespace %s alone. "+
		"In another namespace no machine is added, replaced or removed by itself, and nothing brings a Machine's taints to its node.", seen, attention, OperatorNamespace)
}

// neverAttended reports whether no controller has ever acted on it. One that has may be late:
// clocks differ.
func (o Observed) neverAttended() bool { return o.Unattended && !o.Set.Reconciled }

// obstacleOfNeglect reports why a rollout that replaces machines must not begin where no
// controller has ever acted: what it deletes is not recreated.
func (v *view) obstacleOfNeglect() string {
	if !v.neverAttended() || !v.strategy().Replaces() || v.Set.Marker == nil && len(v.old) == 0 {
		return ""
	}
	return fmt.Sprintf("No controller acts on %s, so nothing would replace its machines. %s Move the MachineSet to %s, or make sure that a controller watches its namespace. The strategies in_place and template_only need none.",
		v.Set.Title(), v.Neglected(), OperatorNamespace)
}
