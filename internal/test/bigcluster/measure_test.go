// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package bigcluster_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/pager"
)

const (
	// measuredEnv names the provider's binary that this program runs in its place, and
	// usageEnv the file for what that costs.
	measuredEnv, usageEnv = "KUBETAINT_BENCH_PROVIDER", "KUBETAINT_BENCH_USAGE"
	// listEnv is the host of an API server whose pods this program lists, with the token
	// of tokenEnv and the certificate of caEnv.
	listEnv, tokenEnv, caEnv = "KUBETAINT_BENCH_LIST", "KUBETAINT_BENCH_TOKEN", "KUBETAINT_BENCH_CA"
)

// usage is what a process costs.
type usage struct {
	CPU time.Duration
	// Resident is the most memory that it had at a time, in KiB.
	Resident int64
}

func usageOf(state *os.ProcessState) usage {
	resources, _ := state.SysUsage().(*syscall.Rusage)
	return usage{state.UserTime() + state.SystemTime(), resources.Maxrss}
}

// TestMain is the benchmark, or one of the processes that it measures: the provider, which a
// command line starts, or a program that lists pods with client-go.
func TestMain(m *testing.M) {
	switch {
	case strings.HasPrefix(filepath.Base(os.Args[0]), "terraform-provider-"):
		os.Exit(provide())
	case os.Getenv(listEnv) != "":
		if err := list(context.Background()); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// provide runs the provider, and writes down what it cost. The newest process of a run is
// the one that plans.
func provide() int {
	cmd := exec.Command(os.Getenv(measuredEnv))
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	// The command line ends it by a request.
	signal.Ignore(os.Interrupt)
	err := cmd.Run()
	raw, marshalErr := json.Marshal(usageOf(cmd.ProcessState))
	if err != nil || marshalErr != nil || os.WriteFile(os.Getenv(usageEnv), raw, 0o600) != nil {
		return 1
	}
	return 0
}

// list lists all pods in pages and keeps none of them, as a client does that needs to see
// each once.
func list(ctx context.Context) error {
	client, err := kubernetes.NewForConfig(&rest.Config{
		Host: os.Getenv(listEnv), BearerToken: os.Getenv(tokenEnv), TLSClientConfig: rest.TLSClientConfig{CAData: []byte(os.Getenv(caEnv))},
		ContentConfig: rest.ContentConfig{ContentType: runtime.ContentTypeProtobuf}, QPS: -1,
	})
	if err != nil {
		return err
	}
	return pager.New(func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
		return client.CoreV1().Pods("").List(ctx, o)
	}).EachListItem(ctx, metav1.ListOptions{}, func(runtime.Object) error { return nil })
}
