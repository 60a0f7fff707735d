// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package faults_test

import (
	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/fakeapi"
)

// subject is a resource or an action, with a strategy where it has several.
type subject struct {
	// typeName is without the provider's prefix.
	typeName, strategy string
	// kinds are served beside those of Kubernetes.
	kinds []fakeapi.Kind
	// world adds the objects that are there before.
	world func(api *fakeapi.Server)
	// first and second are the configurations that are created and updated to. An
	// action has the first alone.
	first, second map[string]any
	action        bool
	// evicts is set where taints may delete pods.
	evicts bool
	// alike is set where another subject takes the same way through the provider: it is tried by
	// "make test-faults" and "make test-all" alone.
	alike bool
}

func (s subject) name() string {
	if s.strategy == "" {
		return s.typeName
	}
	return s.typeName + "/" + s.strategy
}

// notPossible are the rows that the table of kills and faults cannot have, with the reasons.
var notPossible = map[string]string{
	"cycle_machine_set/template_only": "the action replaces machines, and this strategy changes none",
	"cycle_machine_set/in_place":      "the action replaces machines, and this strategy changes them in place",
	"actions, create":                 "an action has no state: it is invoked",
	"actions, update":                 "an action has no state: it is invoked",
	"actions, destroy":                "an action has no state: nothing is left that could be destroyed",
}

// operation is what is done to an instance.
type operation struct {
	name     string
	from, to map[string]any
}

func (s subject) operations() []operation {
	if s.action {
		return []operation{{"invoke", nil, s.first}}
	}
	return []operation{{"create", nil, s.first}, {"update", s.first, s.second}, {"destroy", s.first, nil}}
}

// Kills of the process.
const (
	killedBefore = "killed before"
	killedAfter  = "killed after"
	killedTwice  = "killed twice"
)

// fault is what else happens to a request.
type fault struct {
	name string
	at   fakeapi.Fault
}

var faults = []fault{
	{"401", 401}, {"403", 403}, {"409", 409}, {"429", 429}, {"500", 500},
	{"cut before", fakeapi.CutBefore}, {"cut after", fakeapi.CutAfter},
}
