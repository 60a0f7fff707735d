// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package kube

import (
	"context"
	"errors"
	"io"
	"net/http"
	"sync/atomic"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/pager"
)

const (
	// firstPage is how many objects the first page of a list may have, of which nothing is
	// known yet. Most lists have no second one.
	firstPage = 1000
	// pageSize is how many a page may have at most: enough for few requests, and for pods of
	// the usual 7 KB close to pageBytes.
	pageSize = 2000
	// pageBytes is how many bytes pages should have: a slow server must answer each within requestTimeout.
	// Smaller ones save no memory: see docs/adr/013-no-reflector.md.
	pageBytes = 16 << 20
	// smallestPage is where pages of a server that does not answer in time end to become smaller.
	smallestPage = 100
)

// pageLimit is how many objects the next page of a list may have.
type pageLimit int64

// after returns the limit that follows a page of so many objects and bytes, neither of which need
// be known, or an error of one.
func (l pageLimit) after(objects int, bytes int64, err error) pageLimit {
	switch {
	case unanswered(err) || errors.Is(err, context.DeadlineExceeded) || apierrors.IsTimeout(err) || apierrors.IsServerTimeout(err):
		return max(l/2, smallestPage)
	case err != nil || objects == 0 || bytes == 0:
		return l
	}
	return pageLimit(max(min(int64(objects)*pageBytes/bytes, pageSize), smallestPage))
}

// paged lists pages whose size follows what the pages before have shown. A page that fails for a moment
// is asked for again, and not all before it. A list that may go on does so with the rest as it is now, where its
// continuation has expired.
func paged(p retryPolicy, goesOn bool, list pager.ListPageFunc) pager.ListPageFunc {
	limit := pageLimit(firstPage)
	ask := func(ctx context.Context, opts metav1.ListOptions) (page runtime.Object, err error) {
		err = p.do(ctx, bounded(func(ctx context.Context) error {
			var bytes atomic.Int64
			opts.Limit = int64(limit)
			one, err := list(context.WithValue(ctx, bytesKey{}, &bytes), opts)
			objects := 0
			if err == nil {
				page, objects = one, meta.LenList(one)
			}
			limit = limit.after(objects, bytes.Load(), err)
			return err
		}))
		return page, err
	}
	return func(ctx context.Context, opts metav1.ListOptions) (runtime.Object, error) {
		page, err := ask(ctx, opts)
		if rest := restOf(err); goesOn && rest != "" {
			opts.Continue = rest
			return ask(ctx, opts)
		}
		return page, err
	}
}

// restOf returns the continuation that an API server offers in place of one that has expired, "" for none
// (k8s.io/apiserver v0.37.2 pkg/storage/etcd3/errors.go, handleCompactedErrorForPaging).
func restOf(err error) string {
	status := apierrors.APIStatus(nil)
	if !apierrors.IsResourceExpired(err) || !errors.As(err, &status) {
		return ""
	}
	return status.Status().Continue
}

// bytesKey is where a request's context keeps the counter of what is read of its answer.
type bytesKey struct{}

// counting counts what is read of the answer to a request, without compression, where its context
// has a counter.
type counting struct {
	http.RoundTripper
}

// RoundTrip sends a request.
func (t counting) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := t.RoundTripper.RoundTrip(r)
	if counter, wanted := r.Context().Value(bytesKey{}).(*atomic.Int64); wanted && err == nil {
		resp.Body = countedBody{resp.Body, counter}
	}
	return resp, err
}

type countedBody struct {
	io.ReadCloser
	counter *atomic.Int64
}

// Read reads and counts.
func (b countedBody) Read(into []byte) (int, error) {
	n, err := b.ReadCloser.Read(into)
	b.counter.Add(int64(n))
	return n, err
}
