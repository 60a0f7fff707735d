// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
)

// outcome is what the tests say of a mutant.
type outcome int

const (
	survived outcome = iota
	caught
	// invalid mutants do not compile: others are drawn for them.
	invalid
)

// score is the outcome of many mutants.
type score struct {
	tested, caught, equivalent int
	survivors                  []mutant
}

// String is the sum.
func (s *score) String() string {
	return fmt.Sprintf("%d of %d caught (%d %%), %d equivalent", s.caught, s.tested, 100*s.caught/max(s.tested, 1), s.equivalent)
}

// verdict is an error where too few were caught.
func (s *score) verdict() error {
	if float64(s.caught) < required*float64(s.tested) {
		return fmt.Errorf("fewer than %.0f %% were caught: write the missing tests, or name what is equivalent in equivalents.go", 100*required)
	}
	return nil
}

// draw tests mutants in the order that a seed gives, until the number is reached. Those
// that are known to be equivalent are counted and passed over. The result is the same
// however many are tested in parallel.
func draw(ctx context.Context, all []mutant, seed uint64, count, workers int, test func(context.Context, mutant) (outcome, error)) (*score, error) {
	order := rand.New(rand.NewPCG(seed, 0)).Perm(len(all))
	s := &score{}
	for len(order) > 0 && s.tested < count {
		batch := make([]mutant, 0, count-s.tested)
		for len(order) > 0 && len(batch) < cap(batch) {
			m := all[order[0]]
			order = order[1:]
			if m.equivalent() {
				s.equivalent++
				continue
			}
			batch = append(batch, m)
		}
		outcomes, err := testAll(ctx, batch, workers, test)
		if err != nil {
			return nil, err
		}
		s.add(batch, outcomes)
	}
	return s, nil
}

func (s *score) add(batch []mutant, outcomes []outcome) {
	for i, o := range outcomes {
		switch o {
		case survived:
			s.tested++
			s.survivors = append(s.survivors, batch[i])
		case caught:
			s.tested++
			s.caught++
		case invalid:
		}
	}
}

// testAll tests mutants, so many in parallel, and returns their outcomes in order.
func testAll(ctx context.Context, batch []mutant, workers int, test func(context.Context, mutant) (outcome, error)) ([]outcome, error) {
	outcomes, errs := make([]outcome, len(batch)), make([]error, len(batch))
	next := make(chan int)
	var wg sync.WaitGroup
	for range max(workers, 1) {
		wg.Go(func() {
			for i := range next {
				outcomes[i], errs[i] = test(ctx, batch[i])
			}
		})
	}
	for i := range batch {
		next <- i
	}
	close(next)
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	return outcomes, ctx.Err()
}
