// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package kube

import (
	"google.golang.org/protobuf/encoding/protowire"
)

// wire is where texts are in a protobuf message, by the numbers of the fields that lead there; nil for a text.
type wire map[protowire.Number]wire

// The amounts of a pod, of the fields in podFields. The text of a Quantity (1) is the value (2) in a list by the
// names of resources.
var (
	quantity            = wire{1: nil}
	resourceList        = wire{2: quantity}
	resourcesWire       = wire{1: resourceList, 2: resourceList}
	containerWire       = wire{8: resourcesWire}
	statusWire          = wire{10: resourceList, 11: resourcesWire}
	emptyDirOfWire      = wire{2: {2: {2: quantity}}}
	podAmounts     wire = wire{
		2: {1: emptyDirOfWire, 2: containerWire, 20: containerWire, 32: resourceList, 40: resourcesWire},
		3: {8: statusWire, 10: statusWire, 19: resourceList, 20: resourcesWire},
	}
)

// each calls visit for the texts of a message. Errors: those of visit and of the form.
func (w wire) each(message []byte, visit func([]byte) error) error {
	for len(message) > 0 {
		number, content, rest, err := next(message)
		if err != nil {
			return err
		}
		message = rest
		inner, is := w[number]
		switch {
		case !is || content == nil:
		case inner == nil:
			err = visit(content)
		default:
			err = inner.each(content, visit)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
