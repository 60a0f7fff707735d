// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package recorded

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"

	utiljson "k8s.io/apimachinery/pkg/util/json"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
)

const (
	// maxObject bounds an object in JSON: etcd stores none of a fourth of it.
	maxObject = 8 << 20
	// maxSeparators bounds the values of a file in YAML, each of which takes hundreds of bytes: of what kubectl
	// prints, it has a value in 25 bytes.
	maxSeparators = 2_500_000
)

// malformedError is the error of a file that is no YAML or JSON.
type malformedError struct{ error }

// Unwrap returns the error.
func (m *malformedError) Unwrap() error { return m.error }

// documents reads the objects and lists of one file.
func (f *folder) documents(r io.Reader, isJSON bool) error {
	r = bufio.NewReader(io.LimitReader(r, maxFileSize))
	var decoder interface{ Decode(into any) error } = json.NewDecoder(r)
	if !isJSON {
		decoder = utilyaml.NewYAMLOrJSONDecoder(&sparse{r: r}, 4096)
	}
	for {
		var raw rawDocument
		switch err := decoder.Decode(&raw); {
		case errors.Is(err, io.EOF):
			return nil
		case errors.Is(err, errTooDense):
			return errTooDense
		case err != nil:
			return &malformedError{err}
		}
		if err := f.document(raw, "", ""); err != nil {
			return err
		}
	}
}

var errTooDense = fmt.Errorf("the file has more than %d values in YAML: use kubectl get -o json", maxSeparators)

// sparse is a reader that fails once there are more values than YAML is read of.
type sparse struct {
	r          io.Reader
	separators int
}

// Read reads, and counts what can separate values.
func (s *sparse) Read(p []byte) (int, error) {
	n, err := s.r.Read(p)
	for _, separator := range []byte{',', '\n', '[', '{'} {
		s.separators += bytes.Count(p[:n], []byte{separator})
	}
	if s.separators > maxSeparators {
		return 0, errTooDense
	}
	return n, err
}

// rawDocument takes a document as it is.
type rawDocument []byte

// UnmarshalJSON keeps the document.
func (r *rawDocument) UnmarshalJSON(data []byte) error {
	*r = append((*r)[:0], data...)
	return nil
}

// document takes an object, or each of a list. Items of typed lists have no kind of their own. Content that is
// no object of a kind that is read is not decoded.
func (f *folder) document(raw []byte, apiVersion, kind string) error {
	var head struct {
		APIVersion any             `json:"apiVersion"`
		Kind       any             `json:"kind"`
		Items      json.RawMessage `json:"items"`
	}
	if !isObject(raw) {
		return nil
	}
	if err := json.Unmarshal(raw, &head); err != nil {
		return &malformedError{err}
	}
	if own := text(head.Kind); own != "" {
		apiVersion, kind = text(head.APIVersion), own
	}
	if strings.HasSuffix(kind, "List") && bytes.HasPrefix(bytes.TrimSpace(head.Items), []byte("[")) {
		return f.items(head.Items, apiVersion, strings.TrimSuffix(kind, "List"))
	}
	if _, is := kindNamed(apiVersion, kind); !is {
		return nil
	}
	if len(raw) > maxObject {
		return fmt.Errorf("an object of kind %s has %d bytes, and no more than %d are read", kind, len(raw), maxObject)
	}
	var content map[string]any
	if err := utiljson.Unmarshal(raw, &content); err != nil {
		return &malformedError{err}
	}
	return f.add(content, apiVersion, kind)
}

// items takes the objects of a list, one after the other.
func (f *folder) items(list json.RawMessage, apiVersion, kind string) error {
	decoder := json.NewDecoder(bytes.NewReader(list))
	if _, err := decoder.Token(); err != nil {
		return &malformedError{err}
	}
	// Each item is decoded before the next one takes its memory.
	var item json.RawMessage
	for n := 1; decoder.More(); n++ {
		if n > maxObjects {
			return fmt.Errorf("a list has more than %d items", maxObjects)
		}
		if err := decoder.Decode(&item); err != nil {
			return &malformedError{err}
		}
		if !isObject(item) {
			return fmt.Errorf("item %d of a list is no object", n)
		}
		if err := f.document(item, apiVersion, kind); err != nil {
			return err
		}
	}
	return nil
}

func isObject(raw []byte) bool { return bytes.HasPrefix(bytes.TrimSpace(raw), []byte("{")) }

// kindPattern finds the kind of an object that is read, or of a list, in a text that is no YAML or JSON, and
// livePattern what only objects of a cluster have. templatePattern finds a line that begins with an action of a template.
var (
	kindPattern     = regexp.MustCompile(`\bkind["']?\s*:\s*["']?(` + strings.Join(kindNames(), "|") + `|List)(List)?\b`)
	livePattern     = regexp.MustCompile(`\b(uid|resourceVersion)["']?\s*:`)
	templatePattern = regexp.MustCompile(`(?m)^\s*\{\{`)
)

// kindNames are the kinds of Kubernetes and OpenShift that are read.
func kindNames() []string {
	var out []string
	for _, k := range append(optional(), builtin...) {
		out = append(out, k.Kind)
	}
	return out
}

// namesKind reports whether a file that cannot be read has objects of a cluster of a kind that is read. A template
// of a chart has none: its objects are still to be created.
func namesKind(file io.ReadSeeker) (bool, error) {
	found := map[*regexp.Regexp]bool{}
	for _, pattern := range []*regexp.Regexp{kindPattern, livePattern, templatePattern} {
		if _, err := file.Seek(0, io.SeekStart); err != nil {
			return false, err
		}
		found[pattern] = pattern.MatchReader(bufio.NewReader(io.LimitReader(file, maxFileSize)))
	}
	return found[kindPattern] && (found[livePattern] || !found[templatePattern]), nil
}
