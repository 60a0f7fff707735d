// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package kube

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"google.golang.org/protobuf/encoding/protowire"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/bigcluster"
)

func usualPods(count int) *corev1.PodList {
	list := &corev1.PodList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PodList"}, ListMeta: metav1.ListMeta{ResourceVersion: "7", Continue: "next"}}
	for i := range count {
		list.Items = append(list.Items, *bigcluster.Pod(i, 2))
	}
	return list
}

// TestPodPage_ofAnAnswerThatArrivesInParts: however an answer arrives, its pods are the same.
func TestPodPage_ofAnAnswerThatArrivesInParts(t *testing.T) {
	t.Parallel()
	list := usualPods(20)
	asJSON, err := json.Marshal(list)
	if err != nil {
		t.Fatal(err)
	}
	inProtobuf := encoded(t, list)
	// A content that comes twice counts as the last one.
	_, envelope, _ := bytes.Cut(encoded(t, usualPods(3)), protobufPrefix)
	for name, from := range map[string]io.Reader{
		"protobuf":               bytes.NewReader(inProtobuf),
		"protobuf, byte by byte": iotest.OneByteReader(bytes.NewReader(inProtobuf)),
		"protobuf, halved":       iotest.HalfReader(bytes.NewReader(inProtobuf)),
		"protobuf, twice":        bytes.NewReader(slices.Concat(protobufPrefix, envelope, inProtobuf[len(protobufPrefix):])),
		"JSON":                   bytes.NewReader(asJSON),
		"JSON, byte by byte":     iotest.OneByteReader(bytes.NewReader(asJSON)),
	} {
		page := &podPage{slim: newSlimmer()}
		if err := page.read(from); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if len(page.Items) != 20 || page.ResourceVersion != "7" || page.Continue != "next" || page.Items[19].Name != list.Items[19].Name || page.Items[19].Node != list.Items[19].Spec.NodeName {
			t.Errorf("%s: %d pods of version %q, the last one %v", name, len(page.Items), page.ResourceVersion, page.Items)
		}
	}
}

// TestPodPage_ofAnAnswerThatIsCutOff: the request is sent again, as none of it counts.
func TestPodPage_ofAnAnswerThatIsCutOff(t *testing.T) {
	t.Parallel()
	list := usualPods(2)
	asJSON, err := json.Marshal(list)
	if err != nil {
		t.Fatal(err)
	}
	for name, answer := range map[string][]byte{"protobuf": encoded(t, list), "JSON": asJSON} {
		// The last bytes of an envelope follow its content, and have no meaning.
		for end := 0; end < len(answer)-8; end += 1 + end/64 {
			if err := (&podPage{slim: newSlimmer()}).read(bytes.NewReader(answer[:end])); !transient(err) {
				t.Fatalf("%s: after %d of %d bytes the error is %v", name, end, len(answer), err)
			}
		}
		lost := errors.New("lost")
		for _, end := range []int{0, 2, 100, len(answer) - 9} {
			if err := (&podPage{slim: newSlimmer()}).read(io.MultiReader(bytes.NewReader(answer[:end]), iotest.ErrReader(lost))); !errors.Is(err, lost) {
				t.Errorf("%s: an error after %d bytes is told as %v", name, end, err)
			}
		}
	}
}

// TestPodPage_ofSomethingElse: an answer that is no list of pods is an error, and a length that is made up
// takes no memory.
func TestPodPage_ofSomethingElse(t *testing.T) {
	t.Parallel()
	huge := protowire.AppendVarint(protowire.AppendTag(slices.Clone(protobufPrefix), 2, protowire.BytesType), 1<<39)
	huge = protowire.AppendVarint(protowire.AppendTag(huge, 2, protowire.BytesType), 1<<38)
	for name, tt := range map[string]struct {
		answer []byte
		says   string
	}{
		"an object in JSON":                  {[]byte(`{"a":1}`), `the answer is a ""`},
		"null":                               {[]byte(`null`), `the answer is a ""`},
		"an error of a proxy":                {[]byte(`{"error":"login required"}`), `the answer is a ""`},
		"a failure in JSON":                  {[]byte(`{"kind":"Status","apiVersion":"v1","status":"Failure","code":502,"message":"bad gateway"}`), "bad gateway"},
		"a list of another kind in JSON":     {[]byte(`{"kind":"NodeList","apiVersion":"v1","metadata":{"resourceVersion":"1"},"items":[]}`), `the answer is a "NodeList"`},
		"another kind":                       {encoded(t, &metav1.Status{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}}), `the answer is a "Status"`},
		"a page of a proxy":                  {[]byte("<html>"), "invalid character"},
		"nothing":                            {nil, "EOF"},
		"a pod that is longer than its list": {slices.Concat(protobufPrefix, []byte{0x12, 2, 0x12, 9}), "it has 9 bytes, of which 0 are there"},
		"a pod that never ends":              {huge, "EOF"},
		"a field without a number":           {slices.Concat(protobufPrefix, []byte{0x02, 0}), "field 0"},
		"a group":                            {slices.Concat(protobufPrefix, []byte{0x0b}), "read a field of a protobuf message"},
	} {
		if err := (&podPage{slim: newSlimmer()}).read(bytes.NewReader(tt.answer)); err == nil || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%s: %v, want %q", name, err, tt.says)
		}
	}
}

// TestPodPage_keepsPodsApartWhoseSpecHasChanged: pods of equal specs share what was read, and one of them may have been
// resized.
func TestPodPage_keepsPodsApartWhoseSpecHasChanged(t *testing.T) {
	t.Parallel()
	list := &corev1.PodList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PodList"}}
	for _, generation := range []int64{1, 2, 1, 3} {
		p := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web", Generation: generation}}
		p.Spec.Containers = []corev1.Container{{Name: "c", Resources: corev1.ResourceRequirements{Requests: quantities("cpu", "3")}}}
		list.Items = append(list.Items, p)
	}
	asJSON, err := json.Marshal(list)
	if err != nil {
		t.Fatal(err)
	}
	for name, answer := range map[string][]byte{"protobuf": encoded(t, list), "JSON": asJSON} {
		page := &podPage{slim: newSlimmer()}
		if err := page.read(bytes.NewReader(answer)); err != nil {
			t.Fatal(err)
		}
		var got []bool
		for _, p := range page.Items {
			got = append(got, p.Demand.Resized)
		}
		if !slices.Equal(got, []bool{false, true, false, true}) {
			t.Errorf("%s: %v", name, got)
		}
	}
}
