// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package acctest

import (
	"context"
	"encoding/json"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/workload"
)

// MonitoringConfig is the ConfigMap of OpenShift's monitoring.
func MonitoringConfig() workload.Ref { return workload.Configs()[0] }

// WriteConfig makes the ConfigMap of OpenShift's monitoring with this text, and its namespace.
func (c *Cluster) WriteConfig(t testing.TB, text string) {
	t.Helper()
	c.MonitoringNamespace(t)
	ref := MonitoringConfig()
	object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: ref.Name}, Data: map[string]string{workload.ConfigKey: text}}
	_, err := c.Admin.CoreV1().ConfigMaps(ref.Namespace).Create(t.Context(), object, metav1.CreateOptions{})
	must(t, err)
	t.Cleanup(func() {
		err := c.Admin.CoreV1().ConfigMaps(ref.Namespace).Delete(context.Background(), ref.Name, metav1.DeleteOptions{})
		if !apierrors.IsNotFound(err) {
			must(t, err)
		}
	})
}

// MonitoringNamespace makes the namespace of OpenShift's monitoring, which stays for other tests.
func (c *Cluster) MonitoringNamespace(t testing.TB) string {
	t.Helper()
	name := MonitoringConfig().Namespace
	_, err := c.Admin.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
	if !apierrors.IsAlreadyExists(err) {
		must(t, err)
	}
	return name
}

// Config returns the ConfigMap of OpenShift's monitoring, nil where there is none.
func (c *Cluster) Config(t testing.TB) *corev1.ConfigMap {
	t.Helper()
	ref := MonitoringConfig()
	found, err := c.Admin.CoreV1().ConfigMaps(ref.Namespace).Get(t.Context(), ref.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	must(t, err)
	return found
}

// Monitor plays the operator of OpenShift's monitoring until the test ends, once it is told to: the
// workloads that there are get what the ConfigMap has for their component.
func (c *Cluster) Monitor(t testing.TB) (begin func()) {
	t.Helper()
	return playing(t, c.reconcile)
}

// monitored is what the operator takes of a component.
type monitored struct {
	Tolerations  []corev1.Toleration `json:"tolerations"`
	NodeSelector map[string]string   `json:"nodeSelector"`
}

// reconcile does one round. What goes wrong is tried again the next time; a text that cannot be read
// changes nothing.
func (c *Cluster) reconcile(ctx context.Context) {
	ref := MonitoringConfig()
	found, err := c.Admin.CoreV1().ConfigMaps(ref.Namespace).Get(ctx, ref.Name, metav1.GetOptions{})
	all := map[string]any{}
	if err != nil && !apierrors.IsNotFound(err) || err == nil && yaml.Unmarshal([]byte(found.Data[workload.ConfigKey]), &all) != nil {
		return
	}
	apps := c.Admin.AppsV1()
	for _, component := range workload.Components(ref) {
		wanted := monitored{}
		if raw, err := json.Marshal(all[component.Name]); err != nil || json.Unmarshal(raw, &wanted) != nil {
			continue
		}
		for _, key := range component.Pods {
			if key.Kind == "StatefulSet" {
				if set, err := apps.StatefulSets(key.Namespace).Get(ctx, key.Name, metav1.GetOptions{}); err == nil && wanted.into(&set.Spec.Template.Spec) {
					_, _ = apps.StatefulSets(key.Namespace).Update(ctx, set, metav1.UpdateOptions{})
				}
				continue
			}
			if d, err := apps.Deployments(key.Namespace).Get(ctx, key.Name, metav1.GetOptions{}); err == nil && wanted.into(&d.Spec.Template.Spec) {
				_, _ = apps.Deployments(key.Namespace).Update(ctx, d, metav1.UpdateOptions{})
			}
		}
	}
}

// into reports whether a pod template changes by what the operator takes.
func (m monitored) into(spec *corev1.PodSpec) bool {
	if apiequality.Semantic.DeepEqual(spec.Tolerations, m.Tolerations) && apiequality.Semantic.DeepEqual(spec.NodeSelector, m.NodeSelector) {
		return false
	}
	spec.Tolerations, spec.NodeSelector = m.Tolerations, m.NodeSelector
	return true
}
