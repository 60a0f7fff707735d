// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package workloadtolerations_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/toleration"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/workload"
)

// byHand is a text as an administrator writes it.
const byHand = `# Ask the platform team before you change this.
enableUserWorkload: true

prometheusK8s:
    retention: 15d   # days
    tolerations:
    - {key: foreign, operator: Exists} # for storage
    volumeClaimTemplate:
        spec: {resources: {requests: {storage: 40Gi}}}

# Alerts
alertmanagerMain:
    enableUserAlertmanagerConfig: true
`

// inMonitoring runs a test where OpenShift's monitoring has a text, "" for none, and three of its
// workloads, whose operator begins when it is told to.
func inMonitoring(t *testing.T, text string, test func(t *testing.T, s *shop, begin func())) {
	t.Helper()
	inShop(t, func(t *testing.T, s *shop) {
		if text != "" {
			s.c.WriteConfig(t, text)
		}
		there := *s
		there.namespace = s.c.MonitoringNamespace(t)
		foreign := "foreign*"
		if text == "" {
			foreign = ""
		}
		there.make("StatefulSet", "prometheus-k8s", 2, foreign, nil)
		there.make("Deployment", "thanos-querier", 2, "", nil)
		there.make("Deployment", "prometheus-operator", 1, "", nil)
		test(t, &there, s.c.Monitor(t))
	})
}

// monitoring is the configuration of tolerations of all components, or of one of them by path.
func (s *shop) monitoring(tolerations string, more map[string]any) map[string]any {
	s.t.Helper()
	ref := acctest.MonitoringConfig()
	return s.manage(acctest.Thing{APIVersion: ref.APIVersion, Kind: ref.Kind, Namespace: ref.Namespace, Name: ref.Name}, tolerations, more)
}

func component(name string) map[string]any {
	return map[string]any{"path": name + ".tolerations"}
}

// text is what the ConfigMap has.
func (s *shop) text() string {
	s.t.Helper()
	found := s.c.Config(s.t)
	if found == nil {
		s.t.Fatal("there is no ConfigMap")
	}
	return found.Data[workload.ConfigKey]
}

// marks are the components of which the ConfigMap has a record.
func (s *shop) marks() []string {
	s.t.Helper()
	var out []string
	for name := range s.c.Config(s.t).Annotations {
		if component, is := strings.CutPrefix(name, toleration.OwnedAnnotation+"."); is {
			out = append(out, component)
		}
	}
	slices.Sort(out)
	return out
}

// everyComponent are those that a configuration without a path means.
func everyComponent() []string {
	var out []string
	for _, ref := range acctest.MonitoringConfig().Each() {
		out = append(out, ref.Component)
	}
	return out
}

func TestMonitoring_everyComponentGetsTheTolerations(t *testing.T) {
	t.Parallel()
	inMonitoring(t, byHand, func(t *testing.T, s *shop, begin func()) {
		config, i := s.monitoring("team=a:NoExecute", nil), s.fresh()
		done := make(chan acctest.Diagnostics, 1)
		go func() { done <- s.tf.Apply(t, i, config) }()
		s.until("every component is written", func() bool { return len(s.marks()) == len(everyComponent()) })
		select {
		case d := <-done:
			t.Fatalf("the apply has not waited for the pods: %s%s", d.Errors(), d.Warnings())
		default:
		}
		begin()
		d := <-done
		if d.Errors() != "" {
			t.Fatal(d.Errors())
		}
		says(t, "warning", d.Warnings(), "restarts 5 pods", "cluster-monitoring-config#prometheusK8s: 2 pods",
			`The first toleration of prometheusOperator of ConfigMap "openshift-monitoring/cluster-monitoring-config" replaces its operator's own: node-role.kubernetes.io/master`)
		s.wantPods("prometheus-k8s", 2, "foreign* team=a:NoExecute", "StatefulSet")
		s.wantPods("thanos-querier", 2, "team=a:NoExecute", "Deployment")
		const own = "  - key: team\n    operator: Equal\n    value: a\n    effect: NoExecute\n"
		ours := strings.ReplaceAll(own, "\n  ", "\n    ")
		want := strings.NewReplacer("# for storage\n", "# for storage\n  "+strings.TrimSuffix(ours, "  "), "alertmanagerMain:\n", "alertmanagerMain:\n    tolerations:\n  "+ours).Replace(byHand)
		for _, name := range everyComponent() {
			if !strings.Contains(byHand, "\n"+name+":") {
				want += name + ":\n  tolerations:\n" + own
			}
		}
		if diff := cmp.Diff(want, s.text()); diff != "" {
			t.Fatal(diff)
		}
		if diff := cmp.Diff(everyComponent(), s.marks()); diff != "" {
			t.Fatal(diff)
		}
		s.quiet(i, config)
		s.apply(i, s.monitoring("team=b:NoExecute", nil))
		s.destroy(i)
		if diff := cmp.Diff(byHand, s.text()); diff != "" || len(s.c.Config(t).Annotations) > 0 {
			t.Fatalf("the ConfigMap is not as it was: %s%v", diff, s.c.Config(t).Annotations)
		}
	})
}

func TestMonitoring_oneComponentByPath(t *testing.T) {
	t.Parallel()
	inMonitoring(t, byHand, func(t *testing.T, s *shop, begin func()) {
		begin()
		i := s.fresh()
		config := s.monitoring("team=a:NoExecute", component("thanosQuerier"))
		s.apply(i, config)
		if diff := cmp.Diff([]string{"thanosQuerier"}, s.marks()); diff != "" {
			t.Fatal(diff)
		}
		s.wantPods("thanos-querier", 2, "team=a:NoExecute", "Deployment")
		other := s.fresh()
		s.apply(other, s.monitoring("team=a:NoExecute", component("prometheusOperator")))
		s.refused(s.fresh(), s.monitoring("team=a:NoExecute", nil), `Unable to claim toleration "team=a:NoExecute" of prometheusOperator of ConfigMap`,
			"kubetaint.io/owned-tolerations.prometheusOperator", "kubectl edit configmap cluster-monitoring-config -n openshift-monitoring")
		s.destroy(i)
		if diff := cmp.Diff([]string{"prometheusOperator"}, s.marks()); diff != "" {
			t.Fatal(diff)
		}
		s.destroy(other)
		if diff := cmp.Diff(byHand, s.text()); diff != "" {
			t.Fatal(diff)
		}
	})
}

// TestMonitoring_aConfigMapThatIsNotThereIsCreated, and goes again unless others have put something into it.
func TestMonitoring_aConfigMapThatIsNotThereIsCreated(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		meanwhile func(c *corev1.ConfigMap)
		left      string
	}{
		"it goes with the last entry": {func(*corev1.ConfigMap) {}, ""},
		"text of others stays": {func(c *corev1.ConfigMap) {
			c.Data[workload.ConfigKey] = "enableUserWorkload: true\n" + c.Data[workload.ConfigKey]
		}, "map[config.yaml:enableUserWorkload: true\n]"},
		"another key stays":             {func(c *corev1.ConfigMap) { c.Data["other"] = "x" }, "map[config.yaml: other:x]"},
		"a label of others stays":       {func(c *corev1.ConfigMap) { c.Labels = map[string]string{"a": "b"} }, "map[config.yaml:]"},
		"an annotation of others stays": {func(c *corev1.ConfigMap) { c.Annotations["a"] = "b" }, "map[config.yaml:]"},
		"an entry of others in a component stays": {func(c *corev1.ConfigMap) {
			c.Data[workload.ConfigKey] = strings.Replace(c.Data[workload.ConfigKey], "thanosQuerier:\n", "thanosQuerier:\n  logLevel: info\n", 1)
		}, "map[config.yaml:thanosQuerier:\n  logLevel: info\n]"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inMonitoring(t, "", func(t *testing.T, s *shop, begin func()) {
				begin()
				i := s.fresh()
				config := s.monitoring("team=a:NoExecute", nil)
				s.apply(i, config)
				found := s.c.Config(t)
				if _, created := found.Annotations[workload.CreatedAnnotation]; !created {
					t.Fatalf("the ConfigMap has the annotations %v", slices.Collect(maps.Keys(found.Annotations)))
				}
				tt.meanwhile(found)
				if _, err := s.c.Admin.CoreV1().ConfigMaps(found.Namespace).Update(t.Context(), found, metav1.UpdateOptions{}); err != nil {
					t.Fatal(err)
				}
				s.quiet(i, config)
				s.destroy(i)
				left := ""
				if found = s.c.Config(t); found != nil {
					left = fmt.Sprint(found.Data)
					for name := range found.Annotations {
						if strings.HasPrefix(name, "kubetaint.io/") {
							t.Errorf("the annotation %s is left", name)
						}
					}
				}
				if left != tt.left {
					t.Errorf("%q is left, want %q", left, tt.left)
				}
			})
		})
	}
}

// TestMonitoring_aMadeUpMarkOfCreationDeletesNothing has another writer mark their empty ConfigMap as created by
// the provider. A copy counts only as long as the resource holds it.
func TestMonitoring_aMadeUpMarkOfCreationDeletesNothing(t *testing.T) {
	t.Parallel()
	for name, copied := range map[string]bool{"made up": false, "copied from one that was deleted": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inMonitoring(t, "", func(t *testing.T, s *shop, begin func()) {
				begin()
				i, config, value := s.fresh(), s.monitoring("team=a:NoExecute", nil), "true"
				maps := s.c.Admin.CoreV1().ConfigMaps(s.namespace)
				if copied {
					s.apply(i, config)
					value = s.c.Config(t).Annotations[workload.CreatedAnnotation]
					if err := maps.Delete(t.Context(), acctest.MonitoringConfig().Name, metav1.DeleteOptions{}); err != nil {
						t.Fatal(err)
					}
					if d := s.tf.Walk(t).Refresh(i); d.Errors() != "" {
						t.Fatal(d.Errors())
					}
				}
				theirs := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: acctest.MonitoringConfig().Name, Annotations: map[string]string{workload.CreatedAnnotation: value}}}
				if _, err := maps.Create(t.Context(), theirs, metav1.CreateOptions{}); err != nil {
					t.Fatal(err)
				}
				s.apply(i, config)
				s.destroy(i)
				if left := s.c.Config(t); left == nil || left.Annotations[workload.CreatedAnnotation] != value {
					t.Errorf("of their ConfigMap there is %v", left)
				}
			})
		})
	}
}

func TestMonitoring_whatOthersRemoveIsAddedAgain(t *testing.T) {
	t.Parallel()
	inMonitoring(t, byHand, func(t *testing.T, s *shop, begin func()) {
		begin()
		i := s.fresh()
		config := s.monitoring("team=a:NoExecute", nil)
		s.apply(i, config)
		written := s.text()
		maps := s.c.Admin.CoreV1().ConfigMaps(s.namespace)
		for what, remove := range map[string]func() error{
			"the entries of one component": func() error {
				found := s.c.Config(t)
				found.Data[workload.ConfigKey] = written[:strings.Index(written, "thanosQuerier:")]
				_, err := maps.Update(t.Context(), found, metav1.UpdateOptions{})
				return err
			},
			"the ConfigMap": func() error { return maps.Delete(t.Context(), acctest.MonitoringConfig().Name, metav1.DeleteOptions{}) },
		} {
			if err := remove(); err != nil {
				t.Fatal(err)
			}
			s.planned(i, config)
			s.apply(i, config)
			if diff := cmp.Diff(everyComponent(), s.marks()); diff != "" {
				t.Fatalf("%s: %s", what, diff)
			}
		}
		s.destroy(i)
	})
}
