// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package kube

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/url"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	utilnet "k8s.io/apimachinery/pkg/util/net"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/printable"
)

// The classes of errors. Callers decide with errors.Is; the text is the
// original error's.
var (
	ErrNotFound     = errors.New("not found")
	ErrConflict     = errors.New("changed by another writer at the same time")
	ErrForbidden    = errors.New("no permission")
	ErrUnauthorized = errors.New("credentials not accepted")
	ErrInvalid      = errors.New("rejected by the API server")
	ErrUnreachable  = errors.New("out of reach")
)

// Error is an error of a request, with its class.
type Error struct {
	Class error
	// Doing reports what was tried, such as "list pods".
	Doing string
	Err   error
}

// Error returns what was tried and the original error.
func (e *Error) Error() string {
	return e.Doing + ": " + e.Err.Error()
}

// Unwrap makes errors.Is work for the class and for the original error.
func (e *Error) Unwrap() []error {
	return []error{e.Class, e.Err}
}

// OutOfReach reports that an error tells nothing about the objects: the cluster
// did not answer, or not to these credentials. State must be kept then.
func OutOfReach(err error) bool {
	return errors.Is(err, ErrUnreachable) || errors.Is(err, ErrUnauthorized)
}

// wrap gives an error its class. Nil stays nil; an error of the context stays
// what it is.
func wrap(doing string, err error) error {
	if err == nil || errors.Is(err, context.Canceled) {
		return err
	}
	if known := new(Error); errors.As(err, &known) {
		return err
	}
	err = oneLine{err}
	if overdue(err) && !unanswered(err) {
		err = fmt.Errorf("%w (%w)", context.DeadlineExceeded, err)
	}
	if class := classify(err); class != nil {
		return &Error{Class: class, Doing: doing, Err: err}
	}
	return fmt.Errorf("%s: %w", doing, err)
}

// oneLine prints an error on one line: servers, webhooks and commands choose its text.
type oneLine struct{ error }

// Error returns the text of the error.
func (e oneLine) Error() string { return printable.Line(e.error.Error()) }

// Unwrap returns the error.
func (e oneLine) Unwrap() error { return e.error }

// overdue reports that the client did not send a request because the time would be
// over before the answer. Its rate limiter says so in words alone
// (golang.org/x/time/rate, Limiter.WaitN), and a moment before the context ends.
func overdue(err error) bool {
	return strings.Contains(err.Error(), "would exceed context deadline")
}

func classify(err error) error {
	switch {
	case apierrors.IsNotFound(err):
		return ErrNotFound
	case apierrors.IsConflict(err), apierrors.IsAlreadyExists(err):
		return ErrConflict
	case apierrors.IsForbidden(err):
		if denied(err) {
			return ErrInvalid
		}
		return ErrForbidden
	case apierrors.IsUnauthorized(err):
		return ErrUnauthorized
	case apierrors.IsInvalid(err), apierrors.IsBadRequest(err):
		return ErrInvalid
	case transient(err), Unusable(err):
		return ErrUnreachable
	}
	return nil
}

// denied reports whether an admission webhook or policy refused a request with the status
// of missing rights: that is what webhooks answer unless they name another one
// (k8s.io/apiserver v0.37.2 pkg/admission/plugin/webhook/errors/statuserror.go,
// ToStatusErr, and pkg/admission/plugin/policy/validating/dispatcher.go). The text alone
// tells them apart.
func denied(err error) bool {
	text := err.Error()
	return strings.Contains(text, "admission webhook ") && strings.Contains(text, " denied the request") ||
		strings.Contains(text, "ValidatingAdmissionPolicy '") && strings.Contains(text, " denied request: ")
}

// Unusable reports that no connection comes about however often it is tried: the
// server's certificate is not trusted, or the command that prints credentials
// fails.
func Unusable(err error) bool {
	certificate := new(tls.CertificateVerificationError)
	return errors.As(err, &certificate) || strings.Contains(err.Error(), "getting credentials: ")
}

// transient reports that the same request may succeed a moment later: the server
// is overloaded, restarting, or the connection broke.
func transient(err error) bool {
	if err == nil || Unusable(err) || errors.Is(err, ErrReadOnly) {
		return false
	}
	if apierrors.IsTooManyRequests(err) || apierrors.IsInternalError(err) || apierrors.IsServiceUnavailable(err) ||
		apierrors.IsServerTimeout(err) || apierrors.IsTimeout(err) {
		return true
	}
	// An answer that is no Status, such as "404 page not found" for a kind that is not served,
	// tells by its code alone.
	if status := apierrors.APIStatus(nil); errors.As(err, &status) {
		return status.Status().Code >= 500
	}
	return broken(err) || unanswered(err) || errors.Is(err, context.DeadlineExceeded)
}

// broken reports that the connection did not come about, or was cut.
func broken(err error) bool {
	cut := new(url.Error)
	// IsProbableEOF does not see the end that client-go wraps where an answer's body breaks
	// off (rest/request.go, transformResponse).
	return errors.As(err, &cut) || utilnet.IsConnectionRefused(err) || utilnet.IsConnectionReset(err) ||
		utilnet.IsProbableEOF(err) || errors.Is(err, io.ErrUnexpectedEOF) || utilnet.IsHTTP2ConnectionLost(err)
}

// names lists a map's keys for a message.
func names[T any](m map[string]T) string {
	if len(m) == 0 {
		return "none"
	}
	quoted := make([]string, 0, len(m))
	for _, name := range slices.Sorted(maps.Keys(m)) {
		quoted = append(quoted, fmt.Sprintf("%q", name))
	}
	return strings.Join(quoted, ", ")
}
