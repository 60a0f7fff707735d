// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package fakeapi

import (
	"slices"
	"strings"
)

// AuditEvent is one request as the server saw it, in the terms of the API server's log.
type AuditEvent struct {
	User        string
	UserAgent   string
	Verb        string
	Resource    string
	Subresource string
	Namespace   string
	Name        string
	Code        int
	DryRun      bool
}

// String names the request and how it was answered.
func (e AuditEvent) String() string {
	resource := e.Resource
	if e.Subresource != "" {
		resource += "/" + e.Subresource
	}
	return strings.Join(slices.DeleteFunc([]string{e.Verb, resource, e.Namespace, e.Name}, func(s string) bool { return s == "" }), " ")
}

// Write reports whether the request was to change something.
func (e AuditEvent) Write() bool { return !e.DryRun && writes(e.Verb, e.Resource) }

func writes(verb, resource string) bool {
	switch verb {
	case "get", "list", "watch":
		return false
	}
	return resource != "selfsubjectrulesreviews"
}

func (s *Server) log(account *Account, q *query, r *response) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.audit = append(s.audit, AuditEvent{
		User: account.Name, UserAgent: q.userAgent, Verb: q.verb, Resource: q.resource.Resource, Subresource: q.subresource,
		Namespace: q.key.namespace, Name: q.key.name, Code: r.code, DryRun: q.dryRun(),
	})
}

// Audit returns the requests that have reached the server, in their order.
func (s *Server) Audit() []AuditEvent {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.audit)
}
