// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package recorded_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/recorded"
)

// randomCluster answers lists of a large cluster, whose objects it makes when they are asked for: 100 pods on a
// node, 20 in a Deployment with 3 ReplicaSets, 7 KB each as in real clusters.
type randomCluster struct {
	pods int
	// spent is the time that the answers took, which an API server would need.
	spent atomic.Int64
}

const podsOfDeployment, podsOfNode = 20, 100

// RoundTrip answers a request.
func (c *randomCluster) RoundTrip(r *http.Request) (*http.Response, error) {
	start := time.Now()
	defer func() { c.spent.Add(int64(time.Since(start))) }()
	code, media, body := http.StatusOK, runtime.ContentTypeJSON, []byte(nil)
	part := r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:]
	offset, _ := strconv.Atoi(r.URL.Query().Get("continue"))
	limit, _ := strconv.Atoi(r.URL.Query().Get("limit"))
	switch part {
	case "pods":
		media, body = page(&corev1.PodList{}, "v1", c.pods, offset, limit, c.pod)
	case "nodes":
		media, body = page(&corev1.NodeList{}, "v1", c.pods/podsOfNode, offset, limit, c.node)
	case "deployments":
		media, body = page(&appsv1.DeploymentList{}, "apps/v1", c.pods/podsOfDeployment, offset, limit, c.deployment)
	case "replicasets":
		media, body = page(&appsv1.ReplicaSetList{}, "apps/v1", 3*c.pods/podsOfDeployment, offset, limit, c.replicaSet)
	case "api":
		media, body = discoveryMedia, []byte(`{"kind":"APIGroupDiscoveryList","apiVersion":"apidiscovery.k8s.io/v2","items":[]}`)
	case "apis":
		media, body = discoveryMedia, []byte(`{"kind":"APIGroupDiscoveryList","apiVersion":"apidiscovery.k8s.io/v2","items":[]}`)
	case "kube-system":
		body = mustJSON(corev1.Namespace{TypeMeta: metav1.TypeMeta{Kind: "Namespace", APIVersion: "v1"}, ObjectMeta: metav1.ObjectMeta{Name: "kube-system", UID: uid("kube-system")}})
	case "selfsubjectrulesreviews":
		body = []byte(`{"kind":"SelfSubjectRulesReview","apiVersion":"authorization.k8s.io/v1","status":{}}`)
	case "cluster-monitoring-config", "user-workload-monitoring-config", "cluster-autoscaler-status":
		code, body = http.StatusNotFound, []byte(`{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404}`)
	default:
		body = []byte(`{"kind":"List","apiVersion":"v1","metadata":{"resourceVersion":"1"},"items":[]}`)
	}
	return &http.Response{StatusCode: code, Header: http.Header{"Content-Type": {media}}, Body: io.NopCloser(bytes.NewReader(body)), Request: r}, nil
}

const discoveryMedia = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"

// uid is the UID of an object, as random as real ones.
func uid(name string) types.UID {
	h := sha256.Sum256([]byte(name))
	return types.UID(fmt.Sprintf("%x-%x-%x-%x-%x", h[:4], h[4:6], h[6:8], h[8:10], h[10:16]))
}

// suffix is the end of a name that a controller has made up.
func suffix(name string) string {
	h := sha256.Sum256([]byte(name))
	out := make([]byte, 5)
	for i := range out {
		out[i] = "bcdfghjklmnpqrstvwxz2456789"[h[i]%27]
	}
	return string(out)
}

func mustJSON(value any) []byte {
	raw, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	return raw
}

// page is a page of a list in protobuf.
func page(list runtime.Object, apiVersion string, total, offset, limit int, one func(int) runtime.Object) (media string, body []byte) {
	end := min(offset+limit, total)
	items := make([]runtime.Object, 0, limit)
	for i := offset; i < end; i++ {
		items = append(items, one(i))
	}
	accessor, err := meta.ListAccessor(list)
	if err != nil {
		panic(err)
	}
	accessor.SetResourceVersion("1")
	if end < total {
		accessor.SetContinue(strconv.Itoa(end))
	}
	if err := meta.SetList(list, items); err != nil {
		panic(err)
	}
	raw, err := list.(interface{ Marshal() ([]byte, error) }).Marshal()
	if err != nil {
		panic(err)
	}
	kind := reflect.TypeOf(list).Elem().Name()
	content, err := (&runtime.Unknown{TypeMeta: runtime.TypeMeta{Kind: kind, APIVersion: apiVersion}, Raw: raw}).Marshal()
	if err != nil {
		panic(err)
	}
	return runtime.ContentTypeProtobuf, append([]byte("k8s\x00"), content...)
}

// names are those of the workload of a pod.
func names(deployment int) (namespace, name, set string) {
	name = fmt.Sprintf("service-%d", deployment)
	return fmt.Sprintf("team-%d", deployment%200), name, name + "-" + suffix(name+"set") + suffix(name)
}

func labelsOf(deployment int) map[string]string {
	_, name, set := names(deployment)
	return map[string]string{
		"app.kubernetes.io/name": name, "app.kubernetes.io/instance": name, "app.kubernetes.io/version": fmt.Sprintf("1.%d.0", deployment%50),
		"team": fmt.Sprintf("team-%d", deployment%200), "pod-template-hash": set[len(name)+1:],
	}
}

func (c *randomCluster) pod(i int) runtime.Object {
	deployment := i / podsOfDeployment
	namespace, _, set := names(deployment)
	name := set + "-" + suffix(strconv.Itoa(i))
	started := metav1.NewTime(moment.Add(-time.Duration(i*37%1_000_000) * time.Second))
	ready := corev1.PodCondition{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: started}
	yes, five := true, int64(300)
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: name, UID: uid(name), ResourceVersion: strconv.Itoa(800_000_000 + i*7919%100_000_000), CreationTimestamp: started,
			Labels: labelsOf(deployment), OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: set, UID: uid(set), Controller: &yes, BlockOwnerDeletion: &yes}},
			Annotations:   map[string]string{"prometheus.io/scrape": "true", "config-hash": suffix(name)},
			ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "kubelet", FieldsV1: metav1.NewFieldsV1(strings.Repeat(`{"f:status":{}}`, 150))}},
		},
		Spec: corev1.PodSpec{
			NodeName: nodeName(i * 7919 % c.pods / podsOfNode), SchedulerName: "default-scheduler", ServiceAccountName: "default", Priority: new(int32),
			Tolerations: []corev1.Toleration{
				{Key: corev1.TaintNodeNotReady, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute, TolerationSeconds: &five},
				{Key: corev1.TaintNodeUnreachable, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute, TolerationSeconds: &five},
			},
			Containers: []corev1.Container{{
				Name: "main", Image: "registry.example.com/" + namespace + "/service:1", Args: []string{strings.Repeat("--flag=value ", 30)},
				Env:       []corev1.EnvVar{{Name: "A", Value: strings.Repeat("value ", 300)}},
				Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{"cpu": *resource.NewMilliQuantity(int64(100+deployment%8*50), resource.DecimalSI), "memory": *resource.NewQuantity(int64(256+deployment%4*128)<<20, resource.BinarySI)}},
			}},
			Volumes: []corev1.Volume{{Name: "token", VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{}}}},
		},
		Status: corev1.PodStatus{
			Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{ready}, StartTime: &started, PodIP: fmt.Sprintf("10.%d.%d.%d", i>>16, i>>8&255, i&255),
			ContainerStatuses: []corev1.ContainerStatus{{Name: "main", Ready: true, ImageID: "sha256:" + strings.Repeat("0", 64), ContainerID: "containerd://" + string(uid(name+"c"))}},
		},
	}
}

func nodeName(n int) string {
	return fmt.Sprintf("ip-10-%d-%d-%d.eu-west-1.compute.internal", n>>8&255, n&255, n*37%251)
}

func (c *randomCluster) node(i int) runtime.Object {
	name := nodeName(i)
	node := corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: uid(name), ResourceVersion: strconv.Itoa(800_000_000 + i), Labels: map[string]string{
			"kubernetes.io/hostname": name, "topology.kubernetes.io/zone": fmt.Sprintf("eu-west-1%c", 'a'+i%3), "pool": fmt.Sprintf("pool-%d", i%9),
		}},
		Status: corev1.NodeStatus{
			Allocatable: corev1.ResourceList{"cpu": resource.MustParse("64"), "memory": resource.MustParse("256Gi"), "pods": resource.MustParse("110")},
			Conditions:  []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}},
		},
	}
	for n := range 50 {
		node.Status.Images = append(node.Status.Images, corev1.ContainerImage{Names: []string{fmt.Sprintf("registry.example.com/image-%d@sha256:%s", n, strings.Repeat("0", 64))}, SizeBytes: 1 << 28})
	}
	return &node
}

func (c *randomCluster) template(deployment int) corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labelsOf(deployment)}, Spec: c.pod(deployment * podsOfDeployment).(*corev1.Pod).Spec}
}

func (c *randomCluster) deployment(i int) runtime.Object {
	namespace, name, _ := names(i)
	replicas := int32(podsOfDeployment)
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: uid(name), ResourceVersion: strconv.Itoa(800_000_000 + i), Generation: 3},
		Spec:       appsv1.DeploymentSpec{Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app.kubernetes.io/name": name}}, Template: c.template(i)},
		Status:     appsv1.DeploymentStatus{ObservedGeneration: 3, Replicas: replicas},
	}
}

func (c *randomCluster) replicaSet(i int) runtime.Object {
	deployment := i / 3
	namespace, name, set := names(deployment)
	replicas, yes := int32(0), true
	if i%3 == 0 {
		replicas = podsOfDeployment
	} else {
		set = name + "-" + suffix(strconv.Itoa(i)) + suffix(set)
	}
	return &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: set, UID: uid(set), ResourceVersion: strconv.Itoa(800_000_000 + i), Labels: labelsOf(deployment),
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "Deployment", Name: name, UID: uid(name), Controller: &yes}},
		},
		Spec:   appsv1.ReplicaSetSpec{Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app.kubernetes.io/name": name}}, Template: c.template(deployment)},
		Status: appsv1.ReplicaSetStatus{ObservedGeneration: 1, Replicas: replicas},
	}
}

// maxBytesOfPod is what a pod may take of a file with its share of all else: 150,000 of them are then below
// 30 MiB.
const maxBytesOfPod = 30 << 20 / 150_000

func TestWrite_fiveThousandPodsAreSmall(t *testing.T) {
	t.Parallel()
	acctest.TooLong(t)
	const pods = 5_000
	file, summary := record(t, &randomCluster{pods: pods}, recorded.Options{})
	if summary.Pods != pods || summary.Nodes != pods/podsOfNode {
		t.Errorf("summary = %+v", summary)
	}
	if of := len(file) / pods; of > maxBytesOfPod {
		t.Errorf("a pod takes %d bytes, want %d at most", of, maxBytesOfPod)
	}
	all, err := connect(t, read(t, file).Transport()).Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, of := range all.Pods {
		found += len(of)
	}
	if found != pods {
		t.Errorf("the recording has %d pods, want %d", found, pods)
	}
}

// BenchmarkWrite records 150,000 pods on 1,500 nodes, in 7,500 Deployments with 22,500 ReplicaSets. own-s is the
// time beside that of the API server.
func BenchmarkWrite(b *testing.B) {
	for b.Loop() {
		server := &randomCluster{pods: 150_000}
		start := time.Now()
		file, _ := record(b, server, recorded.Options{})
		b.ReportMetric((time.Since(start) - time.Duration(server.spent.Load())).Seconds(), "own-s")
		b.ReportMetric(float64(len(file))/(1<<20), "MiB")
	}
}

// BenchmarkOpen reads such a file, and the snapshot of a plan from it.
func BenchmarkOpen(b *testing.B) {
	file, _ := record(b, &randomCluster{pods: 150_000}, recorded.Options{})
	for b.Loop() {
		c, err := recorded.Read(bytes.NewReader(file))
		if err != nil {
			b.Fatal(err)
		}
		if _, err := connect(b, c.Transport()).Snapshot(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
}
