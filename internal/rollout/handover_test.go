// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package rollout

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/kube"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/machineset"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/record"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/fakeapi"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/fakeapi/controllers"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/workload"
)

// TestHandOver_givesTheRecordToTheReplacement whatever is written meanwhile, and writes nothing else.
func TestHandOver_givesTheRecordToTheReplacement(t *testing.T) {
	t.Parallel()
	const name = "gpu"
	for title, tt := range map[string]struct {
		target string
		// answer is the status of each write, 0 for one that is carried out.
		answer func(write int) int
		// want is the generation that the record has then.
		want   string
		writes int
		fails  error
	}{
		"at the first write":              {target: name, want: "g2", writes: 1},
		"again after others have written": {target: name, answer: func(write int) int { return map[bool]int{true: http.StatusConflict}[write <= 3] }, want: "g2", writes: 4},
		"not forever":                     {target: name, answer: func(int) int { return http.StatusConflict }, want: "g1", writes: maxConflicts, fails: &RevertedError{Thing: workload.Ref{APIVersion: machineset.APIVersion, Kind: "MachineSet", Namespace: "machines", Name: name}, Busy: true}},
		"nothing of one that is gone":     {target: name, answer: func(int) int { return http.StatusNotFound }, want: "g1", writes: 1},
		"nothing where it is refused":     {target: name, answer: func(int) int { return http.StatusForbidden }, want: "g1", writes: 1, fails: kube.ErrForbidden},
		"of no other MachineSet":          {target: "other", want: "g1"},
	} {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				api := fakeapi.New(controllers.MachineAPI...)
				t.Cleanup(func() {
					api.Close()
					// Watches outlive the last user of a cluster.
					time.Sleep(2 * time.Minute)
				})
				left := machineset.RemnantRecord{{Key: "team", Effect: "NoSchedule", Machines: []types.UID{"uid"}, Owner: "terraform/gpu", Generation: "g1"}}
				object := &unstructured.Unstructured{Object: map[string]any{
					"metadata": map[string]any{"namespace": "machines", "name": name, "annotations": map[string]any{machineset.RemnantsAnnotation: left.String()}},
					"spec":     map[string]any{"replicas": int64(0)},
				}}
				object.SetGroupVersionKind(machinev1beta1.GroupVersion.WithKind("MachineSet"))
				api.Add(object)
				writes, client := 0, api.Client()
				client.OnRequest(func(r fakeapi.Request) fakeapi.Fault {
					if !r.Write() {
						return fakeapi.None
					}
					if writes++; tt.answer == nil {
						return fakeapi.None
					}
					return fakeapi.Fault(tt.answer(writes))
				})
				c, err := kube.New(kube.Config{Host: fakeapi.Host, Transport: client})
				if err != nil {
					t.Fatal(err)
				}
				from, to := taint.Claim{Owner: "terraform/gpu", Generation: "g1"}, taint.Claim{Owner: "terraform/gpu", Generation: "g2", Seal: record.Seal{Nonce: "n2"}}
				err = HandOver(t.Context(), c, machineset.Target{Namespace: "machines", Name: tt.target}, from, to)
				if !errors.Is(err, tt.fails) || (err == nil) != (tt.fails == nil) {
					t.Errorf("it fails with %v, want %v", err, tt.fails)
				}
				if writes != tt.writes {
					t.Errorf("it wrote %d times, want %d", writes, tt.writes)
				}
				now := api.Custom(machinev1beta1.GroupVersion.WithResource("machinesets"))[0].GetAnnotations()[machineset.RemnantsAnnotation]
				if !strings.Contains(now, `"generation":"`+tt.want+`"`) {
					t.Errorf("the record is %s, want that of %s", now, tt.want)
				}
			})
		})
	}
}
