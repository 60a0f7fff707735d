// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package recorded_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/kube"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/recorded"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/workload"
)

// same compares what is observed of a cluster. How large foreign annotations are counts for writes alone.
var same = cmp.Options{
	cmpopts.IgnoreUnexported(snapshot.Snapshot{}),
	cmpopts.IgnoreFields(snapshot.Node{}, "OtherAnnotations"),
	cmpopts.IgnoreFields(workload.Workload{}, "OtherAnnotations"),
	cmpopts.SortSlices(func(a, b *snapshot.Pod) bool { return a.Key() < b.Key() }),
	cmp.Comparer(func(a, b labels.Selector) bool { return a.String() == b.String() }),
}

// wantSame compares what two connections observe.
func wantSame(t *testing.T, live, recording *kube.Cluster) {
	t.Helper()
	want, err := live.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	// Kinds that there was no permission to list when the file was recorded are not in the snapshot.
	for _, list := range [][]string{want.Gaps, want.OwnerGaps} {
		for i := range list {
			list[i] = strings.Replace(list[i], "(no permission to list them)", "(they are not in the snapshot)", 1)
		}
	}
	wantObserved(t, want, recording)
}

// wantObserved compares what a connection observes.
func wantObserved(t *testing.T, want *snapshot.Snapshot, recording *kube.Cluster) {
	t.Helper()
	got, err := recording.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got, same); diff != "" {
		t.Errorf("the recording is observed in another way: %s", diff)
	}
}

func TestWrite_aRecordedClusterIsObservedAsTheLiveOne(t *testing.T) {
	t.Parallel()
	api := shop()
	defer api.Close()
	file, summary := record(t, api.Client(), recorded.Options{Version: "1.2.3"})
	if summary.Nodes != 2 || summary.Pods != 6 || len(summary.Missing) > 0 {
		t.Errorf("summary = %+v", summary)
	}
	live, recording := connect(t, api.Client()), connect(t, read(t, file).Transport())
	wantSame(t, live, recording)
	for _, one := range []struct {
		ref  workload.Ref
		path string
	}{
		{workload.Ref{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "shop", Name: "web"}, ""},
		{workload.Ref{APIVersion: "apps/v1", Kind: "StatefulSet", Namespace: "shop", Name: "db"}, ""},
		{workload.Ref{APIVersion: "apps/v1", Kind: "DaemonSet", Namespace: "shop", Name: "agent"}, ""},
		{workload.Ref{APIVersion: "batch/v1", Kind: "CronJob", Namespace: "shop", Name: "job"}, ""},
		{workload.Ref{APIVersion: "argoproj.io/v1alpha1", Kind: "Rollout", Namespace: "shop", Name: "roll"}, "spec.template.spec.tolerations"},
	} {
		wantSameWorkload(t, live, recording, one.ref, one.path)
	}
}

func wantSameWorkload(t *testing.T, live, recording *kube.Cluster, ref workload.Ref, written string) {
	t.Helper()
	kind, _ := workload.Lookup(ref.APIVersion, ref.Kind)
	path := kind.Path
	if written != "" {
		path = []string{"spec", "template", "spec", "tolerations"}
	}
	want, err := live.Workload(t.Context(), ref, path)
	if err != nil {
		t.Fatal(err)
	}
	got, err := recording.Workload(t.Context(), ref, path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got, same); diff != "" {
		t.Errorf("%s is observed in another way: %s", ref, diff)
	}
	wantTemplates, err := live.Templates(t.Context(), want)
	if err != nil {
		t.Fatal(err)
	}
	gotTemplates, err := recording.Templates(t.Context(), got)
	if err != nil || len(wantTemplates) != len(gotTemplates) {
		t.Errorf("%s has %d templates, recorded %d: %v", ref, len(wantTemplates), len(gotTemplates), err)
	}
}

// plain returns the records of a file.
func plain(t testing.TB, file []byte) []byte {
	t.Helper()
	z, err := gzip.NewReader(bytes.NewReader(file[bytes.Index(file, []byte{0x1f, 0x8b}):]))
	if err != nil {
		t.Fatal(err)
	}
	out, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// forbidden is a source whose pods may not be listed.
type forbidden struct{ recorded.Source }

// EncodedPods refuses.
func (forbidden) EncodedPods(context.Context, func() error, func([]byte) error) error {
	return kube.ErrForbidden
}

func TestWrite_noSecretIsInTheFile(t *testing.T) {
	t.Parallel()
	api := shop()
	defer api.Close()
	for _, hashed := range []bool{false, true} {
		file, _ := record(t, api.Client(), recorded.Options{HashNames: hashed})
		content := plain(t, file)
		for _, secret := range []string{canary, "10.99."} {
			wantAbsent(t, content, secret)
		}
	}
}

// wantAbsent wants a text to be nowhere in the records of a file.
func wantAbsent(t *testing.T, content []byte, secret string) {
	t.Helper()
	if at := bytes.Index(content, []byte(secret)); at >= 0 {
		t.Errorf("%q is in the file: …%q…", secret, content[max(0, at-200):min(len(content), at+100)])
	}
}
