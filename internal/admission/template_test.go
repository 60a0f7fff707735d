// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package admission

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
)

func TestRules_Tolerated(t *testing.T) {
	t.Parallel()
	const both = "node.kubernetes.io/not-ready:NoExecute for 300s, node.kubernetes.io/unreachable:NoExecute for 300s"
	dedicated := corev1.Toleration{Key: "dedicated", Operator: corev1.TolerationOpExists}
	team := corev1.Toleration{Key: "team", Operator: corev1.TolerationOpExists}
	rules := (&Rules{Namespaces: map[string]Namespace{
		"shop": {Labels: labels.Set{"env": "prod"}, Defaults: []corev1.Toleration{dedicated}},
		"soon": {Defaults: []corev1.Toleration{{Key: corev1.TaintNodeUnreachable, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute}}},
	}}).
		With(Policy{Name: "all-of-prod", Match: Match{NamespaceSelector: "env=prod"}, Tolerations: []corev1.Toleration{team}}).
		With(Policy{Name: "some-pods", Match: Match{All: true, PodSelector: "!canary"}, Tolerations: []corev1.Toleration{{Key: "never", Operator: corev1.TolerationOpExists}}}).
		With(Policy{Name: "gpus", Match: Match{All: true, Requests: []string{"example.com/gpu"}}, Tolerations: []corev1.Toleration{{Key: "gpu", Operator: corev1.TolerationOpExists}}})
	for name, tt := range map[string]struct {
		rules     *Rules
		namespace string
		template  []corev1.Toleration
		want      string
	}{
		"DefaultTolerationSeconds gives both":             {want: both},
		"those of the template come first":                {template: []corev1.Toleration{team}, want: "team, " + both},
		"none that the template has":                      {template: []corev1.Toleration{{Key: corev1.TaintNodeUnreachable, Operator: corev1.TolerationOpExists}}, want: "node.kubernetes.io/unreachable, node.kubernetes.io/not-ready:NoExecute for 300s"},
		"none to pods that tolerate everything":           {template: []corev1.Toleration{{Operator: corev1.TolerationOpExists}}, want: "Exists"},
		"one for another effect is none":                  {template: []corev1.Toleration{{Key: corev1.TaintNodeNotReady, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoSchedule}}, want: "node.kubernetes.io/not-ready:NoSchedule, " + both},
		"the namespace's defaults, then policies":         {rules: rules, namespace: "shop", want: both + ", dedicated, team"},
		"defaults of a namespace replace what they cover": {rules: rules, namespace: "soon", want: "node.kubernetes.io/not-ready:NoExecute for 300s, node.kubernetes.io/unreachable:NoExecute"},
		"nothing of policies that select pods":            {rules: rules, namespace: "other", want: both},
	} {
		var got []string
		for _, one := range tt.rules.Tolerated(tt.namespace, tt.template) {
			got = append(got, taint.FormatToleration(one))
		}
		if all := strings.ReplaceAll(strings.Join(got, ", "), " Exists", ""); all != tt.want {
			t.Errorf("%s: %s", name, all)
		}
	}
}
