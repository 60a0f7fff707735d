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
	r = io.LimitReader(r, maxFileSize)
	if isJSON {
		_, err := f.inJSON(bufio.NewReader(r))
		return err
	}
	documents := utilyaml.NewYAMLReader(bufio.NewReader(&sparse{r: r}))
	for {
		content, err := documents.Read()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case errors.Is(err, errTooDense):
			return errTooDense
		case err != nil:
			return &malformedError{err}
		}
		if err := f.inYAML(content); err != nil {
			return err
		}
	}
}

// inJSON reads objects and lists in JSON that follow each other, and returns how many there are.
func (f *folder) inJSON(r io.Reader) (n int, err error) {
	decoder := json.NewDecoder(r)
	for {
		var raw rawDocument
		switch err := decoder.Decode(&raw); {
		case errors.Is(err, io.EOF):
			return n, nil
		case err != nil:
			return n, &malformedError{err}
		}
		n++
		if err := f.document(raw, "", "", 0); err != nil {
			return n, err
		}
	}
}

// inYAML reads one document, which may be several objects in JSON.
func (f *folder) inYAML(content []byte) error {
	if utilyaml.IsJSONBuffer(content) {
		// A mapping of YAML may begin like an object of JSON.
		if n, err := f.inJSON(bytes.NewReader(content)); err == nil || n > 0 {
			return err
		}
	}
	if err := withoutAliases(content); err != nil {
		return &malformedError{err}
	}
	var raw rawDocument
	if err := utilyaml.Unmarshal(content, &raw); err != nil {
		return &malformedError{err}
	}
	return f.document(raw, "", "", 0)
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
// no object of a kind that is read is not decoded. item is the number of the content in a list, 0 for none: kubectl
// writes no lists into lists, of which each level would take its content as memory once more.
func (f *folder) document(raw []byte, apiVersion, kind string, item int) error {
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
		if item > 0 {
			return fmt.Errorf("item %d of a list is a list itself", item)
		}
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
		if err := f.document(item, apiVersion, kind, n); err != nil {
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
