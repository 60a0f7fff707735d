// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package fakeapi

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// read answers a get.
func (s *Server) read(q *query) *response {
	if q.subresource != "" && q.subresource != "status" {
		return s.notServed(q)
	}
	object := s.store.get(q.resource, q.key)
	if object == nil {
		return failure(apierrors.NewNotFound(q.groupResource(), q.key.name))
	}
	return ok(object)
}

// list answers a list, or a page of one. A page goes on with the objects of the moment at
// which the list began, until Compact.
func (s *Server) list(q *query) *response {
	selected, err := q.selection()
	if err != nil {
		return failure(err)
	}
	at := page{resource: q.resource, namespace: q.key.namespace, selector: selected.String()}
	version, objects, err := s.listed(q, at)
	if err != nil {
		return failure(err)
	}
	limit, _ := strconv.Atoi(q.values.Get("limit"))
	found, rest := paged(selected, objects, limit)
	list, err := newList(q.kind, found, version)
	if err != nil {
		return failure(err)
	}
	if len(rest) > 0 {
		at.version = version
		s.store.pages[at] = rest
		accessor, _ := meta.ListAccessor(list) // newList makes lists.
		accessor.SetContinue(token(version))
		if remaining := int64(len(rest)); selected.everything() {
			accessor.SetRemainingItemCount(&remaining)
		}
	}
	return ok(list)
}

// listed returns the objects of a list that begins now, or those that a continued one has
// yet to return, and the version of the list.
func (s *Server) listed(q *query, at page) (version int64, objects []runtime.Object, err error) {
	if token := q.values.Get("continue"); token != "" {
		if at.version, err = continued(token); err != nil {
			return 0, nil, err
		}
		rest, known := s.store.pages[at]
		if !known {
			return 0, nil, s.expired(at, "The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue parameter, or use the continue token in this response to retrieve the remainder of the results. Continuing with the provided token results in an inconsistent list - objects that were created, modified, or deleted between the time the first chunk was returned and now may show up in the list.")
		}
		return at.version, rest, nil
	}
	if err := s.reached(q); err != nil {
		return 0, nil, err
	}
	return s.store.version, s.store.list(q.resource, q.key.namespace), nil
}

// paged returns the first objects that are selected, all for a limit of 0, and all objects
// after them: the API server does not check whether a selector selects any of these.
func paged(selected selection, objects []runtime.Object, limit int) (found, rest []runtime.Object) {
	for i, o := range objects {
		if limit > 0 && len(found) == limit {
			return found, objects[i:]
		}
		if selected.matches(o) {
			found = append(found, o)
		}
	}
	return found, nil
}

// reached reports an error where a version is asked for that is yet to come.
func (s *Server) reached(q *query) error {
	text := q.values.Get("resourceVersion")
	if text == "" {
		return nil
	}
	unsigned, err := strconv.ParseUint(text, 10, 63)
	if err != nil {
		wrong := field.Invalid(field.NewPath("resourceVersion"), text, err.Error()).Error()
		if q.verb == "watch" {
			return bare(wrong)
		}
		return apierrors.NewBadRequest("invalid resource version: " + wrong)
	}
	version := int64(unsigned) // It has 63 bits.
	if version > s.store.version {
		err := apierrors.NewTimeoutError(fmt.Sprintf("Too large resource version: %d, current: %d", version, s.store.version), 1)
		err.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: metav1.CauseTypeResourceVersionTooLarge, Message: "Too large resource version"}}
		return err
	}
	return nil
}

// expired is the error for a token whose version is forgotten. It has one for the rest as it
// is now.
func (s *Server) expired(at page, message string) error {
	err := apierrors.NewResourceExpired(message)
	err.ErrStatus.Continue = token(at.version)
	return err
}

// continuation is the form of the API server's tokens.
type continuation struct {
	Format  string `json:"v"`
	Version int64  `json:"rv"`
}

func token(version int64) string {
	raw, _ := json.Marshal(continuation{"meta.k8s.io/v1", version}) // A struct of scalars.
	return base64.RawURLEncoding.EncodeToString(raw)
}

func continued(token string) (int64, error) {
	var c continuation
	raw, err := base64.RawURLEncoding.DecodeString(token)
	if err == nil {
		err = json.Unmarshal(raw, &c)
	}
	if err != nil {
		return 0, apierrors.NewBadRequest("invalid continue token: continue key is not valid: " + err.Error())
	}
	return c.Version, nil
}

// objectFields are the fields of an object that selectors can name. They are read when they
// are asked for: in a cluster of 30,000 pods, a map for each of them takes most of a list.
type objectFields struct{ object runtime.Object }

var _ fields.Fields = objectFields{}

// Has reports whether selectors can name a field.
func (f objectFields) Has(name string) bool {
	_, has := f.lookup(name)
	return has
}

// Get returns the value of a field, or none.
func (f objectFields) Get(name string) string {
	value, _ := f.lookup(name)
	return value
}

func (f objectFields) lookup(name string) (string, bool) {
	switch name {
	case "metadata.name":
		return mustAccess(f.object).GetName(), true
	case "metadata.namespace":
		return mustAccess(f.object).GetNamespace(), true
	}
	switch o := f.object.(type) {
	case *corev1.Node:
		if name == "spec.unschedulable" {
			return strconv.FormatBool(o.Spec.Unschedulable), true
		}
	case *corev1.Pod:
		switch name {
		case "spec.nodeName":
			return o.Spec.NodeName, true
		case "status.phase":
			return string(o.Status.Phase), true
		}
	}
	return "", false
}

func created(object runtime.Object) *response {
	return &response{code: http.StatusCreated, object: object}
}
