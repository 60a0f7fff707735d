// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package kube

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/pkg/apis/clientauthentication"
	"k8s.io/client-go/pkg/apis/clientauthentication/install"
	"k8s.io/client-go/rest"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/printable"
)

// outspoken adds to the error of a command that was to print credentials what that
// command wrote to its standard error. client-go hands it to the provider's own, which Terraform
// shows in its log alone (client-go 0.37, plugin/pkg/client/auth/exec/exec.go,
// newAuthenticator), and gives the exit code for a reason.
type outspoken struct {
	http.RoundTripper
	config *rest.Config

	once sync.Once
	said string
}

// RoundTrip sends a request.
func (t *outspoken) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := t.RoundTripper.RoundTrip(r)
	if err == nil || !strings.Contains(err.Error(), "getting credentials: exec: ") {
		return resp, err
	}
	t.once.Do(func() { t.said = says(context.WithoutCancel(r.Context()), t.config) })
	if t.said == "" {
		return resp, err
	}
	return resp, fmt.Errorf("%w: %s", err, t.said)
}

// Bounds of running a command again for what it says.
const (
	sayingTime = 10 * time.Second
	sayingMost = 800
)

// says runs a command once more, as client-go does for every request that lacks credentials,
// and returns the end of what it writes to its standard error on one line; nothing where it
// succeeds this time. What it prints to its standard output are credentials, and not kept.
func says(ctx context.Context, config *rest.Config) string {
	command := config.ExecProvider
	info, err := execInfo(config)
	if err != nil {
		return ""
	}
	ctx, cancel := context.WithTimeout(ctx, sayingTime)
	defer cancel()
	var said tail
	cmd := exec.CommandContext(ctx, command.Command, command.Args...) //nolint:gosec // The provider block names it, and client-go has just run it.
	cmd.Env = append(os.Environ(), "KUBERNETES_EXEC_INFO="+string(info))
	for _, one := range command.Env {
		cmd.Env = append(cmd.Env, one.Name+"="+one.Value)
	}
	// Child processes of the command may keep the pipe open after it.
	cmd.Stderr, cmd.WaitDelay = &said, time.Second
	if cmd.Run() == nil {
		return ""
	}
	return printable.Line(strings.TrimSpace(string(said)))
}

// execInfo is what client-go tells a command: with provideClusterInfo, as kubeconfigs of GKE have it, the
// cluster as well (client-go 0.37, plugin/pkg/client/auth/exec/exec.go, refreshCredsLocked).
func execInfo(config *rest.Config) ([]byte, error) {
	told := &clientauthentication.ExecCredential{}
	if config.ExecProvider.ProvideClusterInfo {
		cluster, err := rest.ConfigToExecCluster(config)
		if err != nil {
			return nil, err
		}
		told.Spec.Cluster = cluster
	}
	version, err := schema.ParseGroupVersion(config.ExecProvider.APIVersion)
	if err != nil {
		return nil, err
	}
	scheme := runtime.NewScheme()
	install.Install(scheme)
	return runtime.Encode(serializer.NewCodecFactory(scheme).LegacyCodec(version), told)
}

// tail keeps the end of what is written to it.
type tail []byte

// Write keeps at most the last sayingMost bytes.
func (t *tail) Write(p []byte) (int, error) {
	all := append(*t, p...)
	*t = all[max(len(all)-sayingMost, 0):]
	return len(p), nil
}

// httpClient makes the client that everything is sent through.
func httpClient(rc *rest.Config) (*http.Client, error) {
	client, err := rest.HTTPClientFor(rc)
	if err == nil && rc.ExecProvider != nil {
		told := *client
		told.Transport = &outspoken{RoundTripper: client.Transport, config: rc}
		client = &told
	}
	return client, err
}
