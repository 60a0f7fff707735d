// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package kube

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/fakeapi"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/workload"
)

// TestWorkload_findsAKindThatIsInstalledMeanwhile: the same apply may install its
// CustomResourceDefinition after the cluster was first asked what it serves.
func TestWorkload_findsAKindThatIsInstalledMeanwhile(t *testing.T) {
	t.Parallel()
	app, part := fakeapi.CustomKind("example.com/v1", "App", "apps"), fakeapi.CustomKind("example.com/v1", "Part", "parts")
	for name, tt := range map[string]struct {
		// asked are the kinds that are asked for before App is installed, after is the time from
		// then to the next question.
		asked []string
		after time.Duration
		found bool
	}{
		"it was asked for before":            {[]string{"App"}, rediscoverAfter + 1, true},
		"it was asked for a moment before":   {[]string{"App"}, rediscoverAfter - 1, false},
		"another kind was asked for":         {[]string{"Part"}, 0, true},
		"another kind was asked for in vain": {[]string{"Other"}, 0, true},
		"nothing was asked for":              {nil, 0, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				api := serve(fakeapi.New(part))
				c := api.connect(t)
				find := func(kind string) error {
					_, err := c.Workload(t.Context(), workload.Ref{APIVersion: "example.com/v1", Kind: kind, Namespace: "shop", Name: "a"}, []string{"spec", "tolerations"})
					return err
				}
				for _, kind := range tt.asked {
					if err := find(kind); err == nil {
						t.Fatalf("%s is found", kind)
					}
				}
				api.Serve(app)
				api.Add(custom("example.com/v1", "App", "a", map[string]any{}))
				time.Sleep(tt.after)
				if err := find("App"); tt.found && err != nil || !tt.found && !errors.Is(err, ErrNoKind) {
					t.Errorf("it ends with %v", err)
				}
			})
		})
	}
}

// TestWorkload_asksSeldomForAKindThatIsNotServed: its resource is refreshed and planned many
// times.
func TestWorkload_asksSeldomForAKindThatIsNotServed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		api := serve(fakeapi.New())
		c := api.connect(t)
		for range 20 {
			_, err := c.Workload(t.Context(), workload.Ref{APIVersion: "example.com/v1", Kind: "App", Namespace: "shop", Name: "a"}, []string{"spec", "tolerations"})
			if !errors.Is(err, ErrNoKind) {
				t.Fatal(err)
			}
		}
		// Discovery has two documents, and is read a second time immediately.
		asked := 0
		for method, n := range api.count {
			t.Log(method, n)
			asked += n
		}
		if asked > 4 {
			t.Errorf("%d requests ask what the cluster serves", asked)
		}
	})
}
