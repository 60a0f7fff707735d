// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net/http"
	"time"
)

const (
	// startTimeout is generous, a start takes seconds on an idle machine.
	startTimeout = 2 * time.Minute
	// pollEvery is short, since each wait is on the way to the first test.
	pollEvery = 25 * time.Millisecond
	// maxFailures is how often a component may die while the cluster starts.
	maxFailures = 3
)

// probe asks whether a component is ready.
type probe struct {
	client *http.Client
	url    string
	token  string
}

// newProbeClient returns a client that trusts the cluster's servers alone.
func newProbeClient(caPEM []byte) *http.Client {
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(caPEM)
	return &http.Client{
		Timeout:   5 * time.Second,
		Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}},
	}
}

// wait returns when the probe answers well, or with what the component wrote
// last when it keeps dying or takes too long.
func (p probe) wait(ctx context.Context, component *process) error {
	deadline := time.Now().Add(startTimeout)
	for {
		err := p.ask(ctx)
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			// The user has changed their mind, the component is not to blame.
			return fmt.Errorf("starting the cluster: %w", context.Cause(ctx))
		case component.failures() >= maxFailures:
			return startError(component, fmt.Errorf("died %d times", component.failures()))
		case time.Now().After(deadline):
			return startError(component, fmt.Errorf("not ready after %s: %w", startTimeout, err))
		}
		time.Sleep(pollEvery)
	}
}

func (p probe) ask(ctx context.Context) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, p.url, nil)
	if err != nil {
		return err
	}
	if p.token != "" {
		request.Header.Set("Authorization", "Bearer "+p.token)
	}
	response, err := p.client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, 4096))
	if err != nil {
		return err
	}
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", response.Status, body)
	}
	return nil
}

// startError names the component that did not start and shows why.
func startError(component *process, err error) error {
	return fmt.Errorf("%s did not start: %w; the end of its log, %s:\n%s",
		component.name, err, component.logFile, component.logTail())
}
