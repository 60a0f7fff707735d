// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package acctest

import (
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
)

// Invoke validates, plans and invokes an action in a walk of its own, as "terraform apply -invoke"
// does. It returns the diagnostics of all three.
func (tf *Terraform) Invoke(t testing.TB, typeName string, config map[string]any) Diagnostics {
	t.Helper()
	return tf.Walk(t).Invoke(typeName, config)
}

// Invoke validates, plans and invokes an action, and calls Between after the plan.
func (w *Walk) Invoke(typeName string, config map[string]any) Diagnostics {
	w.t.Helper()
	i := &Instance{Type: typeName}
	var d Diagnostics
	if !w.Unplanned {
		d = w.planAction(i, config)
	}
	if d.Errors() != "" {
		return d
	}
	if w.Between != nil {
		w.Between()
	}
	actions, encoded := w.action(typeName, config)
	stream, err := actions.InvokeAction(w.ctx, &tfprotov6.InvokeActionRequest{ActionType: typeName, Config: encoded})
	must(w.t, err)
	for event := range stream.Events {
		if progress, is := event.Type.(tfprotov6.ProgressInvokeActionEventType); is {
			w.Progress = append(w.Progress, progress.Message)
		}
		if completed, is := event.Type.(tfprotov6.CompletedInvokeActionEventType); is {
			w.receive(completed.Diagnostics)
			w.warned.once(w.t, i, completed.Diagnostics)
			d = append(d, completed.Diagnostics...)
		}
	}
	return d
}

// PlanAction validates and plans an action.
func (w *Walk) PlanAction(typeName string, config map[string]any) Diagnostics {
	w.t.Helper()
	return w.planAction(&Instance{Type: typeName}, config)
}

// planAction does so for an action that stands for itself among those of the run.
func (w *Walk) planAction(i *Instance, config map[string]any) Diagnostics {
	w.t.Helper()
	actions, encoded := w.action(i.Type, config)
	if !w.Unvalidated {
		validated, err := actions.ValidateActionConfig(w.ctx, &tfprotov6.ValidateActionConfigRequest{ActionType: i.Type, Config: encoded})
		must(w.t, err)
		w.receive(validated.Diagnostics)
		if d := Diagnostics(validated.Diagnostics); d.Errors() != "" {
			return d
		}
	}
	planned, err := actions.PlanAction(w.ctx, &tfprotov6.PlanActionRequest{ActionType: i.Type, Config: encoded})
	must(w.t, err)
	w.receive(planned.Diagnostics)
	w.warned.once(w.t, i, planned.Diagnostics)
	return planned.Diagnostics
}

// action returns what serves actions, and the configuration of one.
func (w *Walk) action(typeName string, config map[string]any) (tfprotov6.ActionServer, *tfprotov6.DynamicValue) {
	w.t.Helper()
	actions, is := w.server.(tfprotov6.ActionServer)
	if !is {
		w.t.Fatal("the provider has no actions")
	}
	return actions, w.encode(w.schema.ActionSchemas[typeName].Schema.ValueType(), config)
}
