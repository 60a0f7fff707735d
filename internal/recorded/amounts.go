// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package recorded

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/kube"
)

// Bounds of an amount. Quantity decodes an exponent as so many digits, and digits in the square of their number
// (k8s.io/apimachinery v0.37.2 pkg/api/resource/quantity.go, ParseQuantity): a text of 11 bytes takes seconds.
const (
	maxDigits         = 59
	maxExponentDigits = 3
)

// amountLength returns how many bytes at the beginning of a text are a number of more than these bounds, 0 for none.
func amountLength(text string) int {
	at := span(text, 0, "+-")
	digits := span(text, at, "0123456789.") - at
	if at += digits; digits > maxDigits {
		return at
	}
	if digits == 0 || at == len(text) || text[at] != 'e' && text[at] != 'E' {
		return 0
	}
	exponent := span(text, at+1, "+-")
	if at = span(text, exponent, "0123456789"); at-exponent > maxExponentDigits {
		return at
	}
	return 0
}

// span returns where the characters of a set end that begin at a place of a text.
func span(text string, at int, set string) int {
	for at < len(text) && strings.IndexByte(set, text[at]) >= 0 {
		at++
	}
	return at
}

// checkAmount returns an error for an amount that takes long to decode.
func checkAmount(text string) error {
	if amountLength(strings.TrimSpace(text)) == 0 {
		return nil
	}
	return fmt.Errorf("%.20q is an amount of more than %d digits, or more than %d of an exponent", text, maxDigits, maxExponentDigits)
}

// checkAmounts checks the amounts of an object, before it is decoded: those of fields that are kept, and whatever
// other fields have.
func checkAmounts(r schema.GroupResource, object map[string]any) error {
	fields, known := reductions[r]
	if !known {
		fields, known = workloadFieldsOf(r)
	}
	if !known || r == configMaps {
		// Their amounts are not decoded.
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(object)) {
		if name == "metadata" {
			continue
		}
		inner, is := fields.named(name)
		if err := inner.checkAmounts(object[name], is); err != nil {
			return fmt.Errorf("%s%w", name, err)
		}
	}
	return nil
}

// checkAmounts checks the amounts of a value. A value of a field that is not known may be one.
func (t tree) checkAmounts(value any, known bool) error {
	switch v := value.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			inner, is := t.named(name)
			if err := inner.checkAmounts(v[name], known && is); err != nil {
				return fmt.Errorf(".%s%w", name, err)
			}
		}
	case []any:
		for i, one := range v {
			if err := t.checkAmounts(one, known); err != nil {
				return fmt.Errorf("[%d]%w", i, err)
			}
		}
	case json.Number:
		return t.checkAmounts(string(v), known)
	case string:
		if known && !t.is(anAmount) {
			return nil
		}
		if err := checkAmount(v); err != nil {
			return fmt.Errorf(": %w", err)
		}
	}
	return nil
}

// checkEncoded checks the amounts of an object of a file. Most objects are not decoded for it: nothing in them can
// be such an amount.
func (k *recordedKind) checkEncoded(content []byte) error {
	if k.protobuf() {
		return kube.AmountsOfPod(content, func(amount []byte) error { return checkAmount(string(amount)) })
	}
	if !mayHaveLongAmount(string(content)) {
		return nil
	}
	var object map[string]any
	decoder := json.NewDecoder(bytes.NewReader(content))
	// A number stays as long as it is.
	decoder.UseNumber()
	if err := decoder.Decode(&object); err != nil {
		return err
	}
	return checkAmounts(k.gvr().GroupResource(), object)
}

// mayHaveLongAmount reports whether an object in JSON has a number, or a text that begins like one, of more than the
// bounds of an amount. A character that is escaped may be any.
func mayHaveLongAmount(content string) bool {
	for at := range len(content) - 1 {
		switch content[at] {
		case '\\':
			if next := content[at+1]; next != '"' && next != '\\' {
				return true
			}
		case '"', ' ', ':', ',', '[', '\t', '\r', '\n':
			if amountLength(content[at+1:]) > 0 {
				return true
			}
		}
	}
	return false
}
