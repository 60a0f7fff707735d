// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package fw

import (
	"context"
	"sync"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-log/tflog"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/machineset"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/rollout"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
)

const (
	// heirKey is where the plan of a destroy says that another object takes over.
	heirKey = "heir"
	// hearing is how long after the provider's start a plan waits to hear of an heir.
	// Terraform walks resources side by side, and has begun with all that can begin by
	// then, unless it is told to take one after another.
	hearing = 500 * time.Millisecond
)

// Heirs are the objects that a run is about to create, by the id that they begin with: it
// says what they want, and where. An object that has been changed since keeps its id and
// wants something else: what it leaves, nobody takes over.
//
// Where a resource is renamed without a moved block, Terraform destroys one object and
// creates another with the same id, in any order and often both at once. If the first
// gave up what the second is about to take over, that would be gone for a moment, and
// pods would come to the nodes meanwhile. While Terraform plans, one process hears of
// both; while it applies, one may be over before the other begins. So the plan of the
// destroy remembers what it has heard.
type Heirs struct {
	byID   sync.Map
	opened time.Time
}

type heir struct {
	once      sync.Once
	announced chan struct{}
}

// NewHeirs begins a run.
func NewHeirs() *Heirs { return &Heirs{opened: time.Now()} }

func (h *Heirs) of(id string) *heir {
	known, _ := h.byID.LoadOrStore(id, &heir{announced: make(chan struct{})})
	return known.(*heir) //nolint:forcetypeassert // Nothing else is stored.
}

// Announce tells that an object with this id is about to be created.
func (h *Heirs) Announce(ctx context.Context, id string) {
	tflog.Debug(ctx, "about to be created", map[string]any{"id": id})
	one := h.of(id)
	one.once.Do(func() { close(one.announced) })
}

// PassOn says whether an object that wants just the same is about to be created in this
// run, and remembers it for the destroy that is being planned. The id is that of the object
// that goes, and fresh the one that it would be created with as it is now. Where it has
// heard of none, it waits for one until half a second after the provider's start.
func (h *Heirs) PassOn(ctx context.Context, id, fresh string, plan PrivateWriter, diags *diag.Diagnostics) bool {
	there, value := false, "false"
	if id == fresh && h.heard(ctx, h.of(id).announced) {
		there, value = true, "true"
	}
	diags.Append(plan.SetKey(ctx, heirKey, []byte(value))...)
	return there
}

func (h *Heirs) heard(ctx context.Context, announced <-chan struct{}) bool {
	patience := time.NewTimer(time.Until(h.opened.Add(hearing)))
	defer patience.Stop()
	select {
	case <-announced:
		return true
	case <-patience.C:
	case <-ctx.Done():
	}
	// Both may have been there.
	select {
	case <-announced:
		return true
	default:
		return false
	}
}

// HandOver hands over the record of what machines of MachineSets kept, from an object that is
// destroyed to one with the same id that this process creates: only the first can prove what it
// has written. The two are applied in any order and often both at once, so that each is noted
// before it looks for the other. A destroy without an heir that reaches machines removes from
// them what they kept, and hands over nothing.
func (d *Data) HandOver(ctx context.Context, target machineset.Target, desired machineset.Desired) error {
	var other any
	claim, both := desired.Claim, false
	from, to := claim, claim
	switch {
	case claim.Heir, claim.Release && desired.Rollout.Strategy == machineset.TemplateOnly:
		d.Succeeded.Store(claim.Owner, claim)
		other, _ = d.Created.Load(claim.Owner)
		to, both = other.(taint.Claim)
	case claim.TakeOver:
		other, _ = d.Succeeded.Load(claim.Owner)
		from, both = other.(taint.Claim)
	}
	if !both {
		return nil
	}
	return rollout.HandOver(ctx, d.Cluster, target, from, to)
}

// ForgetHeir takes back what the plan of a destroy remembered that failed: its private
// state is the object's then, and a replacement destroys by it without a plan of its own.
func ForgetHeir(ctx context.Context, planned PrivateReader, plan PrivateWriter, diags *diag.Diagnostics) {
	if HasHeir(ctx, planned, diags) {
		diags.Append(plan.SetKey(ctx, heirKey, []byte("false"))...)
	}
}

// HasHeir says whether the plan of this destroy has heard of an object that takes over
// what is destroyed.
func HasHeir(ctx context.Context, planned PrivateReader, diags *diag.Diagnostics) bool {
	value, found := planned.GetKey(ctx, heirKey)
	diags.Append(found...)
	return string(value) == "true"
}
