// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package faults_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/fakeapi"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/fakeapi/controllers"
)

// earlier is what the code of commit 43f33d2 has left behind: a resource, with the state and the private state that it
// has saved, and the cluster, with the records that it has written. These files are never written again.
type earlier struct {
	Type   string
	At     time.Time
	Config map[string]any
	// State and Identity are JSON, as in a state file.
	State, Identity json.RawMessage
	Private         []byte
	// Before is the cluster without the resource, Objects the one with it.
	Before, Objects []json.RawMessage
}

func readEarlier(t *testing.T, file string) (e earlier) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &e); err != nil {
		t.Fatal(err)
	}
	return e
}

// load returns an API server that has these objects and no others.
func load(t *testing.T, objects []json.RawMessage) *fakeapi.Server {
	t.Helper()
	api := fakeapi.New(controllers.MachineAPI...)
	for n := range 100 {
		// The server counts UIDs: those of the objects are in use.
		spare := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("spare-", n)}}
		api.Add(spare)
		api.Remove(spare)
	}
	for _, text := range objects {
		if !strings.Contains(string(text), `"apiVersion":"machine.openshift.io/`) {
			object, _, err := scheme.Codecs.UniversalDeserializer().Decode(text, nil, nil)
			if err != nil {
				t.Fatal(err)
			}
			api.Add(object)
			continue
		}
		object := &unstructured.Unstructured{}
		if err := object.UnmarshalJSON(text); err != nil {
			t.Fatal(err)
		}
		api.Add(runtime.Object(object))
	}
	return api
}

// TestEarlier_stateAndRecordsAreRead has the state, the private state and the records that earlier code has written,
// kept as files, read by this one: the plan is empty, nothing is written, and a destroy removes what that code has added,
// and nothing else.
func TestEarlier_stateAndRecordsAreRead(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(filepath.Join("testdata", "earlier", "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	types := map[string]bool{}
	for _, file := range files {
		e := readEarlier(t, file)
		types[e.Type] = true
		t.Run(strings.TrimSuffix(filepath.Base(file), ".json"), func(t *testing.T) {
			t.Parallel()
			e.goesOn(t)
		})
	}
	want := []string{
		"kubetaint_dedicated_nodes", "kubetaint_machine_set_taints", "kubetaint_namespace_tolerations", "kubetaint_node_taints",
		"kubetaint_toleration_policy", "kubetaint_workload_tolerations",
	}
	if diff := cmp.Diff(want, slices.Sorted(maps.Keys(types))); diff != "" {
		t.Errorf("the types with files: %s", diff)
	}
}

func (e earlier) goesOn(t *testing.T) {
	t.Helper()
	bubble(t, moment{load(t, e.Objects), e.At}, func(t *testing.T, api *fakeapi.Server) {
		time.Sleep(calm)
		writes, client := 0, api.Client()
		client.OnRequest(func(q fakeapi.Request) fakeapi.Fault {
			if q.Write() {
				writes++
			}
			return fakeapi.None
		})
		walk := through(client).Walk(t)
		i, d := walk.Upgrade(e.Type, 0, e.State, e.Identity, e.Private)
		if d.Errors() == "" {
			d = walk.Refresh(i)
		}
		if len(d) > 0 {
			t.Fatalf("reading the state: %s%s", d.Errors(), d.Warnings())
		}
		if p := walk.Plan(i, e.Config); !p.Empty || len(p.Diagnostics) > 0 {
			t.Errorf("the plan is empty: %t\n%s%s", p.Empty, p.Diagnostics.Errors(), p.Diagnostics.Warnings())
		}
		if writes > 0 {
			t.Errorf("reading and planning has written %d times", writes)
		}
		if d := through(api.Client()).Apply(t, i, nil); d.Errors() != "" {
			t.Fatalf("destroy: %s", d.Errors())
		}
		time.Sleep(calm)
		if diff := cmp.Diff(written(load(t, e.Before)), written(api)); diff != "" {
			t.Errorf("the destroy has left something, or removed what is not its own:\n%s", diff)
		}
	})
}

// written is what the provider may have written of a cluster: all but pods, which follow their templates. The order of
// taints does not count: a taint that is put back is the last one.
func written(api *fakeapi.Server) []string {
	for _, n := range fakeapi.Objects[*corev1.Node](api) {
		fakeapi.Edit(api, "", n.Name, func(n *corev1.Node) {
			slices.SortFunc(n.Spec.Taints, func(a, b corev1.Taint) int { return strings.Compare(a.ToString(), b.ToString()) })
		})
	}
	var out []string
	for _, line := range look(api).lines {
		if !strings.HasPrefix(line, "Pod ") {
			// An empty map is the same as none.
			out = append(out, strings.NewReplacer(`"annotations":{}`, `"annotations":null`, `"metadata":{"labels":{}}`, `"metadata":{}`, `"labels":{}`, `"labels":null`).Replace(line))
		}
	}
	return out
}
