// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package recorded

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Host is an address for clients of a recorded cluster. Nothing is sent there.
const Host = "https://snapshot.invalid"

// Transport answers the requests of clients as the API server would have at the time of the recording.
// Reads of kinds that were not recorded are refused as without the right to them, writes and watches as
// methods that the API server does not support.
func (c *Cluster) Transport() http.RoundTripper { return transport{c} }

type transport struct{ cluster *Cluster }

// RoundTrip answers a request.
func (t transport) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body != nil {
		// A transport always closes the body (net/http, RoundTripper).
		_, _ = io.Copy(io.Discard, r.Body)
		_ = r.Body.Close()
	}
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	code, media, body := t.cluster.answer(r)
	return &http.Response{
		Status: strconv.Itoa(code) + " " + http.StatusText(code), StatusCode: code, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Content-Type": {media}}, Body: io.NopCloser(bytes.NewReader(body)), ContentLength: int64(len(body)), Request: r,
	}, nil
}

// request is what is asked for.
type request struct {
	resource    schema.GroupVersionResource
	key         key
	subresource string
	values      url.Values
	accept      string
}

// answer returns the status, the media type and the body of an answer.
func (c *Cluster) answer(r *http.Request) (code int, media string, body []byte) {
	path := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	q, found := parse(path)
	switch {
	case r.Method == http.MethodPost && q.resource.Resource == "selfsubjectrulesreviews":
		return c.rights()
	case r.Method != http.MethodGet:
		return failure(readOnly(q.resource, strings.ToLower(r.Method)))
	case !found && len(path) == 1 && (path[0] == "api" || path[0] == "apis"):
		return c.discovery(path[0] == "api")
	case !found:
		return failure(notServed(q.resource))
	}
	q.values, q.accept = r.URL.Query(), r.Header.Get("Accept")
	if watch := q.values.Get("watch"); watch == "1" || watch == "true" {
		return failure(readOnly(q.resource, "watch"))
	}
	return c.read(q)
}

// parse reads the address of a resource.
func parse(path []string) (request, bool) {
	var q request
	switch {
	case path[0] == "api" && len(path) > 2:
		q.resource.Version, path = path[1], path[2:]
	case path[0] == "apis" && len(path) > 3:
		q.resource.Group, q.resource.Version, path = path[1], path[2], path[3:]
	default:
		return q, false
	}
	if path[0] == "namespaces" && len(path) > 2 {
		q.key.namespace, path = path[1], path[2:]
	}
	q.resource.Resource = path[0]
	if len(path) > 1 {
		q.key.name = path[1]
	}
	if len(path) > 2 {
		q.subresource = path[2]
	}
	return q, true
}

// read answers a list, or a request for one object.
func (c *Cluster) read(q request) (code int, media string, body []byte) {
	k := c.kinds[q.resource]
	switch {
	case k == nil && !c.has(q.resource), k != nil && k.State == stateUnserved, q.subresource != "":
		return failure(notServed(q.resource))
	case k == nil || k.State == stateForbidden, !c.header.Storage && q.claimTemplates():
		return failure(notRecorded(q))
	case q.key.name != "":
		return k.get(q)
	case len(k.Some) > 0:
		return failure(notRecorded(q))
	}
	return k.list(q)
}

// claimTemplates reports whether a request is for the claim templates of StatefulSets: no other lists these whole.
func (q *request) claimTemplates() bool {
	return q.resource == statefulSets && q.key.name == "" && !asMetadata(q.accept)
}

// has reports whether the cluster serves a resource, or may.
func (c *Cluster) has(gvr schema.GroupVersionResource) bool {
	for _, s := range c.header.Serves {
		if s.Group == gvr.Group && s.Version == gvr.Version && s.Stale {
			return true
		}
	}
	return catalog(c.header.Serves).has(gvr)
}

func (k *recordedKind) get(q request) (code int, media string, body []byte) {
	at, found := k.at[q.key]
	switch {
	case found:
		return k.one(k.objects[at], q.accept)
	case k.partial && !k.spaces[q.key.namespace], len(k.Some) > 0 && !k.some(q.key):
		return failure(notRecorded(q))
	}
	return failure(apierrors.NewNotFound(q.resource.GroupResource(), q.key.name))
}

// some reports whether an object was looked at, of a kind of which only some were.
func (k *recordedKind) some(at key) bool {
	return slices.Contains(k.Some, at.namespace+"/"+at.name)
}

// list answers a list. A page goes on at the number that its token has.
func (k *recordedKind) list(q request) (code int, media string, body []byte) {
	selected, everything, err := k.selected(q)
	if err != nil {
		return failure(apierrors.NewBadRequest(err.Error()))
	}
	total, start := len(k.objects), 0
	if selected != nil {
		total = len(selected)
	}
	if token := q.values.Get("continue"); token != "" {
		if start, err = strconv.Atoi(token); err != nil || start < 0 || start > total {
			return failure(apierrors.NewBadRequest("invalid continue token"))
		}
	}
	end := total
	if limit, err := strconv.Atoi(q.values.Get("limit")); err == nil && limit > 0 {
		end = min(start+limit, total)
	}
	meta := metav1.ListMeta{ResourceVersion: "1"}
	if end < total {
		meta.Continue = strconv.Itoa(end)
		if rest := int64(total - end); everything {
			meta.RemainingItemCount = &rest
		}
	}
	page := make([]object, 0, end-start)
	for i := start; i < end; i++ {
		at := i
		if selected != nil {
			at = selected[i]
		}
		page = append(page, k.objects[at])
	}
	return k.many(page, meta, q.accept)
}

// selected returns the numbers of the objects that a request selects, nil for all.
func (k *recordedKind) selected(q request) (at []int, everything bool, err error) {
	byLabel, err := labels.Parse(q.values.Get("labelSelector"))
	if err != nil {
		return nil, false, err
	}
	byField, err := fields.ParseSelector(q.values.Get("fieldSelector"))
	if err != nil {
		return nil, false, err
	}
	if byLabel.Empty() && byField.Empty() && q.key.namespace == "" {
		return nil, true, nil
	}
	candidates, node, err := k.candidates(byField)
	if err != nil {
		return nil, false, err
	}
	out := []int{}
	for _, i := range candidates {
		o := k.objects[i]
		set := fields.Set{metav1.ObjectNameField: o.name, "metadata.namespace": o.namespace, nodeNameSelector: node}
		if q.key.namespace != "" && o.namespace != q.key.namespace || !byField.Matches(set) {
			continue
		}
		if !byLabel.Empty() {
			meta, err := k.metadata(o.content)
			if err != nil {
				return nil, false, err
			}
			if !byLabel.Matches(labels.Set(meta.Labels)) {
				continue
			}
		}
		out = append(out, i)
	}
	return out, byLabel.Empty() && byField.Empty(), nil
}

const nodeNameSelector = "spec.nodeName"

// candidates returns the objects among which a field selector selects, and the node of pods that it
// requires.
func (k *recordedKind) candidates(byField fields.Selector) (at []int, node string, err error) {
	for _, r := range byField.Requirements() {
		if r.Field != metav1.ObjectNameField && r.Field != "metadata.namespace" && (r.Field != nodeNameSelector || k.onNode == nil) {
			return nil, "", errors.New("field label not supported: " + r.Field)
		}
	}
	if node, is := byField.RequiresExactMatch(nodeNameSelector); is {
		return k.onNode[node], node, nil
	}
	all := make([]int, len(k.objects))
	for i := range all {
		all[i] = i
	}
	return all, "", nil
}
