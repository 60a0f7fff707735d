// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package recorded

import (
	"io"
	"strconv"
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

func TestEncoder_refusesWhatNoReaderTakes(t *testing.T) {
	t.Parallel()
	for name, write := range map[string]func(*encoder) error{
		"objects": func(e *encoder) error {
			e.objects = maxObjects
			return e.object([]byte("{}"))
		},
		"bytes": func(e *encoder) error {
			e.bytes = maxBytes - 1
			return e.object([]byte("{}"))
		},
		"kinds": func(e *encoder) error {
			for k := range maxKinds {
				if e.kind(kindRecord{Version: "v1", Resource: strconv.Itoa(k)}) != nil {
					t.Errorf("kind %d is refused", k)
				}
			}
			return e.kind(kindRecord{Version: "v2"})
		},
	} {
		e, err := newEncoder(io.Discard, Header{})
		if err != nil {
			t.Fatal(err)
		}
		if err := write(e); err == nil {
			t.Errorf("a file of too many %s was written", name)
		}
	}
	if _, err := newEncoder(io.Discard, Header{Serves: make([]Served, maxServed+1)}); err == nil {
		t.Error("a file of too many served versions was written")
	}
}
