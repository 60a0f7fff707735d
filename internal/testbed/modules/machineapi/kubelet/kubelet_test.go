// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package kubelet

import (
	"context"
	"errors"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// rack notes what is asked of workers.
type rack struct {
	asked []string
	fails error
}

func (r *rack) start(_ context.Context, worker, node string) error {
	r.asked = append(r.asked, worker+" serves "+node)
	return r.fails
}

func (r *rack) stop(_ context.Context, worker string) error {
	r.asked = append(r.asked, worker+" stops")
	return r.fails
}

// scene is a controller with two workers.
type scene struct {
	t    *testing.T
	rack *rack
	*reconciler
}

func newScene(t *testing.T) *scene {
	t.Helper()
	r := &rack{}
	return &scene{t: t, rack: r, reconciler: newReconciler(fake.NewClientBuilder().Build(), r, []string{"w1", "w2"})}
}

func (s *scene) create(name string, annotations map[string]string) {
	s.t.Helper()
	if err := s.client.Create(s.t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: annotations}}); err != nil {
		s.t.Fatal(err)
	}
}

func (s *scene) delete(name string) {
	s.t.Helper()
	if err := s.client.Delete(s.t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}); err != nil {
		s.t.Fatal(err)
	}
}

func (s *scene) reconcile(name string) reconcile.Result {
	s.t.Helper()
	result, err := s.Reconcile(s.t.Context(), reconcile.Request{NamespacedName: client.ObjectKey{Name: name}})
	if !errors.Is(err, s.rack.fails) {
		s.t.Fatal(err)
	}
	return result
}

func (s *scene) want(asked ...string) {
	s.t.Helper()
	if !slices.Equal(s.rack.asked, asked) {
		s.t.Errorf("asked of the workers: %q, want %q", s.rack.asked, asked)
	}
}

var played = map[string]string{Annotation: "fake"}

func TestReconcile(t *testing.T) {
	t.Parallel()
	for name, run := range map[string]func(*scene){
		"a node that asks for a kubelet gets one, once": func(s *scene) {
			s.create("a", played)
			s.reconcile("a")
			s.reconcile("a")
			s.want("w1 serves a")
		},
		"a node that asks for none gets none": func(s *scene) {
			s.create("a", nil)
			s.reconcile("a")
			s.want()
		},
		"a node waits while all workers serve, and gets the first that is free": func(s *scene) {
			for _, node := range []string{"a", "b", "c"} {
				s.create(node, played)
				s.reconcile(node)
			}
			s.want("w1 serves a", "w2 serves b")
			if s.reconcile("c").RequeueAfter == 0 {
				s.t.Error("c is not looked at again")
			}
			s.delete("b")
			s.reconcile("b")
			s.reconcile("c")
			s.want("w1 serves a", "w2 serves b", "w2 stops", "w2 serves c")
		},
		"a node that is made again under its name keeps its kubelet": func(s *scene) {
			s.create("a", played)
			s.reconcile("a")
			s.delete("a")
			s.create("a", played)
			s.reconcile("a")
			s.want("w1 serves a")
		},
		"a node whose kubelet does not start is given the next worker": func(s *scene) {
			s.create("a", played)
			s.rack.fails = errors.New("no")
			s.reconcile("a")
			s.rack.fails = nil
			s.reconcile("a")
			s.want("w1 serves a", "w2 serves a")
		},
		"a worker whose kubelet does not stop is not given away": func(s *scene) {
			s.create("a", played)
			s.create("b", played)
			s.reconcile("a")
			s.reconcile("b")
			s.delete("a")
			s.rack.fails = errors.New("no")
			s.reconcile("a")
			s.rack.fails = nil
			s.create("c", played)
			s.reconcile("c")
			s.reconcile("a")
			s.reconcile("c")
			s.want("w1 serves a", "w2 serves b", "w1 stops", "w1 stops", "w1 serves c")
		},
		"the nodes that the workers were are deleted": func(s *scene) {
			s.create("w1", nil)
			if err := s.takeOver(s.t.Context(), []string{"w1", "w2"}); err != nil {
				s.t.Fatal(err)
			}
			s.want("w1 stops", "w2 stops")
			if err := s.client.Get(s.t.Context(), client.ObjectKey{Name: "w1"}, &corev1.Node{}); client.IgnoreNotFound(err) != nil || err == nil {
				s.t.Errorf("w1: %v", err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run(newScene(t))
		})
	}
}
