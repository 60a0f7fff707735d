// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package bigcluster

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	kprotobuf "k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/client-go/kubernetes/scheme"
)

// put is a key with its value, as etcd's gateway for JSON has it: both in base64
// (https://etcd.io/docs/v3.6/dev-guide/api_grpc_gateway).
type put struct {
	Key   []byte `json:"key"`
	Value []byte `json:"value"`
}

type operation struct {
	Put put `json:"request_put"`
}

// atOnce is how many objects are written in one transaction. etcd takes 128 operations, and
// 1.5 MiB.
const atOnce = 100

// Storage is the etcd of an API server, at the address where it listens for clients.
type Storage struct {
	URL     string
	pending []operation
}

// Fill writes a cluster of so many nodes and pods, with the namespaces and ReplicaSets of the
// pods. The API server shows it as if it had been asked to create each object.
func (s *Storage) Fill(ctx context.Context, nodes, pods int) error {
	for i := range teams {
		if err := s.add(ctx, "namespaces/"+Namespace(i).Name, Namespace(i)); err != nil {
			return err
		}
	}
	for i := range nodes {
		// The storage still has the oldest name of nodes.
		if err := s.add(ctx, "minions/"+NodeName(i), Node(i)); err != nil {
			return err
		}
	}
	for i := range min(apps, pods) {
		set := ReplicaSet(i)
		if err := s.add(ctx, "replicasets/"+set.Namespace+"/"+set.Name, set); err != nil {
			return err
		}
	}
	for i := range pods {
		pod := Pod(i, nodes)
		if err := s.add(ctx, "pods/"+pod.Namespace+"/"+pod.Name, pod); err != nil {
			return err
		}
	}
	return s.flush(ctx)
}

func (s *Storage) add(ctx context.Context, key string, object runtime.Object) error {
	object.GetObjectKind().SetGroupVersionKind(kindOf(object))
	var value bytes.Buffer
	if err := kprotobuf.NewSerializer(scheme.Scheme, scheme.Scheme).Encode(object, &value); err != nil {
		return fmt.Errorf("encoding %s: %w", key, err)
	}
	s.pending = append(s.pending, operation{put{[]byte("/registry/" + key), value.Bytes()}})
	if len(s.pending) < atOnce {
		return nil
	}
	return s.flush(ctx)
}

func kindOf(object runtime.Object) schema.GroupVersionKind {
	switch object.(type) {
	case *corev1.Node:
		return corev1.SchemeGroupVersion.WithKind("Node")
	case *corev1.Namespace:
		return corev1.SchemeGroupVersion.WithKind("Namespace")
	case *appsv1.ReplicaSet:
		return appsv1.SchemeGroupVersion.WithKind("ReplicaSet")
	}
	return corev1.SchemeGroupVersion.WithKind("Pod")
}

func (s *Storage) flush(ctx context.Context) error {
	body, err := json.Marshal(map[string]any{"success": s.pending})
	if err != nil {
		return err
	}
	s.pending = s.pending[:0]
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.URL+"/v3/kv/txn", bytes.NewReader(body))
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return fmt.Errorf("writing to etcd: %w", err)
	}
	defer func() { _ = resp.Body.Close() }()
	said, err := io.ReadAll(resp.Body)
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("writing to etcd: %s: %s", resp.Status, said)
	}
	return err
}
