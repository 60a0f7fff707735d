// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package fakeapi

import (
	"errors"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// response is an answer before it is encoded.
type response struct {
	code int
	// object is encoded as the request accepts; raw is sent as it is, in JSON unless
	// the media type says otherwise.
	object     runtime.Object
	raw        []byte
	mediaType  string
	retryAfter int
	// stream writes events until the watch ends.
	stream func(w io.Writer)
}

func ok(object runtime.Object) *response { return &response{code: http.StatusOK, object: object} }

// failure is the answer to an error.
func failure(err error) *response {
	status := apierrors.APIStatus(nil)
	if !errors.As(err, &status) {
		status = apierrors.NewInternalError(err)
	}
	body := status.Status()
	out := &response{code: int(body.Code), object: &body}
	if body.Details != nil {
		out.retryAfter = int(body.Details.RetryAfterSeconds)
	}
	return out
}

// notServed is what the API server answers where it does not serve a resource: a Status for
// groups that it has.
func (s *Server) notServed(q *query) *response {
	if slices.ContainsFunc(s.kinds, func(k *Kind) bool { return q.resource.Version != "" && k.Group == q.resource.Group }) {
		return failure(apierrors.NewGenericServerResponse(http.StatusNotFound, "", schema.GroupResource{}, "", "", 0, false))
	}
	return &response{code: http.StatusNotFound, raw: []byte("404 page not found\n"), mediaType: "text/plain; charset=utf-8"}
}

// bare is an error of the API server that has no reason.
func bare(message string) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure, Code: http.StatusInternalServerError, Message: message}}
}

const (
	jsonMedia     = runtime.ContentTypeJSON
	protobufMedia = runtime.ContentTypeProtobuf
)

// negotiate returns the first media type of an Accept header that the server can answer
// in, and whether the metadata alone is asked for.
func negotiate(accept string, custom bool) (media string, metadata bool) {
	for clause := range strings.SplitSeq(accept, ",") {
		media := mediaType(clause)
		metadata := strings.Contains(clause, "as=PartialObjectMetadata")
		switch {
		case strings.Contains(clause, "as=") && !metadata:
			continue
		case media == protobufMedia && (!custom || metadata), media == jsonMedia:
			return media, metadata
		}
	}
	return jsonMedia, false
}

// encoder returns what encodes objects for a request, and its serializer.
func encoder(media string) (runtime.Encoder, runtime.SerializerInfo) {
	info, _ := runtime.SerializerInfoForMediaType(codecs.SupportedMediaTypes(), media)
	return info.Serializer, info
}

// encode turns an answer into what is sent.
func (r *response) encode(q *query) (body []byte, media string, err error) {
	if r.raw != nil {
		if r.mediaType != "" {
			return r.raw, r.mediaType, nil
		}
		return r.raw, jsonMedia, nil
	}
	media, metadata := jsonMedia, false
	if q != nil {
		media, metadata = negotiate(q.accept, q.kind != nil && q.kind.Custom)
	}
	object := r.object
	if status, is := object.(*metav1.Status); is {
		status.TypeMeta = metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}
	} else if metadata {
		object = partial(object)
	}
	e, _ := encoder(media)
	body, err = runtime.Encode(e, object)
	return body, media, err
}

var metaVersion = schema.GroupVersion{Group: metav1.GroupName, Version: "v1"}.String()

// partial returns the metadata of an object, or of each object of a list.
func partial(object runtime.Object) runtime.Object {
	list, err := meta.ListAccessor(object)
	if err != nil || !meta.IsListType(object) {
		return partialOne(object)
	}
	out := &metav1.PartialObjectMetadataList{
		TypeMeta: metav1.TypeMeta{Kind: "PartialObjectMetadataList", APIVersion: metaVersion},
		ListMeta: metav1.ListMeta{ResourceVersion: list.GetResourceVersion(), Continue: list.GetContinue(), RemainingItemCount: list.GetRemainingItemCount()},
	}
	_ = meta.EachListItem(object, func(item runtime.Object) error { // The function returns no error.
		out.Items = append(out.Items, *partialOne(item))
		return nil
	})
	return out
}

func partialOne(object runtime.Object) *metav1.PartialObjectMetadata {
	out := meta.AsPartialObjectMetadata(mustAccess(object))
	out.TypeMeta = metav1.TypeMeta{Kind: "PartialObjectMetadata", APIVersion: metaVersion}
	return out
}

// newList returns a list of a kind with these objects.
func newList(kind *Kind, objects []runtime.Object, version int64) (runtime.Object, error) {
	gvk := kind.GroupVersion().WithKind(kind.Kind + "List")
	if kind.Custom {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(gvk)
		// The API server writes an empty token here, and nowhere else.
		list.Object["metadata"] = map[string]any{"resourceVersion": strconv.FormatInt(version, 10), "continue": ""}
		list.Items = []unstructured.Unstructured{}
		for _, o := range objects {
			list.Items = append(list.Items, *o.(*unstructured.Unstructured)) //nolint:forcetypeassert // Custom objects are stored as nothing else.
		}
		return list, nil
	}
	list, err := types.New(gvk)
	if err != nil {
		return nil, err
	}
	list.GetObjectKind().SetGroupVersionKind(gvk)
	// Items are shallow copies: stored objects are never changed, and an answer is not either.
	if err := meta.SetList(list, objects); err != nil {
		return nil, err
	}
	// Items of a list carry no kind of their own.
	if err := meta.EachListItem(list, func(item runtime.Object) error {
		item.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{})
		return nil
	}); err != nil {
		return nil, err
	}
	accessor, err := meta.ListAccessor(list)
	if err != nil {
		return nil, err
	}
	accessor.SetResourceVersion(strconv.FormatInt(version, 10))
	return list, nil
}
