// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package kube

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/fakeapi"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/toleration"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/workload"
)

const ours = "prometheusK8s:\n  tolerations:\n  - key: a\n    operator: Exists\n"

// monitoring is a server on which OpenShift's monitoring has a text, "" for no ConfigMap.
func monitoring(text string) *testServer {
	a := newServer()
	a.Put(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: workload.Configs()[0].Namespace}})
	if text != "" {
		a.Put(config(text))
	}
	return a
}

func config(text string) *corev1.ConfigMap {
	ref := workload.Configs()[0]
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: ref.Namespace, Name: ref.Name}, Data: map[string]string{workload.ConfigKey: text}}
}

// proof is what a resource writes into a ConfigMap that it creates.
const proof = "1.proof"

// manage adds a toleration to prometheusK8s or takes it away. Meanwhile is called between the first reading
// and the write.
func manage(t *testing.T, c *Cluster, release bool, meanwhile func()) error {
	t.Helper()
	ref := workload.Configs()[0]
	ref.Component = "prometheusK8s"
	kind, _ := workload.Lookup(ref.APIVersion, ref.Kind)
	claim := toleration.Claim{Owner: "o", Generation: "g", Release: release, Tolerations: []corev1.Toleration{{Key: "a", Operator: corev1.TolerationOpExists}}}
	_, err := c.EditWorkload(t.Context(), ref, kind.Path, func(w *workload.Workload) (*WorkloadEdit, error) {
		merged := toleration.Merge(w.Tolerations, w.Record, claim, nil, false)
		if meanwhile != nil {
			meanwhile()
			meanwhile = nil
		}
		if !merged.Changed {
			return nil, nil
		}
		return &WorkloadEdit{
			Tolerations: merged.Tolerations, Record: merged.Record, Template: merged.Template, Created: proof, Proved: w.Config.Created == proof,
		}, nil
	})
	return err
}

// TestEditWorkload_textThatOthersWriteMeanwhileStays has another client write the ConfigMap between the
// reading and the write, and answers that are lost.
func TestEditWorkload_textThatOthersWriteMeanwhileStays(t *testing.T) {
	t.Parallel()
	const other = "enableUserWorkload: true\n"
	writes := func(text string) func(*testServer) {
		return func(a *testServer) {
			fakeapi.Edit(a.Server, workload.Configs()[0].Namespace, workload.Configs()[0].Name, func(c *corev1.ConfigMap) { c.Data[workload.ConfigKey] = text })
		}
	}
	for name, tt := range map[string]struct {
		before         string
		meanwhile      func(*testServer)
		fault          faulty
		added, removed string
	}{
		"no one writes":         {other, nil, nil, other + ours, other},
		"the text is changed":   {other, writes("a: 1\n"), nil, "a: 1\n" + ours, "a: 1\n"},
		"the ConfigMap is made": {"", func(a *testServer) { a.Put(config(other)) }, nil, other + ours, other},
		"it is deleted":         {other, func(a *testServer) { a.Remove(config("")) }, nil, ours, "none"},
		"nothing is there":      {"", nil, nil, ours, "none"},
		"the answers to writes are lost": {"", nil, func(r fakeapi.Request, nth int) fakeapi.Fault {
			if r.Verb != "get" && r.Verb != "list" && nth == 1 {
				return fakeapi.CutAfter
			}
			return fakeapi.None
		}, ours, "none"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				a := monitoring(tt.before)
				defer a.Close()
				a.fault = tt.fault
				c := a.connect(t)
				var meanwhile func()
				if tt.meanwhile != nil {
					meanwhile = func() { tt.meanwhile(a) }
				}
				for _, release := range []bool{false, true} {
					if err := manage(t, c, release, meanwhile); err != nil {
						t.Fatal(err)
					}
					want := map[bool]string{false: tt.added, true: tt.removed}[release]
					if got := textOf(a); got != want {
						t.Fatalf("release %t: %q, want %q", release, got, want)
					}
					meanwhile = nil
				}
			})
		})
	}
}

// textOf returns what the ConfigMap has, "none" where there is none.
func textOf(a *testServer) string {
	c, there := fakeapi.Get[*corev1.ConfigMap](a.Server, workload.Configs()[0].Namespace, workload.Configs()[0].Name)
	if !there {
		return "none"
	}
	return c.Data[workload.ConfigKey]
}

// TestEditWorkload_aConfigMapThatOthersWriteWhileItIsDeletedStays: the delete carries the version that was read.
func TestEditWorkload_aConfigMapThatOthersWriteWhileItIsDeletedStays(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := monitoring("")
		defer a.Close()
		c := a.connect(t)
		if err := manage(t, c, false, nil); err != nil {
			t.Fatal(err)
		}
		if err := manage(t, c, true, func() {
			fakeapi.Edit(a.Server, workload.Configs()[0].Namespace, workload.Configs()[0].Name, func(c *corev1.ConfigMap) { c.Data["other"] = "x" })
		}); err != nil {
			t.Fatal(err)
		}
		left, there := fakeapi.Get[*corev1.ConfigMap](a.Server, workload.Configs()[0].Namespace, workload.Configs()[0].Name)
		if !there || fmt.Sprint(left.Data) != "map[config.yaml: other:x]" || len(left.Annotations) > 0 {
			t.Errorf("%t: %v", there, left)
		}
	})
}

// TestEditWorkload_aMadeUpMarkOfCreationDeletesNothing: a user who may write the ConfigMap may write the
// annotation.
func TestEditWorkload_aMadeUpMarkOfCreationDeletesNothing(t *testing.T) {
	t.Parallel()
	for _, made := range []string{"true", "", "another proof"} {
		synctest.Test(t, func(t *testing.T) {
			theirs := config("")
			theirs.Annotations = map[string]string{workload.CreatedAnnotation: made}
			a := monitoring("")
			defer a.Close()
			a.Put(theirs)
			c := a.connect(t)
			for _, release := range []bool{false, true} {
				if err := manage(t, c, release, nil); err != nil {
					t.Fatal(err)
				}
			}
			left, there := fakeapi.Get[*corev1.ConfigMap](a.Server, theirs.Namespace, theirs.Name)
			if !there || left.Annotations[workload.CreatedAnnotation] != made || left.Data[workload.ConfigKey] != "" {
				t.Errorf("%q: %t, %v", made, there, left)
			}
		})
	}
}

// TestEditWorkload_aDamagedTextIsNotWritten, and the error names the ConfigMap.
func TestEditWorkload_aDamagedTextIsNotWritten(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := monitoring("a: [")
		defer a.Close()
		problem := new(workload.ConfigError)
		if err := manage(t, a.connect(t), false, nil); !errors.As(err, &problem) || problem.Ref.Component != "prometheusK8s" {
			t.Fatal(err)
		}
		if got := textOf(a); got != "a: [" {
			t.Errorf("it has become %q", got)
		}
	})
}
