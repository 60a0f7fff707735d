// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package acctest

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/fakeapi"
)

const (
	// WidgetVersion is the API version of the custom kinds of tests: Widget, whose
	// objects have a namespace, and Gadget, whose objects have none.
	WidgetVersion = widgetGroup + "/v1"
	// WidgetPath is where their tolerations stand.
	WidgetPath = "spec.placement.tolerations"

	widgetGroup = "test.kubetaint.io"
)

// Widgets are the custom kinds for OnFake, which drops no field that they do not know.
func Widgets() []fakeapi.Kind {
	widget, gadget := fakeapi.CustomKind(WidgetVersion, "Widget", "widgets"), fakeapi.CustomKind(WidgetVersion, "Gadget", "gadgets")
	widget.Status, gadget.Status, gadget.Cluster = false, false, true
	return []fakeapi.Kind{widget, gadget}
}

// widgetDefinition is a custom resource definition that knows a list of
// tolerations, and drops every field that it does not know.
const widgetDefinition = `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"%[1]ss.test.kubetaint.io"},
"spec":{"group":"test.kubetaint.io","scope":"%[3]s","names":{"plural":"%[1]ss","singular":"%[1]s","kind":"%[2]s"},
"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object","properties":{"spec":{"type":"object","properties":{
"size":{"type":"integer"},
"placement":{"type":"object","properties":{"zone":{"type":"string"},"tolerations":{"type":"array","items":{"type":"object","properties":{
"key":{"type":"string"},"operator":{"type":"string"},"value":{"type":"string"},"effect":{"type":"string"},"tolerationSeconds":{"type":"integer","format":"int64"}}}}}}}}}}}}]}}`

// Widget makes an object of the custom kind with a namespace. A nil spec is one
// without a place for tolerations.
func (c *Cluster) Widget(t testing.TB, namespace, name string, spec map[string]any) Thing {
	t.Helper()
	c.defineWidgets(t, "Widget", "Namespaced")
	return c.widget(t, Thing{APIVersion: WidgetVersion, Kind: "Widget", Namespace: namespace, Name: name}, spec)
}

// Gadget makes an object of the custom kind without a namespace.
func (c *Cluster) Gadget(t testing.TB, name string, spec map[string]any) Thing {
	t.Helper()
	c.defineWidgets(t, "Gadget", "Cluster")
	return c.widget(t, Thing{APIVersion: WidgetVersion, Kind: "Gadget", Name: name}, spec)
}

func (c *Cluster) defineWidgets(t testing.TB, kind, scope string) {
	t.Helper()
	singular := strings.ToLower(kind)
	c.Define(t, schema.GroupVersionResource{Group: widgetGroup, Version: "v1", Resource: singular + "s"}, fmt.Sprintf(widgetDefinition, singular, kind, scope))
}

func (c *Cluster) widget(t testing.TB, thing Thing, spec map[string]any) Thing {
	t.Helper()
	if spec == nil {
		spec = map[string]any{"size": 3}
	}
	c.Make(t, thing, map[string]any{"spec": spec, "metadata": map[string]any{"labels": map[string]any{"app": thing.Name}}})
	return thing
}

// WidgetProvider returns a provider block with the documented rights, and those
// that a user adds for custom resources that are managed by path.
func (c *Cluster) WidgetProvider(t testing.TB) map[string]any {
	t.Helper()
	return c.ProviderAt(t, c.REST.Host, c.TokenAnd(t, rbacv1.PolicyRule{
		APIGroups: []string{widgetGroup}, Resources: []string{"widgets", "gadgets"}, Verbs: []string{"get", "list", "patch"},
	}))
}

// UninstallWidgets ends that Widgets and Gadgets are served by a fake API server, as deleting their
// CustomResourceDefinitions does.
func (c *Cluster) UninstallWidgets() {
	group := schema.GroupVersion{Group: widgetGroup, Version: "v1"}
	c.api.Withdraw(group.WithResource("widgets"), group.WithResource("gadgets"))
}

// SetOwner gives an object an owner, as an operator does.
func (c *Cluster) SetOwner(t testing.TB, thing Thing, owner *unstructured.Unstructured) {
	t.Helper()
	c.Change(t, thing, "operator", fmt.Sprintf(`{"metadata":{"ownerReferences":[{"apiVersion":%q,"kind":%q,"name":%q,"uid":%q}]}}`,
		owner.GetAPIVersion(), owner.GetKind(), owner.GetName(), owner.GetUID()))
}

// Operate plays an operator until the test ends: it copies the list at a path of
// an object to that of the workload that it makes of it, when it is told to.
func (c *Cluster) Operate(t testing.TB, object Thing, path []string, operand Thing, to []string) (begin func()) {
	t.Helper()
	return playing(t, func(ctx context.Context) { c.Copy(ctx, object, path, operand, to) })
}

// playing plays a controller until the test ends, once it is told to begin: it keeps looking.
func playing(t testing.TB, look func(context.Context)) (begin func()) {
	t.Helper()
	told := make(chan struct{})
	ctx, stop := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() {
		select {
		case <-told:
		case <-ctx.Done():
		}
		for ctx.Err() == nil {
			look(ctx)
			select {
			case <-time.After(20 * time.Millisecond):
			case <-ctx.Done():
			}
		}
	})
	t.Cleanup(func() {
		stop()
		wg.Wait()
	})
	return sync.OnceFunc(func() { close(told) })
}
