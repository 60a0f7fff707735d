// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package kube

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/printable"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

// schedulers are how OpenShift configures its scheduler: there is one object (openshift/api config/v1/types_scheduling.go). Other
// clusters do so in a file, which no API shows.
var schedulers = schema.GroupVersionResource{Group: "config.openshift.io", Version: "v1", Resource: "schedulers"}

// defaultProfile scores nodes as a simulation does: it is upstream's default (openshift/api config/v1/types_scheduling.go,
// LowNodeUtilization).
const defaultProfile = "LowNodeUtilization"

// profile is how OpenShift's scheduler scores nodes: the name of a profile that is not the default one, and whether it could not be
// read.
type profile struct {
	name   string
	unread bool
}

// schedulerProfile returns the profile of OpenShift's scheduler, none on other clusters. It sends one request, and none the second
// time. Errors: those of a cluster out of reach.
func (c *Cluster) schedulerProfile(ctx context.Context) (profile, error) {
	nodes, err := c.Nodes(ctx)
	if absent(err) {
		return profile{}, nil
	}
	if err != nil || !slices.ContainsFunc(nodes, func(n *snapshot.Node) bool { return n.MachineConfig }) {
		return profile{}, err
	}
	return c.profile.get(ctx, func() (out profile, err error) {
		short, cancel := context.WithTimeout(ctx, groupsFor)
		defer cancel()
		type scheduler struct {
			Spec struct {
				Profile string `json:"profile"`
			} `json:"spec"`
		}
		err = listNamed(short, c, schedulers, "", func(s *scheduler) {
			if s.Spec.Profile != defaultProfile {
				out.name = printable.Line(s.Spec.Profile)
			}
		}, func() { out.name = "" })
		switch {
		case short.Err() != nil && ctx.Err() == nil:
			err = &Error{Class: ErrUnreachable, Doing: "list schedulers", Err: fmt.Errorf("no answer within %s", groupsFor)}
		case errors.Is(err, ErrForbidden):
			return profile{unread: true}, nil
		case absent(err):
			return profile{}, nil
		}
		return out, err
	})
}
