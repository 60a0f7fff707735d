// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package kube

import (
	"context"
	"encoding/json"
	"net/http"

	corev1 "k8s.io/api/core/v1"
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
	page := &podPage{slim: r.slim}
	err := r.client.Get().Resource("pods").VersionedParams(&opts, scheme.ParameterCodec).Do(ctx).Into(page)
	return page, err
}

func (r podReader) watch(ctx context.Context, opts metav1.ListOptions) (watch.Interface, error) {
	opts.Watch = true
	return r.client.Get().Resource("pods").VersionedParams(&opts, scheme.ParameterCodec).Watch(ctx)
}

// pod returns what is kept of a pod of a page, or of one that a watch shows.
func (r podReader) pod(o runtime.Object) *snapshot.Pod {
	if one, is := o.(*slimPod); is {
		return one.Pod
	}
	return r.slim.pod(o.(*corev1.Pod)) //nolint:forcetypeassert // Nothing else is watched.
}

// podPage is a page of pods. It is in no scheme, so that decoders have it read itself.
type podPage struct {
	metav1.TypeMeta
	metav1.ListMeta
	Items []slimPod
	slim  *slimmer
	// specs are those of the page's pods, by their protobuf form without the node.
	specs map[string]*corev1.PodSpec
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

// Reset empties the page.
func (p *podPage) Reset() { *p = podPage{slim: p.slim} }

// Unmarshal reads a PodList in its protobuf form: its metadata (1) and its pods (2).
func (p *podPage) Unmarshal(data []byte) error {
	for len(data) > 0 {
		number, content, rest, err := next(data)
		if err != nil {
			return err
		}
		data = rest
		switch number {
		case 1:
			err = p.ListMeta.Unmarshal(content)
		case 2:
			err = p.add(content)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// add reads one pod: its metadata (1), spec (2) and status (3).
func (p *podPage) add(content []byte) error {
	size, err := podFields.filter(content)
	if err != nil {
		return err
	}
	var pod corev1.Pod
	seen := false
	for data := content[:size]; len(data) > 0; {
		number, part, rest, err := next(data)
		if err != nil {
			return err
		}
		data = rest
		switch number {
		case 1:
			err = pod.ObjectMeta.Unmarshal(part)
		case 2:
			if seen {
				// Parts of one message are put together, which no server asks for.
				err = pod.Spec.Unmarshal(part)
			} else {
				err = p.spec(&pod.Spec, part)
			}
			seen = true
		case 3:
			err = pod.Status.Unmarshal(part)
		}
		if err != nil {
			return err
		}
	}
	p.Items = append(p.Items, slimPod{Pod: p.slim.pod(&pod)})
	return nil
}

// spec reads a spec, or takes that of an earlier pod of the page with the same one. Pods of a workload
// differ in their node alone, and follow each other, as lists are sorted by name.
func (p *podPage) spec(into *corev1.PodSpec, content []byte) error {
	node, size := "", 0
	for rest := content; len(rest) > 0; {
		number, part, after, err := next(rest)
		if err != nil {
			return err
		}
		if number == nodeNameField {
			node = string(part)
		} else {
			size += copy(content[size:], rest[:len(rest)-len(after)])
		}
		rest = after
	}
	known := p.specs[string(content[:size])]
	if known == nil {
		known = &corev1.PodSpec{}
		if err := known.Unmarshal(content[:size]); err != nil {
			return err
		}
		if p.specs == nil {
			p.specs = map[string]*corev1.PodSpec{}
		}
		p.specs[string(content[:size])] = known
	}
	*into = *known
	into.NodeName = node
	return nil
}

// UnmarshalJSON reads what a server answers that knows no protobuf, such as a proxy.
func (p *podPage) UnmarshalJSON(data []byte) error {
	var list corev1.PodList
	if err := json.Unmarshal(data, &list); err != nil {
		return err
	}
	p.TypeMeta, p.ListMeta = list.TypeMeta, list.ListMeta
	for i := range list.Items {
		p.Items = append(p.Items, slimPod{Pod: p.slim.pod(&list.Items[i])})
	}
	return nil
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

// Decode decodes what is left. The data is the client's own, which is not read again.
func (d podDecoder) Decode(data []byte, defaults *schema.GroupVersionKind, into runtime.Object) (runtime.Object, *schema.GroupVersionKind, error) {
	data, err := withoutUnneeded(data)
	if err != nil {
		return nil, nil, err
	}
	return d.Decoder.Decode(data, defaults, into)
}
