// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package acctest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes/scheme"
)

// Until waits until a condition of the cluster holds. If it does not within five minutes,
// the test fails and shows the API server's last answers to the requests of the condition, and
// what else it saw last.
func Until(t testing.TB, what string, holds func(ctx context.Context) (bool, error)) {
	t.Helper()
	if err := untilWithin(t.Context(), patience, holds); err != nil {
		t.Fatalf("waiting until %s: %v", what, err)
	}
}

func untilWithin(ctx context.Context, limit time.Duration, holds func(ctx context.Context) (bool, error)) error {
	waiting, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	last, stop := see(waiting, ctx)
	defer stop()
	if err := wait.PollUntilContextCancel(waiting, often, true, holds); err != nil {
		return fmt.Errorf("%w; seen last:\n%s", err, last)
	}
	return nil
}

// seen holds the last answer to each request of a wait, so that a wait that times out can
// show the state that it timed out in.
type seen struct {
	mu    sync.Mutex
	order []string
	// answers are those to requests, and what was seen otherwise, with no status.
	answers map[string]answer
}

type answer struct {
	status int
	body   []byte
}

// sawLast has the waits under way with a context show what else they saw, such as the end
// of a log: the newest text about each thing.
func sawLast(ctx context.Context, what, text string) {
	if under, waiting := waits.Load(ctx.Done()); waiting {
		if s, ok := under.(*seen); ok {
			s.note(what, answer{body: []byte(text)})
		}
	}
}

// ending is the end of a text that may be long.
func ending(text string) string {
	const most = 2000
	if len(text) > most {
		return "…" + text[len(text)-most:]
	}
	return text
}

// waits are the waits under way, by the channel that ends the contexts of their requests.
// The client derives contexts of its own with the same channel.
var waits sync.Map

// see notes the answers to requests that are made with one of the contexts, until the
// returned function is called.
func see(contexts ...context.Context) (s *seen, stop func()) {
	s = &seen{answers: map[string]answer{}}
	for _, ctx := range contexts {
		waits.Store(ctx.Done(), s)
	}
	return s, func() {
		for _, ctx := range contexts {
			waits.CompareAndDelete(ctx.Done(), s)
		}
	}
}

// seeing is a transport that notes answers for the waits under way.
type seeing struct{ http.RoundTripper }

// RoundTrip sends a request.
func (t seeing) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := t.RoundTripper.RoundTrip(r)
	under, waiting := waits.Load(r.Context().Done())
	if err != nil || !waiting || r.URL.Query().Has("watch") {
		return response, err
	}
	body, err := io.ReadAll(response.Body)
	_ = response.Body.Close()
	response.Body = io.NopCloser(bytes.NewReader(body))
	if s, ok := under.(*seen); ok && err == nil {
		s.note(r.Method+" "+r.URL.RequestURI(), answer{response.StatusCode, body})
	}
	return response, err
}

func (s *seen) note(request string, a answer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.order = append(slices.DeleteFunc(s.order, func(one string) bool { return one == request }), request)
	s.answers[request] = a
}

// String shows the last answers, in the order in which they came.
func (s *seen) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.order) == 0 {
		return "nothing"
	}
	var b strings.Builder
	for _, request := range s.order {
		a := s.answers[request]
		if a.status == 0 {
			fmt.Fprintf(&b, "%s: %s\n", request, a.body)
			continue
		}
		fmt.Fprintf(&b, "%s: %d\n", request, a.status)
		for _, line := range brief(a.body) {
			b.WriteString("  " + line + "\n")
		}
	}
	return b.String()
}

// wordy are the parts of an object that waits are never about.
var wordy = []string{"managedFields", "uid", "creationTimestamp", "template", "containers", "containerStatuses", "volumes", "nodeInfo", "images", "kind", "apiVersion"}

// brief writes the objects of an answer, a line each.
func brief(body []byte) []string {
	// The answer may be protobuf.
	if object, _, err := scheme.Codecs.UniversalDeserializer().Decode(body, nil, nil); err == nil {
		if raw, err := json.Marshal(object); err == nil {
			body = raw
		}
	}
	var object map[string]any
	if json.Unmarshal(body, &object) != nil {
		return []string{shortened(string(body))}
	}
	items, isList := object["items"].([]any)
	if !isList {
		items = []any{object}
	}
	lines := []string{}
	for _, item := range items {
		raw, err := json.Marshal(without(item, wordy))
		if err != nil {
			raw = []byte(err.Error())
		}
		lines = append(lines, shortened(string(raw)))
	}
	if len(items) == 0 {
		return []string{"none"}
	}
	return lines
}

// without leaves fields out of a value, at any depth.
func without(value any, fields []string) any {
	switch value := value.(type) {
	case map[string]any:
		out := map[string]any{}
		for key, v := range value {
			if !slices.Contains(fields, key) {
				out[key] = without(v, fields)
			}
		}
		return out
	case []any:
		out := make([]any, len(value))
		for i := range value {
			out[i] = without(value[i], fields)
		}
		return out
	}
	return value
}

func shortened(line string) string {
	const most = 2000
	if len(line) > most {
		return line[:most] + "…"
	}
	return line
}
