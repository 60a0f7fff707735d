// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package faults_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/admission"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/label"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/machineset"
	records "github.com/kubetaint/terraform-provider-kubetaint/internal/record"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
	taints "github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
	tolerations "github.com/kubetaint/terraform-provider-kubetaint/internal/toleration"
)

// formats are the annotations that the provider reads, with what their values are made of: the
// fields of a mark, of a marker, and of a policy with its mark.
var formats = map[string]reflect.Type{
	taints.OwnedAnnotation:        reflect.TypeFor[taints.Mark](),
	label.OwnedAnnotation:         reflect.TypeFor[label.Mark](),
	tolerations.OwnedAnnotation:   reflect.TypeFor[tolerations.Mark](),
	machineset.MarkerAnnotation:   reflect.TypeFor[machineset.Marker](),
	machineset.RemnantsAnnotation: reflect.TypeFor[machineset.Remnant](),
	admission.PolicyAnnotation: reflect.TypeFor[struct {
		admission.Policy
		admission.Mark
	}](),
	snapshot.AwaitedAnnotation: reflect.TypeFor[awaited](),
}

// stranger owns marks that are not the resource's.
const stranger = "somebody/node_taints/selector/pool=x/theirs:NoSchedule"

// evil is a value that no test gives to a taint.
const evil = "evil"

// forger makes annotations that a user might write who may: all from one seed.
type forger struct {
	*rand.Rand
	// genuine are the values that the resource itself has written, by annotation.
	genuine map[string][]string
	// copied are the strings that prove something: ids, generations and proofs.
	copied map[string][]string
	// machines are the UIDs of all Machines.
	machines []string
	// large is set once a text is as long as may be. One in a world does what more would do,
	// and each is read and written by every request.
	large bool
}

func newForger(seed uint64, genuine map[string][]string) *forger {
	f := &forger{Rand: rand.New(rand.NewPCG(seed, 26)), genuine: genuine, copied: map[string][]string{}}
	for _, name := range slices.Sorted(maps.Keys(genuine)) {
		for _, value := range genuine[name] {
			var v any
			if json.Unmarshal([]byte(value), &v) == nil {
				f.copyFrom(v)
			}
		}
	}
	return f
}

func (f *forger) copyFrom(v any) {
	switch v := v.(type) {
	case []any:
		for _, one := range v {
			f.copyFrom(one)
		}
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			if s, is := v[name].(string); is && slices.Contains([]string{"owner", "generation", "proof"}, name) && !slices.Contains(f.copied[name], s) {
				f.copied[name] = append(f.copied[name], s)
			}
			f.copyFrom(v[name])
		}
	}
}

// long is a text that repeats a part until it has a length.
type long struct {
	part   string
	length int
}

// write returns the text, and a short one where there is a long one already.
func (f *forger) write(l long) string {
	if f.large {
		l.length = min(l.length, 1000)
	}
	f.large = true
	return strings.Repeat(l.part, max(0, l.length)/len(l.part))
}

func pick[T any](f *forger, of ...T) T { return of[f.IntN(len(of))] }

// forge returns a value for an annotation: what was written there, or what could have been,
// after some mutations.
func (f *forger) forge(annotation string) string {
	switch f.IntN(72) {
	case 0, 1, 2, 3, 4:
		return pick(f, "null", "true", "17", `"text"`, "[]", "[null]", "{}", "[{}]", " ", "[[]]", "\u2028", "[1e400]", `{"entries":[{}]}`, `[{"entries":[null]}]`)
	case 5:
		return f.write(pick(f, long{"[", 20_000}, long{`[{"entries":`, 132_000}, long{"x", records.Most - 64}))
	}
	v := f.start(annotation)
	for range 1 + f.IntN(3) {
		v = f.mutate(annotation, v)
	}
	raw, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return f.text(string(raw))
}

// start returns what is mutated: mostly a genuine value of the annotation.
func (f *forger) start(annotation string) any {
	from := f.genuine[annotation]
	if others := slices.Concat(slices.Collect(maps.Values(f.genuine))...); f.IntN(15) == 0 && len(others) > 0 {
		// A record of another kind.
		slices.Sort(others)
		from = others
	}
	var v any
	switch {
	case len(from) > 0 && f.IntN(8) > 0:
		if err := json.Unmarshal([]byte(pick(f, from...)), &v); err != nil {
			panic(err)
		}
	case annotation == machineset.MarkerAnnotation || annotation == admission.PolicyAnnotation:
		v = f.member(annotation)
	default:
		v = []any{f.member(annotation)}
	}
	return v
}

// member returns a mark, marker or policy with every field of its type, most of them of the right kind.
func (f *forger) member(annotation string) map[string]any {
	out := map[string]any{}
	f.fill(out, formats[annotation])
	for _, name := range []string{"owner", "id"} {
		if _, has := out[name]; has {
			out[name] = pick(f, append([]string{stranger}, f.copied["owner"]...)...)
		}
	}
	for _, name := range []string{"generation", "proof"} {
		if _, has := out[name]; has {
			out[name] = pick(f, append([]string{"made up"}, f.copied[name]...)...)
		}
	}
	if _, marks := out["generation"]; marks && f.IntN(2) == 0 {
		f.aboutForeign(annotation, out)
	}
	return out
}

// aboutForeign turns a mark into one for an entry that these worlds have and no resource owns.
func (f *forger) aboutForeign(annotation string, mark map[string]any) {
	switch annotation {
	case taints.OwnedAnnotation:
		mark["key"], mark["effect"] = "foreign", "NoSchedule"
	case machineset.RemnantsAnnotation:
		mark["key"], mark["effect"], mark["value"] = rack, "NoSchedule", "kept"
		if len(f.machines) > 0 {
			mark["machines"] = f.machines
		}
		for _, name := range []string{"owner", "generation"} {
			if len(f.copied[name]) > 0 {
				mark[name] = f.copied[name][0]
			}
		}
	case label.OwnedAnnotation:
		mark["key"] = "pool"
	case tolerations.OwnedAnnotation:
		for _, name := range []string{"value", "effect", "seconds", "path", "key"} {
			delete(mark, name)
		}
		mark["operator"], mark["key"] = "Exists", pick(f, "foreign", spare, "team")
	}
}

func (f *forger) fill(out map[string]any, from reflect.Type) {
	for field := range from.Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		switch {
		case field.Anonymous:
			f.fill(out, field.Type)
		case !field.IsExported() || name == "-":
		case strings.Contains(field.Tag.Get("json"), "omitempty") && f.IntN(3) == 0:
		default:
			out[name] = f.like(name, field.Type)
		}
	}
}

// like returns a value that a field may have.
func (f *forger) like(name string, of reflect.Type) any {
	switch of.Kind() {
	case reflect.Pointer:
		return f.like(name, of.Elem())
	case reflect.Bool:
		return f.IntN(2) == 0
	case reflect.Int, reflect.Int64:
		// The controllers make as many machines as a marker has it, so that there is none with millions.
		return pick[any](f, 0, 1, 2, 3, -1, 5_000_000_000)
	case reflect.Slice:
		return []any{f.like(name, of.Elem()), f.like(name, of.Elem())}
	case reflect.Map:
		return map[string]any{f.key(): evil}
	case reflect.Struct:
		if name == "startedAt" {
			return "2026-11-26T00:00:00Z"
		}
		out := map[string]any{}
		f.fill(out, of)
		return out
	}
	switch name {
	case "key":
		return f.key()
	case "effect":
		return pick(f, "NoSchedule", "NoExecute", "PreferNoSchedule")
	case "operator":
		return pick(f, "Exists", "Equal", "", "Lt")
	case "strategy":
		return pick(f, "surge", "rolling", "in_place", "scale_to_zero", "template_only", "other")
	case "targetTaints":
		return pick(f, "team=a:NoSchedule", "foreign=kept:NoSchedule", f.key()+"="+evil+":NoExecute")
	case "retired":
		return pick(f, "foreign:NoSchedule", "team:NoSchedule", "node.kubernetes.io/unreachable:NoExecute", "x")
	case "path", "proof":
		return ""
	case "group", "kind", "namespace", "name":
		return f.workload(name)
	}
	return pick(f, evil, "a", "kept", "")
}

// key returns the key of an entry: the resource's, another owner's, of a controller, or none.
func (f *forger) key() string {
	return pick(f, "team", "extra", "dedicated", "spot", "foreign", "foreign", "pool", "quarantine", "node.kubernetes.io/out-of-service",
		"node.kubernetes.io/unreachable", "node-role.kubernetes.io/control-plane", "", "no key", strings.Repeat("k", 400))
}

// anything returns a value of any type and size.
func (f *forger) anything(depth int) any {
	if depth > 0 && f.IntN(4) == 0 {
		return []any{f.anything(depth - 1), map[string]any{pick(f, "owner", "key", "entries", "x"): f.anything(depth - 1)}}
	}
	deep := json.RawMessage(strings.Repeat("[", 200) + strings.Repeat("]", 200))
	out := pick[any](f, nil, true, false, 0, -1, 1.5, json.RawMessage("1e400"), json.RawMessage("-9223372036854775808"), json.RawMessage("5000000000"), json.RawMessage("-0"), json.RawMessage("1e1"),
		"", evil, long{"long", 20_000}, "two\nlines\r\n::error::x", "\x1b[31mred\u202e\u0000\u2028", "@all https://example.com <b>", "NoExecute", "Exists", stranger,
		[]any{}, []any{nil}, map[string]any{}, deep, long{"x", 200_000})
	if l, is := out.(long); is {
		return f.write(l)
	}
	return out
}

// mutate changes one thing of a value.
func (f *forger) mutate(annotation string, v any) any {
	list, isList := v.([]any)
	switch n := f.IntN(12); {
	case n < 3:
		// Any field, of any type and size.
		places := placesIn(&v)
		*pick(f, places...) = f.anything(2)
	case n < 4:
		if objects := objectsIn(v); len(objects) > 0 {
			object := pick(f, objects...)
			if names := slices.Sorted(maps.Keys(object)); len(names) > 0 {
				delete(object, pick(f, names...))
			}
		}
	case n < 5:
		if objects := objectsIn(v); len(objects) > 0 {
			pick(f, objects...)[pick(f, "entries", "unknown", "Owner")] = f.anything(2)
		}
	case n < 8:
		// A field that is known, with a value that it may have.
		if objects := objectsIn(v); len(objects) > 0 {
			object, member := pick(f, objects...), f.member(annotation)
			name := pick(f, slices.Sorted(maps.Keys(member))...)
			object[name] = member[name]
		}
	case isList && n < 11:
		// One more mark, alone or in a group, or a copy of one with another entry.
		mark := f.member(annotation)
		switch objects := objectsIn(v); {
		case f.IntN(3) == 0:
			mark = map[string]any{"owner": mark["owner"], "generation": mark["generation"], "entries": []any{mark, f.member(annotation)}}
		case len(objects) > 0 && f.IntN(2) == 0:
			for name, value := range pick(f, objects...) {
				if slices.Contains([]string{"owner", "generation", "proof"}, name) {
					mark[name] = value
				}
			}
		}
		list = slices.Insert(list, f.IntN(len(list)+1), any(mark))
		if f.IntN(2) == 0 {
			return f.mutate(annotation, list)
		}
		return list
	case isList && len(list) > 0:
		return append(list, pick(f, list...))
	}
	return v
}

// text mutates what JSON looks like when it is written.
func (f *forger) text(s string) string {
	at := strings.Index(s, "{")
	switch f.IntN(24) {
	case 0:
		return s[:f.IntN(len(s)+1)]
	case 1:
		return s + pick(f, "]", "x", " ", s)
	case 2, 3:
		if at < 0 {
			return s
		}
		// A name twice: the last one counts.
		twice := fmt.Sprintf(`"%s":%s`, pick(f, "owner", "generation", "key", "proof", "entries"), pick(f, "null", `"evil"`, "1", "[]"))
		if f.IntN(2) == 0 {
			return strings.Replace(s[:at]+"{"+twice+","+s[at+1:], ",}", "}", 1)
		}
		end := strings.Index(s, "}")
		return s[:end] + "," + twice + s[end:]
	case 4:
		// As long as all annotations together may be.
		return s + f.write(long{" ", records.Most - len(s) - 512})
	}
	return s
}

// placesIn returns all places of a value, from the outside to the inside.
func placesIn(v *any) []*any {
	if inner, is := (*v).(*any); is {
		return placesIn(inner)
	}
	out := []*any{v}
	switch inner := (*v).(type) {
	case []any:
		for i := range inner {
			out = append(out, placesIn(&inner[i])...)
		}
	case map[string]any:
		// The values of a map have no place: each gets one, which a write to it goes on to.
		for _, name := range slices.Sorted(maps.Keys(inner)) {
			held := inner[name]
			inner[name] = &held
			out = append(out, placesIn(&held)...)
		}
	}
	return out
}

// objectsIn returns all objects of a value.
func objectsIn(v any) []map[string]any {
	var out []map[string]any
	switch v := v.(type) {
	case *any:
		return objectsIn(*v)
	case []any:
		for _, one := range v {
			out = append(out, objectsIn(one)...)
		}
	case map[string]any:
		out = append(out, v)
		for _, name := range slices.Sorted(maps.Keys(v)) {
			out = append(out, objectsIn(v[name])...)
		}
	}
	return out
}
