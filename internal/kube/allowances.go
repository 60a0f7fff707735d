// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package kube

import (
	"context"
	"errors"
	"reflect"
	"sync"
	"time"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

// allowances are what PodDisruptionBudgets, ResourceQuotas and LimitRanges allow. Controllers count anew with each pod that
// comes or goes, so that they are listed again for a decision in the middle of an apply.
type allowances struct {
	budgets snapshot.Budgets
	quotas  snapshot.Quotas
	ranges  snapshot.LimitRanges
}

// listedAllowances are those that were listed last.
type listedAllowances struct {
	listing sync.Mutex
	mu      sync.Mutex
	now     allowances
	// at is zero before the first list. times counts the lists that differ from the one before.
	at    time.Time
	times int
}

func (l *listedAllowances) known() (now allowances, times int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.now, l.times
}

// listAllowances lists them. Errors: those of the API server, of which ErrForbidden is about PodDisruptionBudgets alone.
func (c *Cluster) listAllowances(ctx context.Context) error {
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
			next.quotas, err = c.quotas(ctx)
			return err
		},
		func() (err error) {
			next.ranges, err = c.limitRanges(ctx)
			return err
		},
	)
	if err != nil {
		return err
	}
	l := &c.allowances
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.at.IsZero() || !reflect.DeepEqual(l.now, next) {
		l.now = next
		l.times++
	}
	l.at = time.Now()
	return forbidden
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
