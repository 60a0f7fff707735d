// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package workload

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/label"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/toleration"
)

// part names a component of OpenShift's monitoring.
func part(name string) Ref {
	ref := Configs()[0]
	ref.Component = name
	return ref
}

func TestComponents_areNamedApart(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, config := range Configs() {
		for _, one := range Components(config) {
			ref := config
			ref.Component = one.Name
			for _, annotation := range []string{ref.Annotation(toleration.OwnedAnnotation), ref.Annotation(label.OwnedAnnotation)} {
				if problems := validation.IsQualifiedName(annotation); len(problems) > 0 {
					t.Errorf("%s: %v", annotation, problems)
				}
			}
			if seen[ref.String()] || len(one.Pods) == 0 {
				t.Errorf("%s is there twice, or has no workload", ref)
			}
			seen[ref.String()] = true
			for _, key := range one.Pods {
				if kind, known := Lookup("apps/v1", key.Kind); !known || kind.APIVersion != "apps/v1" || key.Namespace != config.Namespace {
					t.Errorf("%s: %v", ref, key)
				}
			}
		}
	}
	ref := part("prometheusK8s")
	for got, want := range map[string]string{
		ref.String():               "ConfigMap/openshift-monitoring/cluster-monitoring-config#prometheusK8s",
		ref.Title():                `prometheusK8s of ConfigMap "openshift-monitoring/cluster-monitoring-config"`,
		ref.Kubectl("x"):           "configmap x -n openshift-monitoring",
		ref.Annotation("a/b"):      "a/b.prometheusK8s",
		ref.Whole().String():       "ConfigMap/openshift-monitoring/cluster-monitoring-config",
		Configs()[1].String():      "ConfigMap/openshift-user-workload-monitoring/user-workload-monitoring-config",
		ref.Whole().Annotation(""): "",
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestEach_formerComponentsAreMeantWhereTheyAreNamedAlone(t *testing.T) {
	t.Parallel()
	const former = "k8sPrometheusAdapter"
	all := part("").Each()
	if len(all) != len(Components(part("")))-1 || slices.Contains(all, part(former)) {
		t.Errorf("all are %v", all)
	}
	if named := part(former).Each(); len(named) != 1 || named[0] != part(former) {
		t.Errorf("named, it is %v", named)
	}
	other := Ref{APIVersion: "v1", Kind: "ConfigMap", Namespace: "shop", Name: "cluster-monitoring-config"}
	if each := other.Each(); len(each) != 1 || each[0] != other || len(Components(other)) > 0 {
		t.Errorf("another ConfigMap means %v", each)
	}
}

func TestDefaultOf_isThatOfTheComponentOrTheKind(t *testing.T) {
	t.Parallel()
	for ref, want := range map[Ref]string{
		part("metricsServer"): master, part("prometheusK8s"): "", {Kind: "DNS", Name: "default"}: master, {Kind: "Deployment"}: "", {Kind: "Widget"}: "",
	} {
		if got := DefaultOf(ref); got != want {
			t.Errorf("%s: %q, want %q", ref, got, want)
		}
	}
}

// configMapOf is a ConfigMap with a text and annotations.
func configMapOf(text string, annotations map[string]string) *unstructured.Unstructured {
	object := NoConfig(part(""))
	object.SetAnnotations(annotations)
	object.Object["data"] = map[string]any{ConfigKey: text}
	return object
}

func TestObserveComponent_readsItsOwnPart(t *testing.T) {
	t.Parallel()
	own, other := `[{"key":"a","operator":"Exists","owner":"x","generation":"g"}]`, `[{"key":"b","operator":"Exists","owner":"x","generation":"g"}]`
	w, err := ObserveComponent(configMapOf("prometheusK8s:\n  nodeSelector: {a: , b: x}\n  tolerations:\n  - key: a\n    operator: Exists\nthanosQuerier:\n  tolerations: [{key: b}]\n", map[string]string{
		toleration.OwnedAnnotation + ".prometheusK8s": own, toleration.OwnedAnnotation + ".thanosQuerier": other,
		toleration.OwnedAnnotation: other, label.OwnedAnnotation + ".prometheusK8s": `[{"key":"b","owner":"x","generation":"g"}]`,
	}), part("prometheusK8s"))
	if err != nil {
		t.Fatal(err)
	}
	if len(w.Tolerations) != 1 || w.Tolerations[0].Key != "a" || len(w.Record) != 1 || w.Record[0].Key != "a" || len(w.LabelRecord) != 1 || w.ClaimPath() != "" {
		t.Errorf("it has %v, %v and %v at %q", w.Tolerations, w.Record, w.LabelRecord, w.ClaimPath())
	}
	if value, there := w.NodeSelector["a"]; !there || value != "" || w.NodeSelector["b"] != "x" || strings.Join(w.PinPath(), ".") != "component.nodeSelector" {
		t.Errorf("it requires %v at %v", w.NodeSelector, w.PinPath())
	}
	if w.Config.Last || w.Config.Alone || len(w.Pods) != 1 || w.Pods[0].Name != "prometheus-k8s" {
		t.Errorf("%+v with the pods of %v", w.Config, w.Pods)
	}
}

// TestRewritten_foreignEntriesStayAsTheyAreWritten, though they say the same in other words.
func TestRewritten_foreignEntriesStayAsTheyAreWritten(t *testing.T) {
	t.Parallel()
	const text = "prometheusK8s:\n  tolerations:\n  - operator: Equal # first\n    key: \"a\"\n    value: \"\"\n"
	w, err := ObserveComponent(configMapOf(text, nil), part("prometheusK8s"))
	if err != nil {
		t.Fatal(err)
	}
	seconds := int64(60)
	list := append(slices.Clone(w.Tolerations), corev1.Toleration{Key: "b", Value: "1", Effect: corev1.TaintEffectNoExecute, TolerationSeconds: &seconds})
	got, err := w.Rewritten(&list, nil)
	if want := text + "  - key: b\n    value: \"1\"\n    effect: NoExecute\n    tolerationSeconds: 60\n"; err != nil || got != want {
		t.Errorf("%v: %q, want %q", err, got, want)
	}
	none := []corev1.Toleration{}
	if got, err := w.Rewritten(&none, nil); err != nil || got != "" {
		t.Errorf("%v: %q", err, got)
	}
}
