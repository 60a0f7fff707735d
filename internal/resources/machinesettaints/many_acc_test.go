// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package machinesettaints_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
)

// chance returns the seed of a test: KUBETAINT_SEED, or another one in each run. It is
// in the test's name.
func chance(t *testing.T) uint64 {
	t.Helper()
	given := os.Getenv("KUBETAINT_SEED")
	if given == "" {
		return uint64(rand.Uint32())
	}
	seed, err := strconv.ParseUint(given, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return seed
}

// crowd is a strategy for twenty machines.
type crowd struct {
	rollout map[string]any
	// least is how many serve at every moment, replaces whether machines are replaced by
	// new ones.
	least    int
	replaces bool
}

// TestAccMachineSetTaints_twentyMachines adds, changes and removes taints with each
// strategy on twenty machines that come and go as chance has it, and counts at every
// change how many serve. KUBETAINT_SEED replays one. The strategies share two
// MachineSets, since a cluster's worth of machines takes its time to come.
func TestAccMachineSetTaints_twentyMachines(t *testing.T) {
	t.Parallel()
	acctest.Exhaustive(t)
	seed := chance(t)
	for name, crowds := range map[string][]crowd{
		"template_only, in_place and rolling": {
			{map[string]any{"strategy": "template_only"}, 20, false},
			{map[string]any{"strategy": "in_place"}, 20, false},
			{map[string]any{"strategy": "rolling", "max_unavailable": 5}, 15, true},
		},
		"surge and scale_to_zero": {
			{map[string]any{"strategy": "surge", "max_surge": 6}, 20, true},
			{map[string]any{"strategy": "scale_to_zero"}, 0, true},
		},
	} {
		t.Run(fmt.Sprintf("%s/seed_%d", name, seed), func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			p := s.pool(20, func(m *acctest.MachineSet) { m.Cloud = map[string]any{"jitter": "1500ms", "seed": seed} })
			for _, c := range crowds {
				i := newInstance()
				for _, taints := range []string{"team=a:NoSchedule", "team=b:NoSchedule spot:PreferNoSchedule", ""} {
					s.crowded(p, i, c, taints)
				}
			}
		})
	}
}

// crowded makes one change, and looks at who served meanwhile.
func (s *stage) crowded(p *acctest.Pool, i *acctest.Instance, c crowd, taints string) {
	s.Helper()
	config := s.config(p.Name, taints, c.rollout)
	if taints == "" {
		config = nil
	}
	before, made, least := p.Names(), p.Made(), p.Least()
	s.apply(i, config)
	if got := least(); got < c.least {
		s.Fatalf("%v to %q: %d machines served at some moment, want %d", c.rollout, taints, got, c.least)
	}
	if c.rollout["strategy"] == "template_only" {
		p.WantTemplate(20, foreign+" "+taints)
	} else {
		p.Want(20, foreign+" "+taints)
	}
	if same := strings.Join(before, " ") == strings.Join(p.Names(), " "); same == c.replaces {
		s.Fatalf("%v to %q: the machines were %v and are %v", c.rollout, taints, before, p.Names())
	}
	// A surge makes as many more as it adds.
	if n := p.Made() - made; n > 26 || !c.replaces && n > 0 {
		s.Fatalf("%v to %q: %d machines were made", c.rollout, taints, n)
	}
}
