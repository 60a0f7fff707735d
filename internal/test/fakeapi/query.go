// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package fakeapi

import (
	"errors"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// query is a request, taken apart as the API server does.
type query struct {
	verb        string
	resource    schema.GroupVersionResource
	subresource string
	key         key
	// path has the parts of the address, for discovery.
	path        []string
	kind        *Kind
	values      url.Values
	accept      string
	contentType string
	userAgent   string
	body        []byte
	http        *http.Request
	// delay returns how long to delay the event of an object in a watch.
	delay func(metav1.Object) time.Duration
}

var errNoAddress = errors.New("no address of the API")

// parse takes a request apart, as RequestInfoFactory does (k8s.io/apiserver v0.37.2
// pkg/endpoints/request/requestinfo.go).
func parse(r *http.Request) (*query, error) {
	q := &query{
		path: strings.Split(strings.Trim(r.URL.Path, "/"), "/"), values: r.URL.Query(), http: r,
		accept: r.Header.Get("Accept"), contentType: mediaType(r.Header.Get("Content-Type")), userAgent: r.UserAgent(),
	}
	if r.Body != nil {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		q.body = body
	}
	rest := q.path
	switch {
	case rest[0] == "api" && len(rest) > 2:
		q.resource.Version, rest = rest[1], rest[2:]
	case rest[0] == "apis" && len(rest) > 3:
		q.resource.Group, q.resource.Version, rest = rest[1], rest[2], rest[3:]
	case rest[0] == "api" || rest[0] == "apis":
		q.verb = "get"
		return q, nil
	default:
		return nil, errNoAddress
	}
	if rest[0] == "namespaces" && len(rest) > 2 && rest[2] != "status" && rest[2] != "finalize" {
		q.key.namespace, rest = rest[1], rest[2:]
	}
	q.resource.Resource = rest[0]
	if len(rest) > 1 {
		q.key.name = rest[1]
	}
	if len(rest) > 2 {
		q.subresource = rest[2]
	}
	q.verb = verb(r.Method, q)
	return q, nil
}

func verb(method string, q *query) string {
	switch method {
	case http.MethodPost:
		return "create"
	case http.MethodPut:
		return "update"
	case http.MethodPatch:
		return "patch"
	case http.MethodDelete:
		return "delete"
	}
	switch {
	case q.key.name != "":
		return "get"
	case slices.Contains([]string{"1", "true"}, q.values.Get("watch")):
		return "watch"
	}
	return "list"
}

func mediaType(header string) string {
	media, _, _ := strings.Cut(header, ";")
	return strings.TrimSpace(media)
}

func (q *query) dryRun() bool { return q.values.Get("dryRun") == metav1.DryRunAll }

func (q *query) groupResource() schema.GroupResource { return q.resource.GroupResource() }

// selection returns which objects a list or a watch is about.
func (q *query) selection() (selection, error) {
	byLabel, err := labels.Parse(q.values.Get("labelSelector"))
	if err != nil {
		return selection{}, apierrors.NewBadRequest(err.Error())
	}
	byField, err := fields.ParseSelector(q.values.Get("fieldSelector"))
	if err != nil {
		return selection{}, apierrors.NewBadRequest(err.Error())
	}
	if !byField.Empty() {
		known := objectFields{q.kind.object(map[string]any{"metadata": map[string]any{}})}
		for _, r := range byField.Requirements() {
			if !known.Has(r.Field) {
				return selection{}, apierrors.NewBadRequest("field label not supported: " + r.Field)
			}
		}
	}
	return selection{q.key.namespace, byLabel, byField}, nil
}
