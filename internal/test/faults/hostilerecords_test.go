// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package faults_test

import (
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	machinev1beta1 "github.com/openshift/api/machine/v1beta1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
	records "github.com/kubetaint/terraform-provider-kubetaint/internal/record"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/fakeapi"
)

// chosenSeeds returns from which seed on, and how many, are tried in each world: few, or all
// with "make test-all". KUBETAINT_SEED replays one; KUBETAINT_SEEDS=2000 tries more.
func chosenSeeds(t *testing.T, few, all int) (from, count int) {
	t.Helper()
	for name, to := range map[string]*int{"KUBETAINT_SEED": &from, "KUBETAINT_SEEDS": &count} {
		if given := os.Getenv(name); given != "" {
			n, err := strconv.Atoi(given)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			*to = n
		}
	}
	switch {
	case from > 0:
		return from, 1
	case count == 0 && acctest.All():
		return 1, all
	case count == 0:
		return 1, few
	}
	return 1, count
}

// cheap are the worlds that are tried outside "make test-all": one of each kind of object
// that carries a record.
var cheap = []string{
	"node_taints/taints", "node_taints/absent_taints", "namespace_tolerations", "toleration_policy", "workload_tolerations/Deployment",
	"dedicated_nodes/nodes for a Deployment", "dedicated_nodes/admission", "machine_set_taints/in_place", "machine_set_taints/surge", "machine_set_taints/in_place and then template_only",
	"workload_tolerations/CronJob", "workload_tolerations/IngressController", "workload_tolerations/Widget", "dedicated_nodes/" + dedicatedFor + "IngressController", "workload_tolerations/" + createdStrategy,
	"drain_nodes", "uncordon_nodes",
}

func due(s subject) bool { return acctest.All() || slices.Contains(cheap, s.name()) }

// settled is a world in which the first configuration has been applied.
type settled struct {
	subject
	moment
	instance acctest.Instance
	// imported is what an import gives, recovered what a refresh finds out after the private state
	// was lost.
	imported, recovered acctest.Instance
	genuine             map[string][]string
}

// TestHostileRecords writes annotations that a user might write who may, on all objects of a
// world, and carries out an operation of the resource. It never panics, changes nothing that
// state and configuration do not name, and names an object whose record it cannot read.
func TestHostileRecords(t *testing.T) {
	t.Parallel()
	acctest.TooLong(t)
	from, count := chosenSeeds(t, 12, 400)
	for _, s := range hostileSubjects() {
		if !due(s) && s.strategy != "a ConfigMap" {
			continue
		}
		t.Run(s.name(), func(t *testing.T) {
			t.Parallel()
			start := settle(t, s)
			for seed := from; seed < from+count; seed++ {
				operations := hostileOperations(s)
				if count > 1 {
					operations = operations[seed%len(operations):][:1]
				}
				for _, operation := range operations {
					t.Run(fmt.Sprintf("%s seed %d", operation, seed), func(t *testing.T) { start.attack(t, uint64(seed), operation) })
				}
			}
		})
	}
}

func hostileOperations(s subject) []string {
	if s.action {
		return []string{"invoke"}
	}
	operations := []string{"plan", "update", "destroy", "create", "update recovered", "destroy recovered"}
	if s.importable() {
		operations = append(operations, "update imported", "destroy imported")
	}
	return operations
}

// importable reports whether there is anything to import: what is absent is not.
func (s subject) importable() bool { return s.strategy != "absent_taints" }

// settle applies the first configuration.
func settle(t *testing.T, s subject) *settled {
	t.Helper()
	out := &settled{subject: s, instance: acctest.Instance{Type: "kubetaint_" + s.typeName}}
	bubble(t, moment{api: fakeapi.New(s.kinds...)}, func(t *testing.T, api *fakeapi.Server) {
		s.world(api)
		s.addSpare(api)
		s.addOther(api)
		time.Sleep(calm)
		s.addRack(api)
		time.Sleep(calm)
		if s.typeName == "drain_nodes" {
			cordonPool(api)
			time.Sleep(calm)
		}
		if !s.action {
			if d := through(api.Client()).Apply(t, &out.instance, s.first); d.Errors() != "" {
				t.Fatal(d.Errors())
			}
			time.Sleep(calm)
			out.look(t, api)
		}
		out.moment = moment{api.Clone(), time.Now()}
		out.genuine = map[string][]string{}
		for _, o := range annotatedObjects(api) {
			for name, value := range o.annotations {
				if _, ours := formats[name]; ours && !slices.Contains(out.genuine[name], value) {
					out.genuine[name] = append(out.genuine[name], value)
					slices.Sort(out.genuine[name])
				}
			}
		}
	})
	return out
}

// look imports what has been applied, and finds it out again after its private state was lost.
func (s *settled) look(t *testing.T, api *fakeapi.Server) {
	t.Helper()
	tf := through(api.Client())
	if s.importable() {
		imported, d := tf.ImportAgain(t, &s.instance)
		if d.Errors() != "" {
			t.Fatal(d.Errors())
		}
		s.imported = *imported
	}
	s.recovered = s.instance
	s.recovered.Private = nil
	if d := tf.Walk(t).Refresh(&s.recovered); d.Errors() != "" {
		t.Fatal(d.Errors())
	}
}

// attack carries out one operation among hostile annotations.
func (s *settled) attack(t *testing.T, seed uint64, operation string) {
	t.Helper()
	bubble(t, s.moment, func(t *testing.T, api *fakeapi.Server) {
		f := newForger(seed, s.genuine)
		for _, o := range api.Custom(machinev1beta1.GroupVersion.WithResource("machines")) {
			f.machines = append(f.machines, string(o.GetUID()))
		}
		slices.Sort(f.machines)
		damaged := s.forgeAll(f, api)
		if f.IntN(2) == 0 && s.strategy == createdStrategy {
			forgeCreated(api, pick(f, "true", "", "1.made-up", evil))
		}
		time.Sleep(time.Second)
		before := s.beside(api)
		d := s.operate(t, api, operation)
		if operation != "plan" {
			time.Sleep(calm)
		}
		told := d.Errors() + d.Warnings()
		if after := s.beside(api); !cmp.Equal(before, after) {
			t.Errorf("what neither state nor configuration names has changed:\n%s\n%s", cmp.Diff(before, after), told)
		}
		for _, entry := range evilEntries(api) {
			t.Errorf("a value that only records had is written: %s", entry)
		}
		if s.typeName == "drain_nodes" && d.Errors() != "" {
			t.Errorf("the records hold up the drain of complete workloads:\n%s", told)
		}
		for _, key := range damaged {
			if !namesDamaged(d, key) {
				t.Errorf("nothing is said of %s, of %v:\n%s", key, damaged, told)
			}
		}
	})
}

// damage is what is told of a record that cannot be read.
var damage = regexp.MustCompile(` is damaged| cannot be read: `)

// namesDamaged reports whether a diagnostic about damaged records names an object.
func namesDamaged(d acctest.Diagnostics, key string) bool {
	name := regexp.MustCompile(`(^|[^-a-z0-9/])` + regexp.QuoteMeta(key) + `($|[^-a-z0-9/])`)
	return slices.ContainsFunc(d, func(one *tfprotov6.Diagnostic) bool {
		said := one.Summary + "\n" + one.Detail
		return damage.MatchString(said) && name.MatchString(said)
	})
}

// forgeAll writes annotations on some objects. It returns the names of those whose records the
// resource must read and cannot.
func (s *settled) forgeAll(f *forger, api *fakeapi.Server) (damaged []string) {
	objects := annotatedObjects(api)
	aim := objects[f.IntN(len(objects))].title()
	for _, o := range objects {
		read, was := s.reads(o), maps.Clone(o.annotations)
		for _, annotation := range slices.Sorted(maps.Keys(formats)) {
			// Most of it where it matters, and a little everywhere.
			often := 6
			if slices.Contains(read, annotation) {
				often = 2
			}
			if f.IntN(often) > 0 && (o.title() != aim || f.IntN(2) > 0) {
				continue
			}
			o.annotations[annotation] = f.forge(annotation)
		}
		if size(o.annotations) > records.Most {
			// The API server would refuse them.
			o.annotations = was
		}
		o.put(o.annotations)
		if slices.ContainsFunc(read, o.damaged) {
			damaged = append(damaged, o.key())
		}
	}
	return damaged
}

func size(annotations map[string]string) int {
	sum := 0
	for name, value := range annotations {
		sum += len(name) + len(value)
	}
	return sum
}

// operate carries an operation out. A create knows nothing of the generation of the marks that
// are there.
func (s *settled) operate(t *testing.T, api *fakeapi.Server, operation string) acctest.Diagnostics {
	t.Helper()
	tf, i := through(api.Client()), s.instance
	operation, state, _ := strings.Cut(operation, " ")
	switch state {
	case "imported":
		i = s.imported
	case "recovered":
		i = s.recovered
	}
	switch operation {
	case "invoke":
		return tf.Invoke(t, i.Type, s.first)
	case "plan":
		return tf.Plan(t, &i, s.first).Diagnostics
	case "create":
		return tf.Apply(t, &acctest.Instance{Type: i.Type}, s.first)
	case "destroy":
		return tf.Apply(t, &i, nil)
	}
	return tf.Apply(t, &i, s.second)
}
