// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package fakeapi_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/golden"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/fakeapi"
)

const goldenFile = "conformance.golden"

// The golden file has the answers of the real API server: TestAccFakeAPI_answersAsRecorded
// compares them, and writes them with -update.
func TestConformance_fakeAnswersLikeTheAPIServer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		compare(t, recorded(t, goldenFile), run(t, fakeSide()))
	})
}

// The kinds of requests that the scripts have are listed in a file: an acceptance test whose
// provider sends another one fails.
func TestConformance_kindsOfRequestsAreListed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, kinds := fakeSide(), &sent{kinds: map[string]bool{}}
		kinds.RoundTripper, s.transport, s.anonymous = s.transport, kinds, kinds
		run(t, s)
		delete(kinds.kinds, "")
		golden.Check(t, "requests.txt", strings.Join(slices.Sorted(maps.Keys(kinds.kinds)), "\n")+"\n")
	})
}

// sent notes the kinds of requests that are sent.
type sent struct {
	http.RoundTripper
	kinds map[string]bool
}

func (s *sent) RoundTrip(r *http.Request) (*http.Response, error) {
	s.kinds[fakeapi.RequestKind(r.Method, r.URL)] = true
	return s.RoundTripper.RoundTrip(r)
}

// block is a part of a record: the title of a scenario, or a step of it and its answer.
type block struct {
	title string
	step  step
	text  string
}

// text returns blocks as they are recorded in a golden file.
func text(blocks []block) string {
	var out strings.Builder
	for _, b := range blocks {
		out.WriteString(b.text + "\n\n")
	}
	return out.String()
}

// recorded returns the texts of the blocks in a golden file.
func recorded(t *testing.T, file string) []string {
	t.Helper()
	record, err := os.ReadFile(filepath.Join("testdata", file))
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSuffix(string(record), "\n\n"), "\n\n")
}

// compare reports each step that is answered in another way than recorded.
func compare(t *testing.T, recorded []string, got []block) {
	t.Helper()
	if len(recorded) != len(got) {
		t.Errorf("%d steps are recorded and %d were made: run TestAccFakeAPI_answersAsRecorded with -update", len(recorded), len(got))
	}
	for i := range min(len(recorded), len(got)) {
		if recorded[i] != got[i].text {
			t.Errorf("%s\nthe API server:\n%s\nthe fake:\n%s", got[i].title, recorded[i], got[i].text)
		}
	}
}

// customKinds are those that the scripts use.
func customKinds() []fakeapi.Kind {
	return []fakeapi.Kind{
		fakeapi.CustomKind("machine.openshift.io/v1beta1", "Machine", "machines"),
		fakeapi.CustomKind("machine.openshift.io/v1beta1", "MachineSet", "machinesets"),
		fakeapi.CustomKind("conformance.kubetaint.io/v1", "Widget", "widgets"),
	}
}

// namespaces are those that the scripts work in.
var namespaces = []string{"shop-" + suffix, "back-" + suffix}

func fakeSide() *side {
	server := fakeapi.New(customKinds()...)
	for _, name := range namespaces {
		server.Add(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})
	}
	return &side{
		transport: server.Client(), host: fakeapi.Host, suffix: suffix, version: played, compact: server.Compact, anonymous: server.Client(),
		account: func(name string, rules []rbacv1.PolicyRule) (string, string) {
			return server.Account(name, rules...), name
		},
	}
}

// servedResources are those of the fake, as GROUP/VERSION/PLURAL.
func servedResources() map[string]bool {
	out := map[string]bool{}
	for _, r := range fakeapi.New(customKinds()...).Resources() {
		out[r.Group+"/"+r.Version+"/"+r.Resource] = true
	}
	return out
}

// side is one of the two servers that answer a script.
type side struct {
	// transport has all rights; anonymous sends the token of a request.
	transport, anonymous http.RoundTripper
	host, suffix         string
	// version is that of Kubernetes, such as 1.37.
	version string
	compact func()
	// account makes an account, and returns its token and its full name.
	account func(name string, rules []rbacv1.PolicyRule) (token, user string)
}

// run carries all scripts out and returns the answers.
func run(t *testing.T, s *side) []block {
	t.Helper()
	var out []block
	for _, sc := range scripts(t) {
		title := "== " + sc.title
		out = append(out, block{title: title, text: title})
		p := &play{side: s, watches: map[string]*watching{}, tokens: map[string]string{}, n: newNormalizer(s.suffix)}
		for _, st := range sc.steps {
			answer := "> " + st.line + "\n" + p.carryOut(t, st)
			out = append(out, block{title: title, step: st, text: strings.TrimSuffix(answer, "\n")})
		}
		p.stopAll()
	}
	return out
}

// play is one scenario being carried out.
type play struct {
	*side
	n       *normalizer
	watches map[string]*watching
	tokens  map[string]string
}

func (p *play) carryOut(t *testing.T, s step) string {
	t.Helper()
	if use := p.unknown(s); use != "" && s.mark.before(p.version) {
		return "< left out: no answer had an object for " + use + "\n"
	}
	switch s.method {
	case "COMPACT":
		p.compact()
		return ""
	case "ACCOUNT":
		var rules []rbacv1.PolicyRule
		if err := json.Unmarshal([]byte(s.body), &rules); err != nil {
			t.Fatalf("%s: %s", s.line, err)
		}
		token, user := p.account(s.args[0], rules)
		p.tokens[s.args[0]] = token
		p.n.names = append(p.n.names, user, s.args[0])
		return ""
	case "WATCH":
		return p.begin(t, s)
	case "EVENTS", "END":
		return p.events(t, s)
	case "STOP":
		p.watches[s.args[0]].cancel()
		return ""
	}
	resp := p.send(t, t.Context(), s, s.args[0])
	defer func() { _ = resp.Body.Close() }()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatalf("%s: %s", s.line, err)
	}
	return p.head(resp) + p.n.body(t, s, resp.Header.Get("Content-Type"), raw)
}

// head is the status of an answer, and the headers that clients heed.
func (p *play) head(resp *http.Response) string {
	media, _, _ := strings.Cut(resp.Header.Get("Content-Type"), ";")
	out := fmt.Sprintf("< %d %s", resp.StatusCode, media)
	if after := resp.Header.Get("Retry-After"); after != "" {
		out += " Retry-After: " + after
	}
	return out + "\n"
}

// accepts and contents are the media types that scripts name.
var (
	accepts = map[string]string{
		"":          "application/json",
		"proto":     runtime.ContentTypeProtobuf + ",application/json",
		"meta":      "application/vnd.kubernetes.protobuf;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json",
		"metaone":   "application/vnd.kubernetes.protobuf;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json",
		"metajson":  "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json",
		"discovery": "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json",
		"nothing":   "text/nothing",
	}
	contents = map[string]string{
		"": "application/json", "proto": runtime.ContentTypeProtobuf, "merge": "application/merge-patch+json",
		"strategic": "application/strategic-merge-patch+json", "json": "application/json-patch+json", "text": "text/plain",
	}
	variable = regexp.MustCompile(`\$(rv|uid)\(([^)]+)\)`)
)

// unknown returns the first variable of a step whose object no answer has had.
func (p *play) unknown(s step) string {
	for _, use := range variable.FindAllStringSubmatch(s.line+s.body, -1) {
		if p.n.seen[use[2]] == nil {
			return use[0]
		}
	}
	return ""
}

// fill puts what is known by now into a text of the script.
func (p *play) fill(t *testing.T, text string) string {
	t.Helper()
	text = variable.ReplaceAllStringFunc(text, func(use string) string {
		parts := variable.FindStringSubmatch(use)
		known := p.n.seen[parts[2]]
		if known == nil {
			t.Fatalf("%s: no answer had such an object", use)
		}
		return known[parts[1]]
	})
	text = strings.ReplaceAll(text, "$more", p.n.more)
	text = strings.ReplaceAll(text, "$list", p.n.list)
	return strings.ReplaceAll(text, suffix, p.suffix)
}

// send sends the request of a step.
func (p *play) send(t *testing.T, ctx context.Context, s step, path string) *http.Response {
	t.Helper()
	method := s.method
	if method == "WATCH" {
		method = http.MethodGet
	}
	body := []byte(p.fill(t, s.body))
	if s.options["type"] == "proto" {
		body = inProtobuf(t, body)
	}
	r, err := http.NewRequestWithContext(ctx, method, p.host+p.fill(t, path), bytes.NewReader(body))
	if err != nil {
		t.Fatalf("%s: %s", s.line, err)
	}
	r.Header.Set("Accept", accepts[s.options["accept"]])
	if len(body) > 0 {
		r.Header.Set("Content-Type", contents[s.options["type"]])
	}
	transport := p.transport
	if as := s.options["as"]; as != "" {
		transport = p.anonymous
		token, known := p.tokens[as]
		if !known {
			token = "of-nobody"
		}
		r.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := transport.RoundTrip(r)
	if err != nil {
		t.Fatalf("%s: %s", s.line, err)
	}
	return resp
}

func (p *play) stopAll() {
	for w := range maps.Values(p.watches) {
		w.cancel()
	}
}
