// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package fakeapi

import (
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// passing is what differs between two runs that do the same: uids, versions and times.
var passing = regexp.MustCompile(`00000000-0000-4000-8000-\d{12}|"resourceVersion":"\d+"|\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z`)

// texts holds the texts of objects for Fingerprint. Clones share it: stored objects are never
// changed, and most are the same in all of them.
type texts struct{ of sync.Map }

func (t *texts) text(o runtime.Object) string {
	if known, is := t.of.Load(o); is {
		return known.(string) //nolint:forcetypeassert // The next lines store nothing else.
	}
	raw, err := json.Marshal(o)
	if err != nil {
		panic(err) // Stored objects were read as JSON or are of Kubernetes' types.
	}
	text := string(passing.ReplaceAll(raw, nil)) + "\n"
	t.of.Store(o, text)
	return text
}

// Fingerprint returns all objects as text, without uids, versions and times. Whoever asks
// nothing but the server goes on from two servers of one fingerprint alike.
func (s *Server) Fingerprint() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var b strings.Builder
	resources := slices.SortedFunc(maps.Keys(s.store.objects), func(x, y schema.GroupVersionResource) int { return strings.Compare(x.String(), y.String()) })
	for _, r := range resources {
		for _, o := range s.store.list(r, "") {
			b.WriteString(s.texts.text(o))
		}
	}
	return b.String()
}
