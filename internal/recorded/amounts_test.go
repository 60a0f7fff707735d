// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package recorded_test

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/recorded"
)

// long are amounts whose decoding takes time without bound in their exponent, or in the square of their length.
var long = []string{"1e-99999", "1E99999", "-1.5e+00009", " 1e-99999 ", strings.Repeat("1", 60), "0." + strings.Repeat("0", 60) + "1", strings.Repeat("9", 100) + "Ki"}

func TestOpen_longAmountsAreRefusedBeforeTheyAreDecoded(t *testing.T) {
	t.Parallel()
	const template = `"template":{"spec":{"containers":[{"name":"c","resources":{"limits":{"cpu":"%s"}}}]}}`
	for _, object := range []string{
		`"apiVersion":"v1","kind":"Node","status":{"allocatable":{"cpu":"%s"}}`,
		`"apiVersion":"v1","kind":"Pod","spec":{"overhead":{"cpu":"%s"}}`,
		`"apiVersion":"v1","kind":"Pod","spec":{"initContainers":[{"name":"c"},{"name":"d","resources":{"requests":{"cpu":"%s"}}}]}`,
		`"apiVersion":"v1","kind":"Pod","status":{"containerStatuses":[{"name":"c","allocatedResources":{"cpu":"%s"}}]}`,
		`"apiVersion":"v1","kind":"ResourceQuota","status":{"hard":{"cpu":"%s"}}`,
		`"apiVersion":"v1","kind":"LimitRange","spec":{"limits":[{"type":"Container","maxLimitRequestRatio":{"cpu":"%s"}}]}`,
		`"apiVersion":"apps/v1","kind":"Deployment","spec":{` + template + `}`,
		`"apiVersion":"batch/v1","kind":"CronJob","spec":{"jobTemplate":{"spec":{` + template + `}}}`,
		`"apiVersion":"argoproj.io/v1alpha1","kind":"Rollout","spec":{` + template + `}`,
	} {
		for _, amount := range long {
			dir := t.TempDir()
			write(t, dir, "nodes.yaml", []byte(oneNode))
			write(t, dir, "a.json", []byte(fmt.Sprintf(`{"metadata":{"name":"a"},`+object+`}`, amount)))
			if _, err := recorded.Open(dir); err == nil || !strings.Contains(err.Error(), "is an amount of more than") {
				t.Errorf("%s with %s: %v", object, amount, err)
			}
		}
	}
}

func TestRead_longAmountsAreRefusedBeforeTheyAreDecoded(t *testing.T) {
	t.Parallel()
	file := func(resource, kind, object string) []byte {
		return sealed(t, 1, bytes.Join([][]byte{rec('H', `{"serves":[]}`), rec('K', `{"version":"v1","resource":"`+resource+`","kind":"`+kind+`"}`), rec('O', object)}, nil))
	}
	for _, status := range []string{`{"allocatable":{"cpu":"%s"}}`, `{"allocatable" : { "cpu" : "%s" } }`, `{"capacity":{"cpu":"%s"}}`} {
		for _, amount := range append([]string{`1\u0065-99999`}, long...) {
			node := file("nodes", "Node", fmt.Sprintf(`{"metadata":{"name":"a"},"status":`+status+`}`, amount))
			if _, err := recorded.Read(bytes.NewReader(node)); !errors.Is(err, recorded.ErrDamaged) {
				t.Errorf("%s with %s: %v", status, amount, err)
			}
		}
	}
	if _, err := recorded.Read(bytes.NewReader(file("nodes", "Node", `{"metadata":{"name":"a"},"status":{"allocatable":{"cpu":1e-99999}}}`))); !errors.Is(err, recorded.ErrDamaged) {
		t.Errorf("a number: %v", err)
	}
	amounts := corev1.ResourceList{"cpu": resource.MustParse("12345678")}
	both := corev1.ResourceRequirements{Requests: amounts}
	for name, pod := range map[string]corev1.Pod{
		"overhead":                {Spec: corev1.PodSpec{Overhead: amounts}},
		"resources":               {Spec: corev1.PodSpec{Resources: &both}},
		"limits":                  {Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c"}, {Name: "d", Resources: corev1.ResourceRequirements{Limits: amounts}}}}},
		"of an init container":    {Spec: corev1.PodSpec{InitContainers: []corev1.Container{{Name: "c", Resources: both}}}},
		"of an empty directory":   {Spec: corev1.PodSpec{Volumes: []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{SizeLimit: new(resource.MustParse("12345678"))}}}}}},
		"allocated":               {Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{Name: "c", AllocatedResources: amounts}}}},
		"of a status":             {Status: corev1.PodStatus{InitContainerStatuses: []corev1.ContainerStatus{{Name: "c", Resources: &both}}}},
		"allocated to the pod":    {Status: corev1.PodStatus{AllocatedResources: amounts}},
		"of the status of a pod":  {Status: corev1.PodStatus{Resources: &both}},
		"of ephemeral containers": {Spec: corev1.PodSpec{EphemeralContainers: []corev1.EphemeralContainer{{EphemeralContainerCommon: corev1.EphemeralContainerCommon{Name: "c", Resources: both}}}}},
	} {
		pod.ObjectMeta = metav1.ObjectMeta{Name: "a", Labels: map[string]string{"commit": "12e45678"}}
		content, err := pod.Marshal()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := recorded.Read(bytes.NewReader(file("pods", "Pod", string(content)))); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if content = bytes.ReplaceAll(content, []byte("12345678"), []byte("1e-99999")); !bytes.Contains(content, []byte("1e-99999")) {
			t.Fatalf("%s is not there", name)
		}
		if _, err := recorded.Read(bytes.NewReader(file("pods", "Pod", string(content)))); !errors.Is(err, recorded.ErrDamaged) && name != "of ephemeral containers" {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestOpen_otherTextsThatLookLikeAmountsAreRead(t *testing.T) {
	t.Parallel()
	node := []byte(`{"apiVersion":"v1","kind":"Node","metadata":{"name":"a","uid":"12e45678","labels":{"commit":"12e45678","digits":"` + strings.Repeat("1", 63) + `"}},"spec":{"taints":[{"key":"k","value":"1e20000","effect":"NoSchedule"}]},"status":{"allocatable":{"cpu":"1e3"}}}`)
	dir := t.TempDir()
	write(t, dir, "a.json", node)
	if _, err := recorded.Open(dir); err != nil {
		t.Error(err)
	}
	file := sealed(t, 1, bytes.Join([][]byte{rec('H', `{"serves":[]}`), rec('K', `{"version":"v1","resource":"nodes","kind":"Node"}`), rec('O', string(node))}, nil))
	if _, err := recorded.Read(bytes.NewReader(file)); err != nil {
		t.Error(err)
	}
}
