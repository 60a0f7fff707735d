// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package snapshot

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// mostCounted is the largest amount that is counted, 64 Pi: larger ones, such as quotas that mean "no limit",
// count as this much. The sum of a hundred of them fits an int64.
const mostCounted = 1 << 56

// Whole returns an amount rounded up to a whole number, and mostCounted where it is larger. Where an int64
// does not hold it, resource.Quantity.Value returns 0 or any other number.
func Whole(q resource.Quantity) int64 {
	if q.CmpInt64(mostCounted) >= 0 {
		return mostCounted
	}
	return q.Value()
}

// Thousandths returns an amount in thousandths, rounded up, and mostCounted where there are more.
func Thousandths(q resource.Quantity) int64 {
	const thousand = 1000
	if q.CmpInt64(mostCounted/thousand) > 0 {
		return mostCounted
	}
	return q.MilliValue()
}

// Of returns the amount of any resource, in the scheduler's unit.
func (r *Resources) Of(name corev1.ResourceName) int64 {
	switch name {
	case corev1.ResourceCPU:
		return r.MilliCPU
	case corev1.ResourceMemory:
		return r.Memory
	case corev1.ResourceEphemeralStorage:
		return r.EphemeralStorage
	case corev1.ResourcePods:
		return r.Pods
	default:
		return r.Other(name)
	}
}

// Other returns the amount of a resource that has no field of its own, 0 where
// it is not listed.
func (r *Resources) Other(name corev1.ResourceName) int64 {
	for i := range r.Others {
		if r.Others[i].Name == name {
			return r.Others[i].Value
		}
	}
	return 0
}

// Words writes what pods can have of nodes, of cpu and memory.
func (r Resources) Words() string {
	return FormatAmount(corev1.ResourceCPU, r.MilliCPU, false) + " cpu and " + FormatAmount(corev1.ResourceMemory, r.Memory, false) + " memory"
}

// FormatAmount writes an amount as people do. Bytes are rounded to a tenth: up where
// they are needed, down where they are free, so that what does not fit never
// looks as if it did.
func FormatAmount(name corev1.ResourceName, value int64, up bool) string {
	switch {
	case name == corev1.ResourceCPU:
		return resource.NewMilliQuantity(value, resource.DecimalSI).String()
	case name != corev1.ResourceMemory && name != corev1.ResourceEphemeralStorage && !strings.HasPrefix(string(name), corev1.ResourceHugePagesPrefix):
		return fmt.Sprint(value)
	}
	unit, suffix := int64(1), ""
	for _, next := range []string{"Ki", "Mi", "Gi", "Ti", "Pi"} {
		if value < unit<<10 {
			break
		}
		unit, suffix = unit<<10, next
	}
	whole, rest := value/unit, value%unit
	tenths := rest * 10 / unit
	if up && rest*10%unit > 0 {
		tenths++
	}
	if tenths == 10 {
		whole, tenths = whole+1, 0
	}
	if tenths == 0 {
		return fmt.Sprint(whole, suffix)
	}
	return fmt.Sprintf("%d.%d%s", whole, tenths, suffix)
}
