// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package kubectlplugin_test

import (
	"errors"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
)

// noRoute is a network on which no server answers.
type noRoute struct{}

func (noRoute) RoundTrip(*http.Request) (*http.Response, error) {
	return nil, &net.OpError{Op: "dial", Net: "tcp", Err: errors.New("no route to host")}
}

// TestRun_noAnswerOfTheCluster is one line on stderr in kubectl's words and exit code 1, whatever the
// command asks first, and no file is left.
func TestRun_noAnswerOfTheCluster(t *testing.T) {
	t.Parallel()
	for want, spoil := range map[string]func(*reader){
		"error: You must be logged in to the server (Unauthorized)\n":   func(r *reader) { r.token = "expired" },
		"Unable to connect to the server: dial tcp: no route to host\n": func(r *reader) { r.transport = noRoute{} },
	} {
		t.Run(want[:strings.Index(want, "server")], func(t *testing.T) {
			t.Parallel()
			acctest.OnFake(t, func(t *testing.T, c *acctest.Cluster) {
				c.Node(t, acctest.Node{Name: "a"})
				r, file := newReader(t, c), filepath.Join(t.TempDir(), "cluster.kts")
				spoil(r)
				// Discovery words a refused token in its own way, as kubectl get has it.
				discovery := strings.Replace(want, "Unauthorized", "the server has asked for the client to provide credentials", 1)
				for args, want := range map[string]string{
					"preview nodes a k:NoExecute":                         want,
					"preview nodes -l pool=gpu k:NoExecute -o json":       want,
					"preview drain a":                                     want,
					"preview machineset a k:NoExecute --strategy=rolling": want,
					"tolerates web k:NoExecute":                           want,
					"untolerated web":                                     want,
					"tolerates deployment/web k:NoExecute":                discovery,
					"snapshot -o " + file:                                 discovery,
				} {
					if got := r.run(t, strings.Fields(args)...); got.code != 1 || got.out != "" || got.err != want {
						t.Errorf("%s: want %q and got\n%s", args, want, got)
					}
				}
				if left, err := os.ReadDir(filepath.Dir(file)); err != nil || len(left) > 0 {
					t.Errorf("%v: left is %v", err, left)
				}
				if got := r.run(t, "__complete", "preview", "nodes", ""); got.code != 0 || got.out != ":4\n" {
					t.Errorf("completion: got\n%s", got)
				}
			})
		})
	}
}
