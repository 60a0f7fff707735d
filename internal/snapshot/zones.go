// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package snapshot

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// Zones are the labels of zones and regions of a volume, by key: the values that nodes may have.
type Zones map[string][]string

// zoneLabels are those of which a volume's must match the node's, each with the one that nodes have instead of an
// old one (k8s.io/kubernetes v1.37.2 pkg/scheduler/framework/plugins/volumezone/volume_zone.go).
var zoneLabels = map[string]string{
	corev1.LabelFailureDomainBetaZone: corev1.LabelTopologyZone, corev1.LabelFailureDomainBetaRegion: corev1.LabelTopologyRegion,
	corev1.LabelTopologyZone: corev1.LabelTopologyZone, corev1.LabelTopologyRegion: corev1.LabelTopologyRegion,
}

// ZonesOf returns the zones and regions of a volume's labels, nil for none. A label can have several zones, between
// "__" (k8s.io/cloud-provider v0.37.2 volume/helpers/zones.go, LabelZonesToSet); one without a zone is left out.
func ZonesOf(set labels.Set) Zones {
	var out Zones
	for key := range zoneLabels {
		zones := strings.Split(set[key], "__")
		for i := range zones {
			zones[i] = strings.TrimSpace(zones[i])
		}
		if slices.Contains(zones, "") {
			continue
		}
		if out == nil {
			out = Zones{}
		}
		out[key] = zones
	}
	return out
}

// Match reports whether a node with these labels is in the zones. One that has no label of a zone or region is
// taken to be in each (volume_zone.go, Filter).
func (z Zones) Match(node labels.Set) bool {
	zoned := false
	for key := range zoneLabels {
		_, has := node[key]
		zoned = zoned || has
	}
	if !zoned {
		return true
	}
	for key, zones := range z {
		value, has := node[key]
		if !has {
			value, has = node[zoneLabels[key]]
		}
		if !has || !slices.Contains(zones, value) {
			return false
		}
	}
	return true
}
