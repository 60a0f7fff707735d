// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package kube

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestPageLimit_after(t *testing.T) {
	t.Parallel()
	timeout := apierrors.NewServerTimeout(schema.GroupResource{Resource: "pods"}, "list", 1)
	for name, tt := range map[string]struct {
		limit   pageLimit
		objects int
		bytes   int64
		err     error
		want    pageLimit
	}{
		"pods of 7 KB":                            {firstPage, 1000, 7_000_000, nil, pageSize},
		"pods of 20 KB":                           {firstPage, 1000, 20_000_000, nil, 838},
		"objects of half a megabyte":              {firstPage, 1000, 500_000_000, nil, smallestPage},
		"tiny objects":                            {firstPage, 1000, 100_000, nil, pageSize},
		"small pages grow":                        {150, 150, 1_500_000, nil, 1677},
		"an empty page tells nothing":             {firstPage, 0, 200, nil, firstPage},
		"bytes that are not known":                {firstPage, 1000, 0, nil, firstPage},
		"a server that does not answer in time":   {pageSize, 0, 0, timeout, 1000},
		"an answer that does not end in time":     {1000, 0, 9_000_000, fmt.Errorf("read: %w", context.DeadlineExceeded), 500},
		"a small page that does not come in time": {smallestPage, 0, 0, timeout, smallestPage},
		"another failure":                         {pageSize, 0, 0, errors.New("reset"), pageSize},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := tt.limit.after(tt.objects, tt.bytes, tt.err); got != tt.want {
				t.Errorf("the next page may have %d objects, want %d", got, tt.want)
			}
		})
	}
}

// TestPaged_aPageThatFailsIsAskedForAgainAlone: a list of many pages on a slow server goes on where it is.
func TestPaged_aPageThatFailsIsAskedForAgainAlone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var asked []string
		late := 2
		list := func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			asked = append(asked, fmt.Sprintf("%s/%d", o.Continue, o.Limit))
			switch {
			case o.Continue == "":
				return page("5", "second", "n1"), nil
			case late > 0:
				late--
				<-ctx.Done()
				return nil, ctx.Err()
			}
			return page("5", "", "n2"), nil
		}
		var names []string
		start := time.Now()
		err := pages(t.Context(), reading, false, list, func() { names = nil }, func(o runtime.Object) error {
			node, _ := o.(*corev1.Node)
			names = append(names, node.Name)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if want := []string{"n1", "n2"}; !slices.Equal(names, want) {
			t.Errorf("listed %v, want %v", names, want)
		}
		if want := []string{"/1000", "second/1000", "second/500", "second/250"}; !slices.Equal(asked, want) {
			t.Errorf("asked for %v, want %v", asked, want)
		}
		if spent := time.Since(start); spent > 2*requestTimeout+5*time.Second {
			t.Errorf("it took %s", spent)
		}
	})
}

// TestPages_goOnWhereTheirContinuationExpires: an API server offers the rest as it is by then. A list that
// counts objects begins anew all the same.
func TestPages_goOnWhereTheirContinuationExpires(t *testing.T) {
	t.Parallel()
	offered := apierrors.NewResourceExpired("the provided continue parameter is too old")
	offered.ErrStatus.Continue = "rest"
	for name, tc := range map[string]struct {
		goesOn  bool
		expired error
		want    string
		asked   []string
	}{
		"each object counts by itself": {true, offered, "n1 n2", []string{"", "second", "rest"}},
		"objects are counted":          {false, offered, "n1 n2", []string{"", "second", "", "second"}},
		"the server offers nothing":    {true, apierrors.NewResourceExpired("too old"), "n1 n2", []string{"", "second", "", "second"}},
		"another error":                {true, apierrors.NewBadRequest("wrong"), "n1", []string{"", "second"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var asked, names []string
			expired := false
			list := func(_ context.Context, o metav1.ListOptions) (runtime.Object, error) {
				asked = append(asked, o.Continue)
				switch {
				case o.Continue == "":
					return page("5", "second", "n1"), nil
				case !expired:
					expired = true
					return nil, tc.expired
				}
				return page("6", "", "n2"), nil
			}
			err := pages(t.Context(), reading, tc.goesOn, list, func() { names = nil }, func(o runtime.Object) error {
				node, _ := o.(*corev1.Node)
				names = append(names, node.Name)
				return nil
			})
			if got := strings.Join(names, " "); got != tc.want || (err == nil) != (tc.want == "n1 n2") {
				t.Errorf("listed %s: %v", got, err)
			}
			if !slices.Equal(asked, tc.asked) {
				t.Errorf("asked for %q, want %q", asked, tc.asked)
			}
		})
	}
}

func TestCounting_readsWhatTheAnswerHas(t *testing.T) {
	t.Parallel()
	const size = 300_000
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"` + strings.Repeat("1", size) + `"},"items":[]}`))
	}))
	t.Cleanup(server.Close)
	c, err := New(Config{Host: server.URL, Token: "t"})
	if err != nil {
		t.Fatal(err)
	}
	var bytes atomic.Int64
	_, err = c.client.core.Pods("").List(context.WithValue(t.Context(), bytesKey{}, &bytes), metav1.ListOptions{})
	if got := bytes.Load(); err != nil || got < size || got > size+200 {
		t.Errorf("%d bytes were counted, want a little more than %d (%v)", got, size, err)
	}
}
