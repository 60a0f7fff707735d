// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package fakeapi

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// text is an object as text, without what differs between two runs that do the same: uids,
// versions and times.
type text string

func textOf(o runtime.Object) text {
	raw, err := json.Marshal(o)
	if err != nil {
		panic(err) // Stored objects were read as JSON or are of Kubernetes' types.
	}
	return text(withoutPassing(string(raw)))
}

// withoutPassing leaves out uids, versions and times. It looks for what they have in common
// rather than for a regular expression: the tests of package faults spent a tenth of their
// time on one.
func withoutPassing(text string) string {
	return withoutTimes(withoutDigits(withoutDigits(text, "00000000-0000-4000-8000-", 12, false), `"resourceVersion":"`, 0, true))
}

// withoutDigits leaves out the digits after each prefix, and the prefix too unless it is to
// be kept: so many of them, where there are as many, or all for 0.
func withoutDigits(text, prefix string, count int, keep bool) string {
	var b strings.Builder
	for {
		before, after, found := strings.Cut(text, prefix)
		b.WriteString(before)
		if !found {
			return b.String()
		}
		n := 0
		for n < len(after) && isDigit(after[n]) && (count == 0 || n < count) {
			n++
		}
		if keep || n < count {
			b.WriteString(prefix)
		}
		if n >= count {
			after = after[n:]
		}
		text = after
	}
}

// timePattern is how times are written, up to fractions of seconds; 0 is any digit.
const timePattern = "0000-00-00T00:00:00"

// withoutTimes leaves out all times.
func withoutTimes(text string) string {
	var b strings.Builder
	for {
		end := strings.IndexByte(text, 'Z')
		if end < 0 {
			b.WriteString(text)
			return b.String()
		}
		begin := timeBefore(text[:end])
		b.WriteString(text[:begin])
		if begin == end {
			b.WriteByte('Z')
		}
		text = text[end+1:]
	}
}

// timeBefore returns where the time begins that a text ends with, but for its zone, and the
// text's length where it ends with none.
func timeBefore(text string) int {
	end := len(text)
	// Fractions have nine digits at most.
	if dot := strings.LastIndexByte(text[max(0, end-10):], '.'); dot >= 0 {
		end = max(0, end-10) + dot
	}
	begin := end - len(timePattern)
	if begin < 0 {
		return len(text)
	}
	for i := range timePattern {
		if c := text[begin+i]; timePattern[i] == '0' && !isDigit(c) || timePattern[i] != '0' && c != timePattern[i] {
			return len(text)
		}
	}
	if text[end:] == "." {
		return len(text)
	}
	for _, c := range []byte(strings.TrimPrefix(text[end:], ".")) {
		if !isDigit(c) {
			return len(text)
		}
	}
	return begin
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// Fingerprint returns all objects as texts, without uids, versions and times. A user who asks
// nothing but the server goes on from two servers of one fingerprint alike. The texts of an
// object that clones have in common are one string.
func (s *Server) Fingerprint() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []string
	resources := slices.SortedFunc(maps.Keys(s.store.objects), func(x, y schema.GroupVersionResource) int { return strings.Compare(x.String(), y.String()) })
	for _, r := range resources {
		for _, o := range s.store.list(r, "") {
			out = append(out, string(Derive(s, o, func() text { return textOf(o) })))
		}
	}
	return out
}
