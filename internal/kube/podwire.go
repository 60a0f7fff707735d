// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package kube

import (
	"bytes"
	"fmt"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

// fields are those of a protobuf message that are kept, by number: whole, or what the value says of the
// message in it. All others are dropped before they are decoded: of a pod the slimmer keeps little, and to
// decode the rest takes longer than all else.
//
// The numbers are those of k8s.io/api v0.37.2 core/v1/generated.proto and of k8s.io/apimachinery v0.37.2
// pkg/apis/meta/v1/generated.proto. TestPodFields shows that pods are the same with and without, for
// every field that the API has.
type fields [48]*kept

type kept struct {
	whole  bool
	fields *fields
	// keys, where there are any, are what the first field of the message may hold: the others of a map,
	// or of a list with types, are dropped.
	keys []string
	// text, where there is any, is what the message contains: others are dropped.
	text string
	// filled is set where a message is dropped of which nothing is left.
	filled bool
}

func whole(numbers ...protowire.Number) *fields {
	out := &fields{}
	for _, n := range numbers {
		out[n] = &kept{whole: true}
	}
	return out
}

// with adds the fields of a message in the message.
func (f *fields) with(number protowire.Number, inner *fields) *fields {
	f[number] = &kept{fields: inner}
	return f
}

// filled adds those of a message that is dropped where none of them is in it.
func (f *fields) filled(number protowire.Number, inner *fields) *fields {
	f[number] = &kept{fields: inner, filled: true}
	return f
}

// only adds the messages of a list or a map whose first field is one of the keys.
func (f *fields) only(number protowire.Number, inner *fields, keys ...string) *fields {
	f[number] = &kept{fields: inner, keys: keys}
	return f
}

// and returns a copy, to add more fields to.
func (f *fields) and() *fields {
	out := *f
	return &out
}

// containing adds the messages of a list that contain a text.
func (f *fields) containing(number protowire.Number, inner *fields, text string) *fields {
	f[number] = &kept{fields: inner, text: text}
	return f
}

var (
	// namespace, name, uid, resourceVersion, generation, creationTimestamp, deletionTimestamp, deletionGracePeriodSeconds,
	// labels, ownerReferences; two of the annotations.
	recordedMeta = whole(1, 3, 5, 6, 7, 8, 9, 10, 11, 13).only(12, whole(1, 2), corev1.MirrorPodAnnotationKey, snapshot.LimitRangerAnnotation)
	// The fieldsV1 of managedFields that set nodeName, in addition. Others are large, and recordings have none: they name what the pod's fields are.
	metaFields = recordedMeta.and().containing(17, whole(7), managedNodeName)
	// requests.
	resourceFields = whole(2)
	// name, ports, restartPolicy; limits and requests of resources.
	containerFields = whole(1, 6, 24).with(8, whole(1, 2))
	// emptyDir and persistentVolumeClaim of the source, of gcePersistentDisk pdName and readOnly, of awsElasticBlockStore volumeID,
	// of iscsi iqn and readOnly, of rbd monitors, image, pool and readOnly, and that there is ephemeral, cinder, azureDisk or
	// portworxVolume.
	volumeFields = whole().filled(2, whole(2, 10).with(29, whole()).with(3, whole(1, 4)).with(4, whole(1)).with(8, whole(2, 6)).with(11, whole(1, 2, 4, 8)).
			with(13, whole()).with(22, whole()).with(24, whole()))
	// recordedVolumes leave out inline volumes: what they name can be the address of a server.
	recordedVolumes = whole().filled(2, whole(2, 10).with(29, whole()))
	// terminationGracePeriodSeconds, activeDeadlineSeconds, nodeSelector, nodeName, affinity, schedulerName, tolerations, priorityClassName, priority, preemptionPolicy, overhead,
	// topologySpreadConstraints, schedulingGates, resourceClaims, resources; volumes, containers, initContainers.
	specFields, recordedSpec = specWith(volumeFields), specWith(recordedVolumes)
	// name, allocatedResources; resources.
	containerStatusFields = whole(1, 10).with(11, resourceFields)
	// phase, startTime, nominatedNodeName, extendedResourceClaimStatus, allocatedResources, resources; type, status and reason of two of the conditions;
	// containerStatuses, initContainerStatuses.
	statusFields = whole(1, 7, 11, 18, 19, 20).only(2, whole(1, 2, 5), string(corev1.PodReady), string(corev1.PodResizePending)).
			with(8, containerStatusFields).with(10, containerStatusFields)

	podFields, recordedPod = whole().with(1, metaFields).with(2, specFields).with(3, statusFields), whole().with(1, recordedMeta).with(2, recordedSpec).with(3, statusFields)
)

func specWith(volumes *fields) *fields {
	return whole(4, 5, 7, 10, 18, 19, 22, 24, 25, 31, 32, 33, 38, 39, 40).filled(1, volumes).with(2, containerFields).with(20, containerFields)
}

// protobufPrefix begins every object in the protobuf form of Kubernetes, before a runtime.Unknown with its
// type (1) and its content (2) (k8s.io/apimachinery v0.37.2
// pkg/runtime/serializer/protobuf/protobuf.go).
var protobufPrefix = []byte{'k', '8', 's', 0}

// withoutUnneeded drops from an encoded pod what is not needed, in place, and returns what is left. Everything else is returned as it is. The error is that of a form that no decoder reads.
func withoutUnneeded(data []byte) ([]byte, error) {
	content, envelope, ok := bytes.Cut(data, protobufPrefix)
	if !ok || len(content) > 0 {
		return data, nil
	}
	if kind, err := kindOf(envelope); err != nil || kind != "Pod" {
		return data, err
	}
	size, err := whole(1, 3, 4).with(2, podFields).filter(envelope)
	return data[:len(protobufPrefix)+size], err
}

// kindOf returns the kind of what is in an envelope.
func kindOf(envelope []byte) (kind string, err error) {
	meta, err := last(envelope, 1)
	if err != nil {
		return "", err
	}
	return kindIn(meta)
}

// kindIn returns the kind of the type of an envelope.
func kindIn(meta []byte) (kind string, err error) {
	text, err := last(meta, 2)
	return string(text), err
}

// last returns the content of the last field of a number, nil where there is none.
func last(message []byte, field protowire.Number) (content []byte, err error) {
	for len(message) > 0 {
		number, one, rest, err := next(message)
		if err != nil {
			return nil, err
		}
		if number == field && one != nil {
			content = one
		}
		message = rest
	}
	return content, nil
}

// next reads a field: its content where it is of bytes.
func next(b []byte) (number protowire.Number, content, rest []byte, err error) {
	number, form, n := protowire.ConsumeTag(b)
	if n < 0 {
		return 0, nil, nil, fmt.Errorf("read a field of a protobuf message: %w", protowire.ParseError(n))
	}
	var size int
	if form == protowire.BytesType {
		content, size = protowire.ConsumeBytes(b[n:])
	} else {
		size = protowire.ConsumeFieldValue(number, form, b[n:])
	}
	if size < 0 {
		return 0, nil, nil, fmt.Errorf("read field %d of a protobuf message: %w", number, protowire.ParseError(size))
	}
	return number, content, b[n+size:], nil
}

// filter keeps these fields of a message, in place, and returns how long it is then.
func (f *fields) filter(b []byte) (size int, err error) {
	for rest := b; len(rest) > 0; {
		number, content, after, err := next(rest)
		if err != nil {
			return 0, err
		}
		field := rest[:len(rest)-len(after)]
		rest = after
		if int(number) >= len(f) || f[number] == nil {
			continue
		}
		of := f[number]
		if of.whole || content == nil {
			size += copy(b[size:], field)
			continue
		}
		if len(of.keys) > 0 && !of.names(content) || !bytes.Contains(content, []byte(of.text)) {
			continue
		}
		inner, err := of.fields.filter(content)
		if err != nil {
			return 0, err
		}
		if inner == 0 && of.filled {
			continue
		}
		// The length has as many bytes as before: there is no room for more, and a decoder takes a number
		// with zeros in front.
		head := len(field) - len(content)
		putVarint(field[protowire.SizeTag(number):head], inner)
		size += copy(b[size:], field[:head+inner])
	}
	return size, nil
}

// putVarint writes a number into all of the bytes.
func putVarint(b []byte, value int) {
	for i := range b {
		b[i] = byte(value&0x7f) | 0x80
		value >>= 7
	}
	b[len(b)-1] &^= 0x80
}

// The spec of a pod, and the fields that pods of one workload do not have in common: nodeName of a spec, startTime of
// a status.
const (
	specField      = 2
	nodeNameField  = 10
	startTimeField = 7
)

// names reports whether the first field of a message is one of the keys.
func (k *kept) names(message []byte) bool {
	for len(message) > 0 {
		number, content, rest, err := next(message)
		if err != nil {
			return false
		}
		if number == 1 {
			return slices.ContainsFunc(k.keys, func(key string) bool { return key == string(content) })
		}
		message = rest
	}
	return false
}
