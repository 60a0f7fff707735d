// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package recorded

import (
	"io"
	"testing"
)

func TestEncoder_refusesAKindThatItHasClosed(t *testing.T) {
	t.Parallel()
	e, err := newEncoder(io.Discard, Header{})
	if err != nil {
		t.Fatal(err)
	}
	nodes, pods := builtin[0], builtin[2]
	for _, k := range []kindRecord{nodes, pods} {
		if err := e.kind(k); err != nil {
			t.Fatal(err)
		}
		if err := e.object([]byte("{}")); err != nil {
			t.Fatal(err)
		}
		// A list that begins anew is the same kind.
		if err := e.again(k); err != nil {
			t.Fatal(err)
		}
	}
	if err := e.kind(nodes); err == nil {
		t.Error("the objects of the first list would count, and no reader finds them")
	}
}
