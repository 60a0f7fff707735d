// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package recorded

import (
	"google.golang.org/protobuf/encoding/protowire"
)

// Numbers of fields: the spec of a pod, and the node of a spec (k8s.io/api v0.37.2 core/v1/generated.proto).
const (
	specField     = 2
	nodeNameField = 10
)

// nodeOf returns the node of a pod in protobuf, "" for none.
func nodeOf(pod []byte) (string, error) {
	spec, err := field(pod, specField)
	if err != nil {
		return "", err
	}
	node, err := field(spec, nodeNameField)
	return string(node), err
}

// field returns the content of the last field of a number, nil for none.
func field(message []byte, wanted protowire.Number) (content []byte, err error) {
	for len(message) > 0 {
		number, form, n := protowire.ConsumeTag(message)
		if n < 0 {
			return nil, protowire.ParseError(n)
		}
		size := protowire.ConsumeFieldValue(number, form, message[n:])
		if size < 0 {
			return nil, protowire.ParseError(size)
		}
		if number == wanted && form == protowire.BytesType {
			content, _ = protowire.ConsumeBytes(message[n:])
		}
		message = message[n+size:]
	}
	return content, nil
}
