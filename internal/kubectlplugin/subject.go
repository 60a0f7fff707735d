// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package kubectlplugin

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/eviction"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/kube"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/workload"
)

// subject is the pod or workload that a question is about.
type subject struct {
	schema.GroupVersionKind
	namespace, name string
}

const podKind = "Pod"

// subject reads POD or TYPE/NAME as kubectl does (k8s.io/cli-runtime v0.37.2 pkg/resource/builder.go,
// mappingFor). Errors: the cluster has no such type, or cannot be asked.
func (p *plugin) subject(arg string) (subject, error) {
	namespace, _, err := p.config.ToRawKubeConfigLoader().Namespace()
	if err != nil {
		return subject{}, err
	}
	kind, name, typed := strings.Cut(arg, "/")
	if !typed {
		kind, name = "pods", arg
	}
	s := subject{namespace: namespace, name: name}
	if slices.Contains([]string{"po", "pod", "pods"}, kind) {
		// The type that needs no question to the cluster.
		s.GroupVersionKind = corev1.SchemeGroupVersion.WithKind(podKind)
		return s, nil
	}
	mapper, err := p.config.ToRESTMapper()
	if err != nil {
		return s, err
	}
	full, short := schema.ParseResourceArg(kind)
	if full != nil {
		if s.GroupVersionKind, err = mapper.KindFor(*full); err == nil {
			return s, nil
		}
	}
	s.GroupVersionKind, err = mapper.KindFor(short.WithVersion(""))
	if meta.IsNoMatchError(err) {
		err = fmt.Errorf("the server doesn't have a resource type %q", kind)
	}
	return s, err
}

// is reports whether a pod is the subject or one of its pods. A controller in the middle, such as a
// ReplicaSet of a Deployment, has its own.
func (s subject) is(p *snapshot.Pod, owner snapshot.Owner) bool {
	if p.Namespace != s.namespace {
		return false
	}
	if s.Kind == podKind && s.Group == "" {
		return p.Name == s.name
	}
	wanted := snapshot.Owner{Group: s.Group, Kind: s.Kind, Name: s.name}
	return owner == wanted || p.Controller != nil && p.Controller.Owner == wanted
}

// answer returns what the subject makes of taints: its running pods, and its template where it has
// none. Errors: there is no such object, or no pod of it is to run, and its template is not known.
func (s subject) answer(ctx context.Context, cluster *kube.Cluster, in *snapshot.Snapshot, taints []corev1.Taint, gate eviction.Comparison) (eviction.WorkloadAnswer, error) {
	mine := func(p *snapshot.Pod) bool { return s.is(p, in.Owner(p)) }
	if all := eviction.Answers(in, taints, mine, gate); len(all) > 0 {
		if s.Kind == podKind {
			all[0].Owner = snapshot.Owner{Kind: podKind, Name: s.name}
		}
		return all[0], nil
	}
	if s.Kind == podKind {
		if slices.ContainsFunc(podsOf(in), mine) {
			return eviction.WorkloadAnswer{}, fmt.Errorf("pod %s/%s has run to its end or is being deleted", s.namespace, s.name)
		}
		return eviction.WorkloadAnswer{}, apierrors.NewNotFound(corev1.Resource("pods"), s.name)
	}
	version, kind := s.ToAPIVersionAndKind()
	known, is := workload.Lookup(version, kind)
	if !is || known.Components || known.Operand != nil {
		return eviction.WorkloadAnswer{}, fmt.Errorf("%s %s/%s has no running pods, and the path of the tolerations in its template is unknown", kind, s.namespace, s.name)
	}
	w, err := cluster.Workload(ctx, workload.Ref{APIVersion: version, Kind: kind, Namespace: s.namespace, Name: s.name}, known.Path)
	if err != nil {
		return eviction.WorkloadAnswer{}, err
	}
	return fromTemplate(w, in, taints, gate), nil
}

// fromTemplate returns what pods of a workload's template would make of taints, as admission lets them be
// created.
func fromTemplate(w *workload.Workload, in *snapshot.Snapshot, taints []corev1.Taint, gate eviction.Comparison) eviction.WorkloadAnswer {
	owner := w.Owner()
	tolerations := w.Tolerations
	if owner.DaemonSet() {
		tolerations = eviction.DaemonTolerations(tolerations, false)
	}
	tolerations = in.Admission.Tolerated(w.Namespace, tolerations)
	pod := &snapshot.Pod{Namespace: w.Namespace, Name: w.Name, Controller: &snapshot.Controller{Owner: owner.Owner}, Scheduling: &snapshot.Scheduling{Tolerations: tolerations}}
	a := eviction.Answers(&snapshot.Snapshot{Waiting: []*snapshot.Pod{pod}}, taints, func(*snapshot.Pod) bool { return true }, gate)[0]
	a.Pods = 0
	return a
}

func podsOf(s *snapshot.Snapshot) []*snapshot.Pod {
	out := slices.Clone(s.Waiting)
	for _, pods := range s.Pods {
		out = append(out, pods...)
	}
	return out
}
