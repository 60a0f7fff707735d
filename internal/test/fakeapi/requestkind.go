// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package fakeapi

import (
	_ "embed" // The kinds of requests are in a file.
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// quiet are the parameters that change nothing about the answer of a server that is in time,
// and the one that the number of objects decides about.
var quiet = []string{"watch", "continue", "timeout", "timeoutSeconds", "fieldManager", "fieldValidation"}

// named are the groups beside those of a Server's own kinds whose resources have a name in
// the kinds of requests.
var named = []string{"authorization.k8s.io", "machine.openshift.io"}

// RequestKind returns what kind of request one is: its verb, its resource, and which
// parameters the answer depends on, such as "list nodes labelSelector limit". The API server
// treats other custom resources all alike. It is empty for what
// is not about objects.
func RequestKind(method string, uri *url.URL) string {
	q, err := parse(&http.Request{Method: method, URL: uri, Header: http.Header{}})
	if err != nil || q.resource.Empty() {
		return ""
	}
	resource := q.groupResource().String()
	if custom := !slices.ContainsFunc(builtin(), func(k Kind) bool { return k.Group == q.resource.Group }); custom && !slices.Contains(named, q.resource.Group) {
		resource = "of a custom resource"
	}
	if q.subresource != "" {
		resource += "/" + q.subresource
	}
	words := []string{q.verb, resource}
	for name := range q.values {
		if !slices.Contains(quiet, name) && q.values.Get(name) != "" {
			words = append(words, name)
		}
	}
	slices.Sort(words[2:])
	return strings.Join(words, " ")
}

//go:embed testdata/requests.txt
var conforming string

// Conforming reports whether the scripts of the conformance test have a request of a kind,
// so that the answers of a Server to it are known to be those of the API server.
func Conforming(kind string) bool {
	return slices.Contains(strings.Split(conforming, "\n"), kind)
}
