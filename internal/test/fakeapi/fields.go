// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package fakeapi

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apitypes "k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// fieldsMap returns an object as plain maps.
func fieldsMap(object runtime.Object) map[string]any {
	if u, is := object.(*unstructured.Unstructured); is {
		return u.DeepCopy().Object
	}
	out, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		panic(err) // Types of the API can always be converted.
	}
	return out
}

// equal reports whether two objects are stored alike: nil and empty are the same.
func equal(a, b runtime.Object) bool { return apiequality.Semantic.DeepEqual(a, b) }

// object makes an object of this kind from plain maps.
func (k *Kind) object(fields map[string]any) runtime.Object {
	if k.Custom {
		return &unstructured.Unstructured{Object: fields}
	}
	object, err := types.New(k.GroupVersionKind)
	if err == nil {
		err = runtime.DefaultUnstructuredConverter.FromUnstructured(fields, object)
	}
	if err != nil {
		panic(err) // The maps were such an object before.
	}
	return object
}

// decode returns the object that a request carries, in JSON or protobuf.
func (q *query) decode() (runtime.Object, error) {
	if q.kind.Custom {
		u := &unstructured.Unstructured{}
		if err := json.Unmarshal(q.body, &u.Object); err != nil {
			return nil, apierrors.NewBadRequest(err.Error())
		}
		return u, nil
	}
	object, err := decodeAs(q, q.kind.GroupVersionKind)
	if err == nil {
		object.GetObjectKind().SetGroupVersionKind(q.kind.GroupVersionKind)
	}
	return object, err
}

func decodeAs(q *query, gvk schema.GroupVersionKind) (runtime.Object, error) {
	media := q.contentType
	if media == "" {
		media = jsonMedia
	}
	info, known := runtime.SerializerInfoForMediaType(codecs.SupportedMediaTypes(), media)
	if !known {
		return nil, unsupported(false)
	}
	object, _, err := info.Serializer.Decode(q.body, &gvk, nil)
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	return object, nil
}

// unsupported is the error for a body, or a patch, of another media type.
func unsupported(custom bool) error {
	status := metav1.Status{Status: metav1.StatusFailure, Code: http.StatusUnsupportedMediaType, Reason: metav1.StatusReasonUnsupportedMediaType}
	if custom {
		status.Message = fmt.Sprintf("the body of the request was in an unknown format - accepted media types include: %s", strings.Join([]string{
			string(apitypes.JSONPatchType), string(apitypes.MergePatchType), string(apitypes.ApplyYAMLPatchType),
		}, ", "))
	} else {
		status.Message, status.Details = "415: Unsupported Media Type", &metav1.StatusDetails{}
	}
	return &apierrors.StatusError{ErrStatus: status}
}

// inJSON is a stored object as patches change it.
type inJSON struct {
	raw []byte
	err error
}

// patched returns what a patch makes of a stored object.
func (s *Server) patched(q *query, old runtime.Object) (runtime.Object, error) {
	stored := Derive(s, old, func() inJSON {
		raw, err := json.Marshal(fieldsMap(old))
		return inJSON{raw, err}
	})
	was, is, err := stored.raw, []byte(nil), stored.err
	if err != nil {
		return nil, err
	}
	switch apitypes.PatchType(q.contentType) {
	case apitypes.MergePatchType:
		if is, err = jsonpatch.MergePatch(was, q.body); err != nil {
			return nil, apierrors.NewBadRequest("invalid JSON patch")
		}
	case apitypes.JSONPatchType:
		patch, undecoded := jsonpatch.DecodePatch(q.body)
		if undecoded != nil {
			return nil, apierrors.NewBadRequest("error decoding patch: " + undecoded.Error())
		}
		is, err = patch.Apply(was)
	case apitypes.StrategicMergePatchType:
		if q.kind.Custom {
			return nil, unsupported(true)
		}
		is, err = strategicpatch.StrategicMergePatch(was, q.body, old)
	default:
		return nil, unsupported(q.kind.Custom)
	}
	if err != nil {
		return nil, patchError(q, err)
	}
	if q.kind.Custom {
		u := &unstructured.Unstructured{}
		return u, u.UnmarshalJSON(is)
	}
	object, err := types.New(q.kind.GroupVersionKind)
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(is, object); err != nil {
		return nil, apierrors.NewInvalid(schema.GroupKind{}, "", field.ErrorList{field.Invalid(field.NewPath("patch"), string(is), err.Error())})
	}
	return object, nil
}

// patchError is what the API server answers to a patch that cannot be carried out: a
// JSON patch whose test fails is invalid, anything else was not understood.
func patchError(q *query, err error) error {
	if apitypes.PatchType(q.contentType) == apitypes.JSONPatchType {
		return apierrors.NewGenericServerResponse(422, "", schema.GroupResource{}, "", err.Error(), 0, false)
	}
	return apierrors.NewBadRequest(err.Error())
}
