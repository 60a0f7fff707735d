// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package kube

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

// podReader lists and watches pods without what the slimmer does not read. A page is slimmed pod by pod
// while it is decoded: a thousand whole pods at a time are most of the memory that a plan takes.
type podReader struct {
	client rest.Interface
	slim   *slimmer
}

func newPodReader(rc *rest.Config, through *http.Client, slim *slimmer) (podReader, error) {
	version := corev1.SchemeGroupVersion
	config := *rc
	config.GroupVersion, config.APIPath = &version, "/api"
	config.NegotiatedSerializer = podSerializer{rest.CodecFactoryForGeneratedClient(scheme.Scheme, scheme.Codecs).WithoutConversion()}
	client, err := rest.RESTClientForConfigAndClient(&config, through)
	return podReader{client, slim}, err
}

func (r podReader) list(ctx context.Context, opts metav1.ListOptions) (runtime.Object, error) {
	answer, err := r.client.Get().Resource("pods").VersionedParams(&opts, scheme.ParameterCodec).Stream(ctx)
	if err != nil {
		return nil, err
	}
	defer answer.Close()
	page := &podPage{slim: r.slim}
	return page, page.read(answer)
}

func (r podReader) watch(ctx context.Context, opts metav1.ListOptions) (watch.Interface, error) {
	opts.Watch = true
	return r.client.Get().Resource("pods").VersionedParams(&opts, scheme.ParameterCodec).Watch(ctx)
}

// pod returns what is kept of a pod of a page, or of one that a watch shows; false for any other object.
func (r podReader) pod(o runtime.Object) (*snapshot.Pod, bool) {
	if one, is := o.(*slimPod); is {
		return one.Pod, true
	}
	return slimOf(r.slim.pod)(o)
}

// podPage is a page of pods.
type podPage struct {
	metav1.TypeMeta
	metav1.ListMeta
	Items []slimPod
	slim  *slimmer
	// alike are the pods of the page, by the protobuf form of their spec and of their status, each
	// without what is a pod's own.
	alike map[string]*podsAlike
	key   []byte
}

// podsAlike are pods with the same spec, by the rest that they have in common.
type podsAlike struct {
	spec     *corev1.PodSpec
	byStatus map[string]*snapshot.Pod
}

// slimPod is a pod as the pager hands it on.
type slimPod struct {
	metav1.TypeMeta
	*snapshot.Pod
}

// DeepCopyObject returns the same: nothing changes a page or a pod.
func (p *podPage) DeepCopyObject() runtime.Object { return p }

// DeepCopyObject returns the same: nothing changes a page or a pod.
func (p *slimPod) DeepCopyObject() runtime.Object { return p }

// add reads one pod: its metadata (1), spec (2) and status (3). Pods of a workload differ in their metadata, their
// node and when they started: everything else is decoded and slimmed once for all of them.
func (p *podPage) add(content []byte) error {
	size, err := podFields.filter(content)
	if err != nil {
		return err
	}
	var parts [4][]byte
	for data := content[:size]; len(data) > 0; {
		number, part, rest, err := next(data)
		if err != nil {
			return err
		}
		if parts[number] != nil {
			// Parts of one message are put together, which no server asks for.
			return p.addWhole(content[:size])
		}
		parts[number], data = part, rest
	}
	var pod corev1.Pod
	if err := pod.ObjectMeta.Unmarshal(parts[1]); err != nil {
		return err
	}
	spec, node, err := without(parts[2], nodeNameField)
	if err != nil {
		return err
	}
	status, started, err := without(parts[3], startTimeField)
	if err != nil {
		return err
	}
	if started != nil {
		pod.Status.StartTime = &metav1.Time{}
		if err := pod.Status.StartTime.Unmarshal(started); err != nil {
			return err
		}
	}
	pod.Spec.NodeName = string(node)
	like, err := p.like(spec, status, &pod)
	if err != nil {
		return err
	}
	p.Items = append(p.Items, slimPod{Pod: p.slim.another(like, &pod)})
	return nil
}

// addWhole reads one pod of any form.
func (p *podPage) addWhole(content []byte) error {
	var pod corev1.Pod
	if err := pod.Unmarshal(content); err != nil {
		return err
	}
	p.Items = append(p.Items, slimPod{Pod: p.slim.pod(&pod)})
	return nil
}

// like returns what pods of a spec and a status have in common to which LimitRanges have added the same, and whose specs
// all have changed or have not. Of the pod itself only its metadata is read.
func (p *podPage) like(spec, status []byte, of *corev1.Pod) (*snapshot.Pod, error) {
	alike := p.alike[string(spec)]
	if alike == nil {
		alike = &podsAlike{spec: &corev1.PodSpec{}, byStatus: map[string]*snapshot.Pod{}}
		if err := alike.spec.Unmarshal(spec); err != nil {
			return nil, err
		}
		if p.alike == nil {
			p.alike = map[string]*podsAlike{}
		}
		p.alike[string(spec)] = alike
	}
	defaulted := of.Annotations[snapshot.LimitRangerAnnotation]
	p.key = append(append(append(p.key[:0], status...), changedByte(of)), defaulted...)
	known := alike.byStatus[string(p.key)]
	if known == nil {
		pod := corev1.Pod{Spec: *alike.spec}
		pod.Generation = of.Generation
		pod.Annotations = map[string]string{snapshot.LimitRangerAnnotation: defaulted}
		if err := pod.Status.Unmarshal(status); err != nil {
			return nil, err
		}
		known = p.slim.pod(&pod)
		alike.byStatus[string(p.key)] = known
	}
	return known, nil
}

// without takes a field out of a message, in place, and returns what is left and its content, nil
// where it is not there.
func without(message []byte, field protowire.Number) (left, content []byte, err error) {
	size := 0
	for rest := message; len(rest) > 0; {
		number, part, after, err := next(rest)
		if err != nil {
			return nil, nil, err
		}
		if number == field {
			content = slices.Clone(part) // The fields that follow are moved to where it is.
		} else {
			size += copy(message[size:], rest[:len(rest)-len(after)])
		}
		rest = after
	}
	return message[:size], content, nil
}

// UnmarshalJSON reads what a server answers that knows no protobuf, such as a proxy.
func (p *podPage) UnmarshalJSON(data []byte) error {
	list, err := podsInJSON(data)
	if err != nil {
		return err
	}
	p.TypeMeta, p.ListMeta = list.TypeMeta, list.ListMeta
	for i := range list.Items {
		p.Items = append(p.Items, slimPod{Pod: p.slim.pod(&list.Items[i])})
	}
	return nil
}

// podsInJSON reads a list of pods. Errors: that of a Status, and one for what is no list of pods.
func podsInJSON(data []byte) (*corev1.PodList, error) {
	var list corev1.PodList
	if err := json.Unmarshal(data, &list); err != nil {
		return nil, err
	}
	if list.Kind == "Status" {
		var status metav1.Status
		if err := json.Unmarshal(data, &status); err != nil {
			return nil, err
		}
		return nil, apierrors.FromObject(&status)
	}
	return &list, podsIn(list.Kind)
}

// podsIn returns an error for an answer of another kind than a list of pods: it would pass for a cluster without pods.
func podsIn(kind string) error {
	if kind == "PodList" {
		return nil
	}
	return fmt.Errorf("read a list of pods: the answer is a %q", kind)
}

// podSerializer drops fields of the pods that a watch shows before they are decoded.
type podSerializer struct {
	runtime.NegotiatedSerializer
}

// DecoderToVersion wraps the decoder of one form: that of JSON finds nothing to drop.
func (s podSerializer) DecoderToVersion(d runtime.Decoder, gv runtime.GroupVersioner) runtime.Decoder {
	return podDecoder{s.NegotiatedSerializer.DecoderToVersion(d, gv)}
}

type podDecoder struct {
	runtime.Decoder
}

// Decode decodes what is left. The data is the client's own, which is not read again. Errors: those of the decoder,
// and one for an answer that is no page of pods where one is asked for.
func (d podDecoder) Decode(data []byte, defaults *schema.GroupVersionKind, into runtime.Object) (runtime.Object, *schema.GroupVersionKind, error) {
	data, err := withoutUnneeded(data)
	if err != nil {
		return nil, nil, err
	}
	object, kind, err := d.Decoder.Decode(data, defaults, into)
	if _, isPage := object.(*encodedPage); isPage && err == nil {
		// Its type is not compiled in, so that no decoder compares it.
		err = podsIn(kind.Kind)
	}
	return object, kind, err
}
