// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package recorded

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"
	apidiscoveryv2 "k8s.io/api/apidiscovery/v2"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/kube"
)

// aggregatedDiscovery is the media type of discovery in one document
// (k8s.io/client-go v0.37.2 discovery/discovery_client.go, AcceptV2).
const aggregatedDiscovery = runtime.ContentTypeJSON + ";g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"

// asMetadata reports whether a request asks for metadata alone.
func asMetadata(accept string) bool { return strings.Contains(accept, "as=PartialObjectMetadata") }

// inProtobuf reports whether a request takes objects of a kind in protobuf, and they are there in it.
func (k *recordedKind) inProtobuf(accept string) bool {
	return k.protobuf() && strings.HasPrefix(accept, runtime.ContentTypeProtobuf)
}

// one answers with an object.
func (k *recordedKind) one(o object, accept string) (code int, media string, body []byte) {
	switch {
	case asMetadata(accept):
		meta, err := k.metadata(o.content)
		if err != nil {
			return failure(err)
		}
		meta.TypeMeta = metav1.TypeMeta{Kind: "PartialObjectMetadata", APIVersion: metav1.SchemeGroupVersion.String()}
		return inJSON(meta)
	case k.inProtobuf(accept):
		return envelope(k.Kind, k.apiVersion(), o.content)
	}
	raw, err := k.json(o.content)
	if err != nil {
		return failure(err)
	}
	return http.StatusOK, runtime.ContentTypeJSON, raw
}

// many answers with a list.
func (k *recordedKind) many(objects []object, meta metav1.ListMeta, accept string) (code int, media string, body []byte) {
	switch {
	case asMetadata(accept):
		return k.metadataOf(objects, meta)
	case k.inProtobuf(accept):
		return k.encodedList(objects, meta)
	}
	list := struct {
		metav1.TypeMeta `json:",inline"`
		metav1.ListMeta `json:"metadata"`
		Items           []json.RawMessage `json:"items"`
	}{metav1.TypeMeta{Kind: k.Kind + "List", APIVersion: k.apiVersion()}, meta, make([]json.RawMessage, len(objects))}
	for i, o := range objects {
		raw, err := k.json(o.content)
		if err != nil {
			return failure(err)
		}
		list.Items[i] = raw
	}
	return inJSON(list)
}

// metadataOf answers with the metadata of objects.
func (k *recordedKind) metadataOf(objects []object, meta metav1.ListMeta) (code int, media string, body []byte) {
	list := metav1.PartialObjectMetadataList{
		TypeMeta: metav1.TypeMeta{Kind: "PartialObjectMetadataList", APIVersion: metav1.SchemeGroupVersion.String()}, ListMeta: meta,
		Items: make([]metav1.PartialObjectMetadata, len(objects)),
	}
	for i, o := range objects {
		one, err := k.metadata(o.content)
		if err != nil {
			return failure(err)
		}
		one.TypeMeta = metav1.TypeMeta{Kind: "PartialObjectMetadata", APIVersion: list.APIVersion}
		list.Items[i] = *one
	}
	return inJSON(list)
}

// encodedList answers with a list in protobuf: its metadata (1) and its objects (2).
func (k *recordedKind) encodedList(objects []object, meta metav1.ListMeta) (code int, media string, body []byte) {
	encoded, err := meta.Marshal()
	if err != nil {
		return failure(err)
	}
	size := len(encoded)
	for _, o := range objects {
		size += len(o.content)
	}
	raw := make([]byte, 0, size+8*(len(objects)+1))
	raw = protowire.AppendBytes(protowire.AppendTag(raw, 1, protowire.BytesType), encoded)
	for _, o := range objects {
		raw = protowire.AppendBytes(protowire.AppendTag(raw, 2, protowire.BytesType), o.content)
	}
	return envelope(k.Kind+"List", k.apiVersion(), raw)
}

// envelope answers with an object in the protobuf form of Kubernetes
// (k8s.io/apimachinery v0.37.2 pkg/runtime/serializer/protobuf/protobuf.go).
func envelope(kind, apiVersion string, raw []byte) (code int, media string, body []byte) {
	content, err := (&runtime.Unknown{TypeMeta: runtime.TypeMeta{Kind: kind, APIVersion: apiVersion}, Raw: raw}).Marshal()
	if err != nil {
		return failure(err)
	}
	return http.StatusOK, runtime.ContentTypeProtobuf, append([]byte("k8s\x00"), content...)
}

// json returns the JSON form of an object.
func (k *recordedKind) json(content []byte) ([]byte, error) {
	if !k.protobuf() {
		return content, nil
	}
	// Other fields were not checked.
	content, err := kube.ReducedPod(bytes.Clone(content))
	if err != nil {
		return nil, err
	}
	var pod corev1.Pod
	if err := pod.Unmarshal(content); err != nil {
		return nil, err
	}
	pod.TypeMeta = metav1.TypeMeta{Kind: k.Kind, APIVersion: k.apiVersion()}
	return json.Marshal(&pod)
}

func inJSON(object any) (code int, media string, body []byte) {
	raw, err := json.Marshal(object)
	if err != nil {
		return failure(err)
	}
	return http.StatusOK, runtime.ContentTypeJSON, raw
}

// failure answers with an error.
func failure(err error) (code int, media string, body []byte) {
	status := apierrors.APIStatus(nil)
	if !errors.As(err, &status) {
		status = apierrors.NewInternalError(err)
	}
	object := status.Status()
	object.TypeMeta = metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}
	raw, _ := json.Marshal(object) // A struct of texts.
	return int(object.Code), runtime.ContentTypeJSON, raw
}

// notServed is the answer of an API server that does not know a resource.
func notServed(gvr schema.GroupVersionResource) error {
	return apierrors.NewGenericServerResponse(http.StatusNotFound, "", gvr.GroupResource(), "", "", 0, false)
}

// notRecorded refuses a read as an API server does without the right to it: what is there is not known.
func notRecorded(q request) error {
	err := apierrors.NewForbidden(q.resource.GroupResource(), q.key.name, errNotRecorded)
	err.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: kube.CauseNotRecorded, Message: errNotRecorded.Error()}}
	return err
}

// readOnly refuses what a recording cannot do.
func readOnly(gvr schema.GroupVersionResource, verb string) error {
	err := apierrors.NewMethodNotSupported(gvr.GroupResource(), verb)
	err.ErrStatus.Message = "the cluster is a snapshot, which can be read and not changed: " + err.ErrStatus.Message
	return err
}

// rights answers what the credentials may do with custom kinds: what those of the recording could.
func (c *Cluster) rights() (code int, media string, body []byte) {
	review := authorizationv1.SelfSubjectRulesReview{TypeMeta: metav1.TypeMeta{Kind: "SelfSubjectRulesReview", APIVersion: "authorization.k8s.io/v1"}}
	for _, r := range c.header.Custom {
		review.Status.ResourceRules = append(review.Status.ResourceRules, authorizationv1.ResourceRule{
			Verbs: []string{"list", "patch"}, APIGroups: []string{r.Group}, Resources: []string{r.Resource},
		})
	}
	code, media, body = inJSON(review)
	if code == http.StatusOK {
		code = http.StatusCreated
	}
	return code, media, body
}

// discovery answers what the cluster serves, of the core group or of all others.
func (c *Cluster) discovery(core bool) (code int, media string, body []byte) {
	list := apidiscoveryv2.APIGroupDiscoveryList{TypeMeta: metav1.TypeMeta{Kind: "APIGroupDiscoveryList", APIVersion: "apidiscovery.k8s.io/v2"}}
	groups := map[string]int{}
	for _, s := range c.header.Serves {
		if (s.Group == "") != core {
			continue
		}
		at, is := groups[s.Group]
		if !is {
			at = len(list.Items)
			groups[s.Group] = at
			list.Items = append(list.Items, apidiscoveryv2.APIGroupDiscovery{ObjectMeta: metav1.ObjectMeta{Name: s.Group}})
		}
		list.Items[at].Versions = append(list.Items[at].Versions, c.header.discovered(s))
	}
	code, _, body = inJSON(list)
	return code, aggregatedDiscovery, body
}

func (h *Header) discovered(s Served) apidiscoveryv2.APIVersionDiscovery {
	out := apidiscoveryv2.APIVersionDiscovery{Version: s.Version, Freshness: apidiscoveryv2.DiscoveryFreshnessCurrent}
	if s.Stale {
		out.Freshness = apidiscoveryv2.DiscoveryFreshnessStale
	}
	for _, r := range s.Resources {
		scope := apidiscoveryv2.ScopeCluster
		if r.Namespaced {
			scope = apidiscoveryv2.ScopeNamespace
		}
		out.Resources = append(out.Resources, apidiscoveryv2.APIResourceDiscovery{
			Resource: r.Name, SingularResource: strings.ToLower(r.Kind), Scope: scope, Verbs: []string{"get", "list"}, ShortNames: h.short(s.Group, r),
			ResponseKind: &metav1.GroupVersionKind{Group: s.Group, Version: s.Version, Kind: r.Kind},
		})
	}
	return out
}
