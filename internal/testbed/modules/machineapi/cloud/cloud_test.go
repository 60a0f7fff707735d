// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package cloud

import (
	"net/netip"
	"strconv"
	"strings"
	"testing"
	"time"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
)

func TestSpecOf_readsWhatIsDocumentedAndNothingElse(t *testing.T) {
	t.Parallel()
	const head = `{"apiVersion":"cloud.kubetaint.io/v1","kind":"InventedMachineSpec"`
	for name, c := range map[string]struct{ value, wantError string }{
		"every field": {head + `,"provisionDelay":"1s","bootDelay":"2s","deleteDelay":"3s","jitter":"4s","seed":7,"fail":true,"failMachines":[2],
			"quota":0,"deleteError":"no","node":{"labels":{"a":"b"},"taints":[{"key":"os","effect":"NoSchedule"}],"allocatable":{"cpu":"4"}}}`, ""},
		"no field at all":         {head + `}`, ""},
		"a mistyped field":        {head + `,"bootdelays":"1s"}`, "unknown field"},
		"a number for a duration": {head + `,"bootDelay":1}`, "providerSpec"},
		"another cloud":           {`{"apiVersion":"machine.openshift.io/v1beta1","kind":"AWSMachineProviderConfig"}`, "AWSMachineProviderConfig"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := &machinev1beta1.Machine{}
			m.Spec.ProviderSpec.Value = &runtime.RawExtension{Raw: []byte(c.value)}
			_, err := specOf(m)
			switch {
			case c.wantError == "" && err != nil:
				t.Error(err)
			case c.wantError != "" && (err == nil || !strings.Contains(err.Error(), c.wantError)):
				t.Errorf("the error is %v, want one with %q", err, c.wantError)
			}
		})
	}
}

func TestDescribe_neighboursDiffer(t *testing.T) {
	t.Parallel()
	one, other := &machinev1beta1.Machine{}, &machinev1beta1.Machine{}
	one.Name, one.UID, other.Name, other.UID = "m", "1", "m", "2"
	a, b := describe(one, &Spec{}, time.Now()), describe(other, &Spec{}, time.Now())
	if a.NodeName == b.NodeName || a.Address == b.Address || a.ProviderID == b.ProviderID {
		t.Errorf("two machines of one name have instances %+v and %+v", a, b)
	}
	if a.NodeName == one.Name {
		t.Error("the node is called like its machine, which hides who takes one for the other")
	}
}

// TestDescribe_addressesAreUnique: nodelink finds a Machine's Node by its address until
// the Machine has a provider ID. Two Machines of one address would get the same Node.
func TestDescribe_addressesAreUnique(t *testing.T) {
	t.Parallel()
	addresses, names := map[string]bool{}, map[string]bool{}
	const machines = 50000
	for n := range machines {
		m := &machinev1beta1.Machine{}
		m.UID = types.UID(strconv.Itoa(n))
		i := describe(m, &Spec{}, time.Time{})
		if _, err := netip.ParseAddr(i.Address); err != nil {
			t.Fatal(err)
		}
		addresses[i.Address], names[i.NodeName] = true, true
	}
	if len(addresses) != machines || len(names) != machines {
		t.Errorf("%d machines have %d addresses and %d node names", machines, len(addresses), len(names))
	}
}

func TestSpec_delaysAreTheSameForTheSameSeedAndNumber(t *testing.T) {
	t.Parallel()
	delays := func(seed uint64, n int) [3]time.Duration {
		s := &Spec{Seed: seed, Jitter: metav1.Duration{Duration: time.Second}, BootDelay: metav1.Duration{Duration: time.Minute}}
		s.delay(n)
		return [3]time.Duration{s.ProvisionDelay.Duration, s.BootDelay.Duration - time.Minute, s.DeleteDelay.Duration}
	}
	one := delays(1, 1)
	if again := delays(1, 1); again != one {
		t.Errorf("it is %v and then %v", one, again)
	}
	if delays(2, 1) == one || delays(1, 2) == one {
		t.Errorf("neither the seed nor the number makes a difference to %v", one)
	}
	for _, d := range one {
		if d < 0 || d >= time.Second {
			t.Errorf("%v are not within a second", one)
		}
	}
}
