// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package workloadtolerations_test

import (
	"context"
	"testing"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
)

func TestAccWorkloadTolerations_badInputNamesTheAttributeAndWhatIsAllowed(t *testing.T) {
	t.Parallel()
	shared := openShop(t)
	s := shared
	thing := s.make("Deployment", "web", 1, "", nil)
	// A dry run that conflicts with what its controller still must say tells nothing.
	acctest.Until(t, "its controller has counted its pods", func(context.Context) (bool, error) {
		return s.c.At(t, thing, []string{"status", "availableReplicas"}) == int64(1), nil
	})
	s.c.Observed(t, thing)
	widget, gadget := s.widget("w", nil), s.gadget(nil)
	s.managesWidgets()
	good := s.manage(thing, "team=a:NoExecute", nil)
	tolerations := func(all ...map[string]any) map[string]any {
		list := make([]any, len(all))
		for n, one := range all {
			list[n] = one
		}
		return acctest.With(good, map[string]any{"tolerations": list})
	}
	where := func(changes map[string]any) map[string]any {
		return acctest.With(good, map[string]any{"workload": acctest.With(good["workload"].(map[string]any), changes)})
	}
	at := func(path string) map[string]any { return acctest.With(good, map[string]any{"path": path}) }
	custom := func(config map[string]any, changes map[string]any) map[string]any {
		return acctest.With(config, map[string]any{"workload": acctest.With(config["workload"].(map[string]any), changes)})
	}
	widgets, gadgets := s.manage(widget, "team=a:NoExecute", map[string]any{"path": acctest.WidgetPath}), s.manage(gadget, "team=a:NoExecute", map[string]any{"path": acctest.WidgetPath})
	const inKind, inNamespace, inPath, inWorkload, inTolerations = `AttributeName("workload").AttributeName("kind")`, `AttributeName("workload").AttributeName("namespace")`, `[AttributeName("path")]`, `[AttributeName("workload")]`, `[AttributeName("tolerations")]`
	for name, tt := range map[string]struct {
		config map[string]any
		want   []string
	}{
		"an unknown kind":                           {where(map[string]any{"kind": "Deployement"}), []string{inKind, `"Deployement"`, "StatefulSet", "IngressController", "workload.api_version"}},
		"a kind that the cluster does not serve":    {custom(widgets, map[string]any{"kind": "Gizmo"}), []string{inKind, "Gizmo", "kubectl api-resources"}},
		"a version that the cluster does not serve": {custom(widgets, map[string]any{"api_version": "test.kubetaint.io/v9"}), []string{`AttributeName("workload").AttributeName("api_version")`, "kubectl api-resources"}},
		"a known kind that is not installed":        {s.manage(s.thing("DeploymentConfig", "web"), "a:NoExecute", nil), []string{`Unable to find`, "DeploymentConfig"}},
		"a workload that does not exist":            {where(map[string]any{"name": "nobody"}), []string{inWorkload, `Unable to find Deployment "` + s.namespace + `/nobody"`, "no such object among its deployments.apps", "create it first"}},
		"a namespace that does not exist":           {where(map[string]any{"namespace": "nowhere"}), []string{inWorkload, `"nowhere/web"`}},
		"no namespace":                              {where(map[string]any{"namespace": nil}), []string{inNamespace, "have a namespace: name it"}},
		"an empty namespace":                        {where(map[string]any{"namespace": ""}), []string{inNamespace}},
		"a namespace where there is none":           {s.manage(acctest.Thing{Kind: "DNS", Namespace: "x", Name: "default"}, "a:NoExecute", nil), []string{inNamespace, "have no namespace: leave it out"}},
		"no namespace for a custom kind":            {custom(widgets, map[string]any{"namespace": nil}), []string{inNamespace, "have a namespace: name it"}},
		"no namespace for many of a custom kind":    {custom(widgets, map[string]any{"namespace": nil, "name": nil, "selector": "a=b"}), []string{inNamespace, "have a namespace: name it"}},
		"a namespace for a custom kind without one": {custom(gadgets, map[string]any{"namespace": s.namespace}), []string{inNamespace, "have no namespace: leave it out"}},
		"neither name nor selector":                 {where(map[string]any{"name": nil}), []string{inWorkload, "Exactly one of workload.name and workload.selector"}},
		"both name and selector":                    {where(map[string]any{"selector": "app=web"}), []string{inWorkload, "Exactly one of workload.name and workload.selector"}},
		"an empty name":                             {where(map[string]any{"name": ""}), []string{`AttributeName("name")`}},
		"a selector that does not parse":            {where(map[string]any{"name": nil, "selector": "a in ("}), []string{`AttributeName("selector")`, "does not parse"}},
		"an empty selector":                         {where(map[string]any{"name": nil, "selector": ""}), []string{`AttributeName("selector")`, "match everything"}},

		"a custom kind without a path":               {acctest.With(widgets, map[string]any{"path": nil}), []string{inPath, "set path", "spec.nodePlacement.tolerations"}},
		"a path that is none":                        {at("spec.[tolerations]"), []string{inPath, "joined by dots"}},
		"a path into the metadata":                   {at("metadata.annotations"), []string{inPath, "through the spec"}},
		"a path to a number":                         {at("spec.replicas"), []string{inPath, "is not a list"}},
		"a path to an object":                        {at("spec.template.metadata"), []string{inPath, "is not a list"}},
		"a path through a number":                    {at("spec.replicas.tolerations"), []string{inPath, "not an object"}},
		"a path to a list of something else":         {at("spec.template.spec.containers"), []string{inPath, "not a list of tolerations"}},
		"a path that the kind does not have":         {at("spec.template.spec.placement.tolerations"), []string{inPath, "does not keep"}},
		"a path that the custom kind does not have":  {acctest.With(widgets, map[string]any{"path": "spec.nodes.tolerations"}), []string{inPath, "does not keep"}},
		"a path that the custom kind has as another": {acctest.With(widgets, map[string]any{"path": "spec.size"}), []string{inPath, "is not a list"}},

		"no tolerations":                   {tolerations(), []string{inTolerations, "at least 1"}},
		"a bad key":                        {tolerations(map[string]any{"key": "no spaces"}), []string{`AttributeName("key")`, "qualified name"}},
		"a bad effect":                     {tolerations(map[string]any{"key": "k", "effect": "NoExec"}), []string{`AttributeName("effect")`, "NoSchedule, PreferNoSchedule, NoExecute"}},
		"a bad operator":                   {tolerations(map[string]any{"key": "k", "operator": "In"}), []string{`AttributeName("operator")`, "Equal, Exists, Lt, Gt"}},
		"a bad value":                      {tolerations(map[string]any{"key": "k", "value": "a/b"}), []string{`AttributeName("value")`, "label value"}},
		"seconds on another effect":        {tolerations(map[string]any{"key": "k", "effect": "NoSchedule", "toleration_seconds": 5}), []string{`AttributeName("effect")`, "must be NoExecute where toleration_seconds is set"}},
		"seconds on every effect":          {tolerations(map[string]any{"key": "k", "toleration_seconds": 5}), []string{`AttributeName("effect")`, "must be NoExecute"}},
		"a value with Exists":              {tolerations(map[string]any{"key": "k", "operator": "Exists", "value": "v"}), []string{`AttributeName("value")`, "must be empty where operator is Exists"}},
		"no key without Exists":            {tolerations(map[string]any{"effect": "NoExecute"}), []string{`AttributeName("operator")`, "must be Exists where key is empty"}},
		"Lt with a value that is a word":   {tolerations(map[string]any{"key": "k", "operator": "Lt", "value": "five"}), []string{`AttributeName("value")`, "whole number"}},
		"Gt with a value that is no whole": {tolerations(map[string]any{"key": "k", "operator": "Gt", "value": "1.5"}), []string{`AttributeName("value")`, "whole number"}},
		"Lt without a value":               {tolerations(map[string]any{"key": "k", "operator": "Lt"}), []string{`AttributeName("value")`, "whole number"}},
		"the same twice in other words":    {tolerations(map[string]any{"key": "k", "value": ""}, map[string]any{"key": "k", "operator": "Equal"}), []string{inTolerations, "Unable to use toleration \"k\" twice"}},
		"the same with two ends":           {tolerations(map[string]any{"key": "k", "effect": "NoExecute"}, map[string]any{"key": "k", "effect": "NoExecute", "toleration_seconds": 5}), []string{inTolerations, "Unable to use toleration", "keep one of them"}},
		"another way to retire":            {acctest.With(good, map[string]any{"retire": "later"}), []string{`AttributeName("retire")`, "when_unneeded"}},
		"a timeout that is no duration":    {acctest.With(good, map[string]any{"timeouts": map[string]any{"create": "soon"}}), []string{"soon"}},

		// The test bed's gate is off, and only the API server can tell.
		"Lt on a cluster whose gate is off": {tolerations(map[string]any{"key": "k", "operator": "Lt", "value": "5"}), []string{inTolerations, "the API server would refuse it", "TaintTolerationComparisonOperators", "A dry run"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s.on(t).refused(s.fresh(), tt.config, tt.want...)
		})
	}
}
