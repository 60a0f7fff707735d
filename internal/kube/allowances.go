// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package kube

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

// allowances are what PodDisruptionBudgets, ResourceQuotas and LimitRanges allow. Controllers count anew with each pod that
// comes or goes, so that they are listed again for a decision in the middle of an apply. ResourceQuotas and LimitRanges
// decide about new pods alone: they are not read before a change needs them.
type allowances struct {
	budgets snapshot.Budgets
	quotas  snapshot.Quotas
	ranges  snapshot.LimitRanges
	// readQuotas and readRanges tell lists that may not be read from those that were not needed so far.
	readQuotas, readRanges bool
}

// listedAllowances are those that were listed last.
type listedAllowances struct {
	listing sync.Mutex
	mu      sync.Mutex
	now     allowances
	// at is zero before the first list of PodDisruptionBudgets. times counts the lists that differ from the one before.
	at    time.Time
	times int
	// quotas and ranges are the first lists.
	quotas, ranges once[bool]
}

func (l *listedAllowances) known() (now allowances, times int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.now, l.times
}

// note keeps what was listed, and nothing else: another list may have ended meanwhile.
func (l *listedAllowances) note(edit func(*allowances)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	next := l.now
	if edit(&next); !reflect.DeepEqual(l.now, next) {
		l.now = next
		l.times++
	}
}

// first returns what lists something once, and keeps it.
func (l *listedAllowances) first(ctx context.Context, done *once[bool], list func() (func(*allowances), error)) func() error {
	return func() error {
		_, err := done.get(ctx, func() (bool, error) {
			keep, err := list()
			if err == nil {
				l.note(keep)
			}
			return true, err
		})
		return err
	}
}

// listAllowances lists PodDisruptionBudgets, and those of the others that were read before. Errors: those of the API
// server, of which ErrForbidden is about PodDisruptionBudgets alone.
func (c *Cluster) listAllowances(ctx context.Context) error {
	l := &c.allowances
	before, _ := l.known()
	next := allowances{budgets: snapshot.Budgets{}}
	var forbidden error
	err := parallel(
		func() error {
			if err := c.budgetsInto(ctx, next.budgets); !errors.Is(err, ErrForbidden) {
				return err
			} else {
				forbidden = err
			}
			return nil
		},
		func() (err error) {
			if before.readQuotas {
				next.quotas, err = c.quotas(ctx)
			}
			return err
		},
		func() (err error) {
			if before.readRanges {
				next.ranges, err = c.limitRanges(ctx)
			}
			return err
		},
	)
	if err != nil {
		return err
	}
	l.note(func(now *allowances) {
		now.budgets = next.budgets
		if before.readQuotas {
			now.quotas = next.quotas
		}
		if before.readRanges {
			now.ranges = next.ranges
		}
	})
	l.mu.Lock()
	defer l.mu.Unlock()
	l.at = time.Now()
	return forbidden
}

// learnAllowances lists ResourceQuotas and LimitRanges once a change needs them, each once, and reports whether snapshots
// have more than this one. Without the right to list them, they stay nil.
func (c *Cluster) learnAllowances(ctx context.Context, s *snapshot.Snapshot, needs Needs) (learned bool, err error) {
	recreates := needs.Recreates || slices.ContainsFunc(needs.Evicted, func(p *snapshot.Pod) bool { return p.Controller != nil })
	if !recreates && !needs.Places {
		return false, nil
	}
	l := &c.allowances
	lists := []func() error{l.first(ctx, &l.ranges, func() (func(*allowances), error) {
		ranges, err := c.limitRanges(ctx)
		return func(now *allowances) { now.ranges, now.readRanges = ranges, true }, err
	})}
	if recreates {
		lists = append(lists, l.first(ctx, &l.quotas, func() (func(*allowances), error) {
			quotas, err := c.quotas(ctx)
			return func(now *allowances) { now.quotas, now.readQuotas = quotas, true }, err
		}))
	}
	if err := parallel(lists...); err != nil {
		return false, err
	}
	now, _ := l.known()
	return s.LimitRanges == nil && now.ranges != nil || recreates && s.Quotas == nil && now.quotas != nil, nil
}

// refreshAllowances lists them again where that was done a while ago.
func (c *Cluster) refreshAllowances(ctx context.Context) error {
	l := &c.allowances
	l.listing.Lock()
	defer l.listing.Unlock()
	l.mu.Lock()
	at := l.at
	l.mu.Unlock()
	if at.IsZero() || time.Since(at) < shelfLife {
		return nil
	}
	if err := c.listAllowances(ctx); !errors.Is(err, ErrForbidden) {
		return err
	}
	return nil
}
