// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package kubectlplugin

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/runtime"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/eviction"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/kube"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/printable"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/tf/message"
)

// exit writes an error as kubectl does, and returns the exit code.
func (p *plugin) exit(err error) int {
	switch {
	case err == nil:
		return 0
	case errors.Is(err, errNo):
		return failed
	case p.unacceptable(err):
		return exceeded
	}
	all := failures{err}
	errors.As(err, &all)
	for _, one := range all {
		fmt.Fprintln(p.ErrOut, standard(one))
	}
	return failed
}

// unacceptable reports whether a preview gives an answer that a script must not go on with, and writes why.
func (p *plugin) unacceptable(err error) bool {
	limits := new(eviction.LimitsError)
	stuck, exceeds := errors.Is(err, errStuck), errors.As(err, &limits)
	if stuck {
		fmt.Fprintln(p.ErrOut, standard(errStuck))
	}
	for _, x := range limits.Exceeded {
		fmt.Fprintln(p.ErrOut, "error: "+excess(limits, x))
	}
	return stuck || exceeds
}

// failures are errors of which each is told.
type failures []error

// Error returns the errors, one a line.
func (f failures) Error() string { return errors.Join(f...).Error() }

// orNil returns nil where there is no error.
func (f failures) orNil() error {
	if len(f) == 0 {
		return nil
	}
	return f
}

// standard words an error as kubectl does: what the API server answered, with its reason, or why no answer
// came (k8s.io/kubectl v0.37.2 pkg/cmd/util/helpers.go, StandardErrorMessage).
func standard(err error) string {
	if status := apierrors.APIStatus(nil); errors.As(err, &status) {
		message := printable.Line(status.Status().Message)
		if status.Status().Reason == metav1.StatusReasonUnauthorized {
			return fmt.Sprintf("error: You must be logged in to the server (%s)", message)
		}
		return fmt.Sprintf("Error from server (%s): %s", status.Status().Reason, message)
	}
	if lost := new(url.Error); errors.As(err, &lost) && !errors.Is(err, kube.ErrReadOnly) && !errors.Is(err, context.Canceled) {
		return unreachable(lost)
	}
	return "error: " + strings.TrimPrefix(err.Error(), "error: ")
}

// unreachable words that a server does not answer.
func unreachable(err *url.Error) string {
	cause := printable.Line(err.Err.Error())
	if !strings.Contains(cause, "connection refused") {
		return "Unable to connect to the server: " + cause
	}
	host := err.URL
	if server, err := url.Parse(host); err == nil {
		host = server.Host
	}
	return "The connection to the server " + host + " was refused - did you specify the right host or port?"
}

// QuietClient keeps client-go from logging errors that it returns as well, for the whole process. Only a
// program calls it, before Run.
func QuietClient() { runtime.ErrorHandlers = nil }

// excess words a limit that is exceeded.
func excess(e *eviction.LimitsError, x eviction.Excess) string {
	verb := "might"
	if x.Certain {
		verb = "would"
	}
	pods, removed := message.Count(x.Count, "pod"), message.Removed(e.Report)
	switch x.Limit {
	case eviction.MaxPending:
		return fmt.Sprintf("%s %s stay Pending, and --max-pending allows %d%s", pods, verb, x.Allowed, message.Uncreated(x))
	case eviction.MaxLost:
		return fmt.Sprintf("%s %s be lost, and --max-lost allows %d", pods, verb, x.Allowed)
	case eviction.Only:
		names := make([]string, len(x.Workloads))
		for i, w := range x.Workloads {
			names[i] = w.String()
		}
		return fmt.Sprintf("%s %s be %s that --only does not list, of %s", pods, verb, removed, message.Some(names))
	}
	return fmt.Sprintf("%s %s be %s%s, and --max-pods allows %d", pods, verb, removed, message.Elsewhere(x), x.Allowed)
}
