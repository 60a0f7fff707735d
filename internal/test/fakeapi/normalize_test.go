// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package fakeapi_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/kubernetes/scheme"
)

var codecs = func() serializer.CodecFactory {
	s := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{scheme.AddToScheme, metav1.AddMetaToScheme} {
		if err := add(s); err != nil {
			panic(err)
		}
	}
	return serializer.NewCodecFactory(s)
}()

// inProtobuf returns an object in JSON as the provider's client would send it.
func inProtobuf(t *testing.T, raw []byte) []byte {
	t.Helper()
	object, _, err := codecs.UniversalDeserializer().Decode(raw, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	info, _ := runtime.SerializerInfoForMediaType(codecs.SupportedMediaTypes(), runtime.ContentTypeProtobuf)
	out, err := runtime.Encode(info.Serializer, object)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// normalizer replaces what differs from run to run by what is the same in each, within one
// scenario: versions and UIDs by their order, times and tokens by words.
type normalizer struct {
	suffix string
	// seen has the version and the UID of each object at last, by its name.
	seen       map[string]map[string]string
	more, list string
	uids, rvs  []string
	// names are replaced: each one by that after it.
	names []string
}

func newNormalizer(suffix string) *normalizer {
	return &normalizer{suffix: suffix, seen: map[string]map[string]string{}}
}

var (
	tooOld = regexp.MustCompile(`too old resource version: \d+ \(\d+\)`)
	moment = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z`)
	uuids  = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)
)

// body returns the body of an answer, or the object of an event, as one line.
func (n *normalizer) body(t *testing.T, s step, contentType string, raw []byte) string {
	t.Helper()
	media, _, _ := strings.Cut(contentType, ";")
	switch media {
	case runtime.ContentTypeProtobuf:
		object, _, err := codecs.UniversalDeserializer().Decode(raw, nil, nil)
		if err != nil {
			t.Fatalf("%s: %s", s.line, err)
		}
		if raw, err = json.Marshal(object); err != nil {
			t.Fatalf("%s: %s", s.line, err)
		}
	case runtime.ContentTypeJSON:
	default:
		return n.words(string(raw))
	}
	var fields map[string]any
	if err := json.Unmarshal(raw, &fields); err != nil {
		t.Fatalf("%s: %s: %s", s.line, err, raw)
	}
	mask(fields, s.options["show"])
	n.metadata(fields, fields["items"] != nil || strings.HasSuffix(fmt.Sprint(fields["kind"]), "List"))
	if items, is := fields["items"].([]any); is {
		for _, item := range items {
			if item, is := item.(map[string]any); is {
				mask(item, "")
				n.metadata(item, false)
			}
		}
	}
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	if err := e.Encode(fields); err != nil {
		t.Fatal(err)
	}
	return n.words(out.String())
}

// metadata takes down and replaces versions and UIDs.
func (n *normalizer) metadata(fields map[string]any, list bool) {
	meta, is := fields["metadata"].(map[string]any)
	if !is {
		return
	}
	version, _ := meta["resourceVersion"].(string)
	name := strings.TrimSuffix(strings.ReplaceAll(fmt.Sprint(meta["name"]), n.suffix, suffix), "-"+suffix)
	if more, _ := meta["continue"].(string); more != "" {
		n.more, meta["continue"] = more, "more"
	}
	switch {
	case list || meta["name"] == nil:
		// That of the whole store: others write as well.
		if version != "" {
			n.list, meta["resourceVersion"] = version, "now"
		}
		return
	case version != "":
		i := slices.Index(n.rvs, version)
		if i < 0 {
			n.rvs = append(n.rvs, version)
			i = len(n.rvs) - 1
		}
		meta["resourceVersion"] = fmt.Sprintf("v%d", i+1)
	}
	if n.seen[name] == nil {
		n.seen[name] = map[string]string{}
	}
	if version != "" {
		n.seen[name]["rv"] = version
	}
	if uid, _ := meta["uid"].(string); uid != "" {
		n.seen[name]["uid"] = uid
	}
}

// words replaces what can be anywhere in a text.
func (n *normalizer) words(text string) string {
	text = tooOld.ReplaceAllString(text, "too old resource version: OLD (NOW)")
	text = moment.ReplaceAllString(text, "TIME")
	text = uuids.ReplaceAllStringFunc(text, func(uid string) string {
		i := slices.Index(n.uids, uid)
		if i < 0 {
			n.uids = append(n.uids, uid)
			i = len(n.uids) - 1
		}
		return fmt.Sprintf("uid-%d", i+1)
	})
	for i, version := range n.rvs {
		text = strings.ReplaceAll(text, "("+version+")", fmt.Sprintf("(v%d)", i+1))
	}
	for i := 0; i+1 < len(n.names); i += 2 {
		text = strings.ReplaceAll(text, n.names[i], n.names[i+1])
	}
	text = strings.ReplaceAll(text, n.suffix, suffix)
	return strings.TrimRight(text, "\n") + "\n"
}

// mask takes out what the fake does not have and no caller reads, each with its reason.
func mask(fields map[string]any, show string) {
	switch fields["kind"] {
	case "SelfSubjectRulesReview":
		maskRules(fields)
	case "APIGroupDiscoveryList":
		maskDiscovery(fields)
	}
	if show != "" {
		keep := strings.Split(show, ",")
		maps.DeleteFunc(fields, func(name string, _ any) bool { return !slices.Contains(keep, name) })
	}
	meta, is := fields["metadata"].(map[string]any)
	if !is {
		return
	}
	// The writers of fields: the provider reads them only on objects of others.
	delete(meta, "managedFields")
	if annotations, is := meta["annotations"].(map[string]any); is {
		// A count that only kubectl of old read.
		delete(annotations, "deprecated.daemonset.template.generation")
		if len(annotations) == 0 {
			delete(meta, "annotations")
		}
	}
}

// maskRules leaves out the rights that all users have.
func maskRules(fields map[string]any) {
	status, is := fields["status"].(map[string]any)
	if !is {
		return
	}
	delete(status, "nonResourceRules")
	rules, _ := status["resourceRules"].([]any)
	status["resourceRules"] = slices.DeleteFunc(rules, func(rule any) bool {
		groups := fmt.Sprint(rule.(map[string]any)["apiGroups"])
		return groups == "[authorization.k8s.io]" || groups == "[authentication.k8s.io]" || groups == "[certificates.k8s.io]"
	})
}

// maskDiscovery leaves out what the fake does not serve, and all but what a RESTMapper
// reads.
func maskDiscovery(fields map[string]any) {
	served := servedResources()
	items := []any{}
	for _, g := range list(fields["items"]) {
		group, _ := g["metadata"].(map[string]any)["name"].(string)
		versions := []any{}
		for _, v := range list(g["versions"]) {
			resources := []any{}
			for _, r := range list(v["resources"]) {
				if served[fmt.Sprint(group, "/", v["version"], "/", r["resource"])] {
					resources = append(resources, map[string]any{"resource": r["resource"], "scope": r["scope"], "singularResource": r["singularResource"], "responseKind": r["responseKind"]})
				}
			}
			if len(resources) > 0 {
				versions = append(versions, map[string]any{"version": v["version"], "resources": resources, "freshness": v["freshness"]})
			}
		}
		if len(versions) > 0 {
			items = append(items, map[string]any{"metadata": map[string]any{"name": group}, "versions": versions})
		}
	}
	slices.SortFunc(items, func(a, b any) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
	fields["items"] = items
}

func list(value any) []map[string]any {
	var out []map[string]any
	elements, _ := value.([]any)
	for _, e := range elements {
		if one, is := e.(map[string]any); is {
			out = append(out, one)
		}
	}
	return out
}
