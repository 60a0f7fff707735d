// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package faults_test

import (
	"fmt"
	"maps"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/fakeapi"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/fakeapi/controllers"
)

// calm is how long the controllers may take to come to rest after an apply, and the
// provider's watches to end.
const calm = 2 * time.Minute

// moment is a cluster as it was at one time.
type moment struct {
	api *fakeapi.Server
	at  time.Time
}

// bubble runs a test in a bubble, on a clone of a moment's server.
func bubble(t *testing.T, m moment, test func(t *testing.T, api *fakeapi.Server)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		api := m.api.Clone()
		t.Cleanup(func() {
			api.Close()
			// Watches of the provider linger.
			time.Sleep(calm)
		})
		// All bubbles begin at the same time.
		time.Sleep(time.Until(m.at))
		controllers.Start(api)
		test(t, api)
	})
}

// run is the moments at which a process can be killed: before each of its requests, and
// after each of its writes.
type run struct {
	before, after []moment
	// writes has an entry for each request, set where it writes.
	writes []bool

	mu sync.Mutex
	// last is the newest clone.
	last *fakeapi.Server
}

// record keeps the moments of a client's requests.
func record(client *fakeapi.Client, api *fakeapi.Server) *run {
	r := recordWrites(client, api)
	client.OnRequest(func(q fakeapi.Request) fakeapi.Fault {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.before, r.writes = append(r.before, r.now(api)), append(r.writes, q.Write())
		return fakeapi.None
	})
	return r
}

// recordWrites keeps the moments after a client's writes alone.
func recordWrites(client *fakeapi.Client, api *fakeapi.Server) *run {
	r := &run{}
	client.OnAnswer(func(q fakeapi.Request, _ int) {
		if q.Write() {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.after = append(r.after, r.now(api))
		}
	})
	return r
}

// now returns this moment. Moments between which nothing has changed share a clone: most requests
// only read. The caller holds the lock.
func (r *run) now(api *fakeapi.Server) moment {
	if r.last == nil || r.last.Version() != api.Version() {
		r.last = api.Clone()
	}
	return moment{r.last, time.Now()}
}

// through is a Terraform whose processes all use one client.
func through(client *fakeapi.Client) *acctest.Terraform {
	return &acctest.Terraform{
		Provider: map[string]any{"host": fakeapi.Host}, Transport: func() http.RoundTripper { return client }, Context: client.Context(),
	}
}

// stage is one operation of a subject: where it begins, and where it must end.
type stage struct {
	subject
	operation
	start    moment
	instance acctest.Instance
	planned  acctest.Planned
	// wanted is what an undisturbed apply ends in.
	wanted world
	// undisturbed is that apply.
	undisturbed *run
	// again are the applies that have gone on, by where they began; nil for one that has
	// failed.
	again map[string]*run
	// places are where applies have begun, by the clone that they began on.
	places map[*fakeapi.Server]string
	// right are the ends that have been found right.
	right map[string]bool
}

// stages are those that have been prepared, by subject and operation: several tests begin
// there.
var stages sync.Map

// prepare brings the world to where the operation begins, and carries it out once without
// a fault. The stage of an operation is prepared once; each test has its own copy, which
// knows nothing of what others have found out.
func prepare(t *testing.T, s subject, o operation) *stage {
	t.Helper()
	once, _ := stages.LoadOrStore(s.name()+" "+o.name, &preparation{})
	p := once.(*preparation)
	p.Do(func() { p.stage = prepared(t, s, o) })
	if p.stage == nil {
		t.Fatal("another test could not prepare this")
	}
	out := *p.stage
	out.again, out.places, out.right = map[string]*run{}, map[*fakeapi.Server]string{}, maps.Clone(p.stage.right)
	return &out
}

// preparation has no stage where it has failed.
type preparation struct {
	sync.Once
	stage *stage
}

func prepared(t *testing.T, s subject, o operation) *stage {
	t.Helper()
	st := &stage{subject: s, operation: o, instance: acctest.Instance{Type: "kubetaint_" + s.typeName}, right: map[string]bool{}}
	bubble(t, moment{api: fakeapi.New(s.kinds...)}, func(t *testing.T, api *fakeapi.Server) {
		s.world(api)
		time.Sleep(calm)
		if o.from != nil {
			st.apply(t, api.Client(), &st.instance, o.from)
			time.Sleep(calm)
		}
		if !s.action {
			tf := through(api.Client())
			st.planned = tf.Plan(t, &st.instance, o.to)
			if e := st.planned.Diagnostics.Errors(); e != "" {
				t.Fatalf("plan: %s", e)
			}
		}
		st.start = moment{api.Clone(), time.Now()}
	})
	bubble(t, st.start, func(t *testing.T, api *fakeapi.Server) {
		client, i := api.Client(), st.instance
		st.undisturbed = record(client, api)
		if d := st.carry(t, client, &i); d.Errors() != "" {
			t.Fatalf("without a fault: %s", d.Errors())
		}
		time.Sleep(calm)
		st.wanted = look(api)
		st.end(t, api, &i)
	})
	return st
}

// carry carries the operation out in one process.
func (s *stage) carry(t *testing.T, client *fakeapi.Client, i *acctest.Instance) acctest.Diagnostics {
	t.Helper()
	if s.action {
		return through(client).Invoke(t, i.Type, s.to)
	}
	return through(client).Carry(t, i, s.planned, s.to)
}

// apply plans and applies, undisturbed.
func (s *stage) apply(t *testing.T, client *fakeapi.Client, i *acctest.Instance, config map[string]any) {
	t.Helper()
	var d acctest.Diagnostics
	if s.action {
		d = through(client).Invoke(t, i.Type, config)
	} else {
		d = through(client).Apply(t, i, config)
	}
	if d.Errors() != "" {
		t.Fatalf("applying again: %s", d.Errors())
	}
}

// end waits until the world has come to rest, and checks that it is in sync and that nothing is
// left to do. An end that has been found right is not planned for once more.
func (s *stage) end(t *testing.T, api *fakeapi.Server, i *acctest.Instance) {
	t.Helper()
	time.Sleep(calm)
	if names := api.Evictions(); len(names) > 0 && !s.evicts {
		t.Errorf("taints evicted %v", names)
	}
	if difference := s.wanted.difference(look(api)); difference != "" {
		t.Errorf("the end differs from that of an undisturbed apply:\n%s", difference)
	}
	if s.action {
		return
	}
	if i.Exists() != (s.to != nil) {
		t.Fatalf("the instance is in the state: %t", i.Exists())
	}
	here := where(api, i)
	if s.to == nil || s.right[here] {
		return
	}
	if planned := through(api.Client()).Plan(t, i, s.to); !planned.Empty || planned.Diagnostics.Errors() != "" {
		t.Errorf("the plan is not empty: %s%s", planned.Diagnostics.Errors(), planned.Diagnostics.Warnings())
	}
	s.right[here] = !t.Failed()
}

// where is all that an apply can know: the cluster and the state. What is random in both
// is numbered by where it comes first.
func where(api *fakeapi.Server, i *acctest.Instance) string {
	parts := api.Fingerprint()
	if i.Exists() {
		parts = append(parts, string(i.State.MsgPack), string(i.Private))
	}
	var b strings.Builder
	numbers := map[string]int{}
	for _, part := range parts {
		text := known(part)
		fmt.Fprint(&b, text.fixed)
		for _, one := range text.random {
			if numbers[one] == 0 {
				numbers[one] = len(numbers) + 1
			}
			fmt.Fprintf(&b, "#%d", numbers[one])
		}
		b.WriteByte(' ')
	}
	return b.String()
}

// text is a text apart from what is random in it, and that.
type text struct {
	fixed  int64
	random []string
}

// texts are the texts of objects, most of which are in many clusters, and their fixed parts
// by numbers: the texts of thousands of clusters would take long to compare.
var (
	texts, fixed sync.Map
	fixedParts   atomic.Int64
)

func known(part string) *text {
	if t, is := texts.Load(part); is {
		return t.(*text)
	}
	t, rest := &text{}, strings.ReplaceAll(part, `\"`, `"`)
	if strings.Contains(rest, `"generation":"`) || strings.Contains(rest, `"proof":"`) {
		rest = random.ReplaceAllStringFunc(rest, func(one string) string {
			t.random = append(t.random, one)
			return "#"
		})
	}
	number, _ := fixed.LoadOrStore(rest, fixedParts.Add(1))
	t.fixed = number.(int64)
	texts.Store(part, t)
	return t
}

// goOn applies again from a moment at which a process was killed, which has saved no state,
// and checks the end. Moments of one fingerprint go on alike: it does so once for all of
// them. It returns the run, nil where it has failed.
func (s *stage) goOn(t *testing.T, name string, m moment) *run {
	t.Helper()
	here, known := s.places[m.api]
	if !known {
		here = where(m.api, &s.instance)
		s.places[m.api] = here
	}
	if _, known := s.again[here]; !known {
		var r *run
		if !t.Run(name, func(t *testing.T) {
			bubble(t, m, func(t *testing.T, api *fakeapi.Server) {
				client, i := api.Client(), s.instance
				r = recordWrites(client, api)
				if !s.invoked(api) {
					s.apply(t, client, &i, s.to)
				}
				s.end(t, api, &i)
			})
		}) {
			r = nil
		}
		s.again[here] = r
	}
	return s.again[here]
}

// disturbed carries the operation out with a fault at the n-th request, and applies again
// where that ends in an error. It reports whether the request came.
func (s *stage) disturbed(t *testing.T, f fault, n int) (came bool) {
	t.Helper()
	bubble(t, s.start, func(t *testing.T, api *fakeapi.Server) {
		client, i := api.Client(), s.instance
		client.OnRequest(func(r fakeapi.Request) fakeapi.Fault {
			if r.Number == n {
				return f.at
			}
			return fakeapi.None
		})
		d := s.carry(t, client, &i)
		came = client.Sent() >= n
		if d.Errors() != "" {
			if s.from == nil && i.Exists() {
				t.Error("a create that failed saves a state")
			}
			// The outcome is known where a killed process has gone on from the same state.
			if s.again[where(api, &i)] != nil {
				return
			}
			if !s.invoked(api) {
				s.apply(t, api.Client(), &i, s.to)
			}
		}
		s.end(t, api, &i)
	})
	return came
}

// invoked reports whether an action has done all that it is for: a caller that sees that does not
// invoke it again, and an action cannot know that it has been invoked before.
func (s *stage) invoked(api *fakeapi.Server) bool {
	if !s.action {
		return false
	}
	time.Sleep(calm)
	seen := look(api)
	return s.wanted.difference(seen) == "" && seen.made == s.wanted.made
}

// mustApply applies a configuration, nil for a destroy, and gives the controllers time to follow.
func mustApply(t *testing.T, tf *acctest.Terraform, i *acctest.Instance, config map[string]any) {
	t.Helper()
	if d := tf.Apply(t, i, config); d.Errors() != "" {
		t.Fatal(d.Errors())
	}
	time.Sleep(calm)
}
