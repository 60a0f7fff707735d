// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package placement

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

// openClaims are the claims of pods that no volume is bound to. Pods whose claims no node tells apart have the same.
type openClaims struct {
	// claims are those for which the node decides, the smallest first.
	claims []openClaim
	// state is why no node takes the pods, "" where nodes decide.
	state snapshot.State
	// unknown names what is not known of them.
	unknown []string
}

// openClaim is a claim that a volume of a node is bound to, or is made for.
type openClaim struct {
	request *snapshot.ClaimRequest
	class   *snapshot.StorageClass
	// node is the one that the scheduler has chosen before, "" for none.
	node string
	// name and uid are those of the claim where it exists, or where a volume is reserved for it.
	name string
	uid  types.UID
	// lasting is set for a claim that stays when its pod is gone, and that other pods may have as well.
	lasting bool
	// unwaited is set for a new claim of a class that does not wait for a pod.
	unwaited bool
	// made is set where there are volumes for it, or a provisioner makes them.
	made bool
	// home are the capacities from which the volume of the claim before it came.
	home []*snapshot.Capacity
}

// storage is what a Finder has found out about claims that no volume is bound to.
type storage struct {
	pods  map[*snapshot.Pod]*openClaims
	known map[string]*openClaims
	free  *freeVolumes
}

func newStorage() storage {
	return storage{pods: map[*snapshot.Pod]*openClaims{}, known: map[string]*openClaims{}}
}

// openClaims returns those of a pod, nil for none.
func (f *Finder) openClaims(pod *snapshot.Pod) *openClaims {
	if len(pod.Claims) == 0 && !pod.Ephemeral {
		return nil
	}
	if f.snapshot.Storage == nil {
		return nil
	}
	out, known := f.storage.pods[pod]
	if !known {
		out = f.gather(pod)
		f.storage.pods[pod] = out
	}
	return out
}

func (f *Finder) gather(pod *snapshot.Pod) *openClaims {
	open := f.snapshot.OpenClaims(pod)
	if len(open) == 0 {
		return nil
	}
	out, key := &openClaims{}, ""
	for i := range open {
		one := &open[i]
		switch {
		case one.State == snapshot.Unknown:
			out.unknown = append(out.unknown, f.unreadStorage(one))
		case one.State != snapshot.Bindable:
			out.state = cmp.Or(out.state, one.State)
		case f.snapshot.Storage.Classes == nil:
			out.unknown = append(out.unknown, storageClasses)
		case f.snapshot.Storage.Unread:
			out.unknown = append(out.unknown, "PersistentVolumes")
		default:
			out.claims = append(out.claims, f.open(pod, one))
		}
	}
	slices.SortStableFunc(out.claims, func(a, b openClaim) int { return cmp.Compare(a.request.Size, b.request.Size) })
	for i := range out.claims {
		c := &out.claims[i]
		out.unknown = append(out.unknown, c.unmodelled()...)
		key += fmt.Sprintf("%p %q %q %q %t %v;", c.request, c.node, c.name, c.uid, c.unwaited, c.home)
	}
	out.unknown = slices.DeleteFunc(out.unknown, func(name string) bool { return name == "" })
	key += fmt.Sprintf("%q %q", out.state, out.unknown)
	if f.storage.known[key] == nil {
		f.storage.known[key] = out
	}
	return f.storage.known[key]
}

// Parts of the storage that a preview names as not modelled.
const (
	storageClasses    = "StorageClasses"
	storageCapacities = "storage capacities"
)

// unreadStorage names what could not be read of a claim, "" for one that its pod alone has.
func (f *Finder) unreadStorage(c *snapshot.OpenClaim) string {
	switch {
	case f.snapshot.Storage.Claims == nil:
		return "PersistentVolumeClaims"
	case c.Claim == nil:
		return ""
	case c.Request == nil:
		return "missing PersistentVolumeClaims"
	}
	return storageClasses
}

// unmodelled names what else decides where a volume can be used: which one is bound to a claim that does not wait
// for a pod, and whether a driver that reports capacities has enough of them.
func (c *openClaim) unmodelled() []string {
	switch {
	case c.unwaited && c.made:
		return []string{volumesOf(c.request.Class)}
	case c.class.Unknown:
		return []string{storageCapacities}
	}
	return nil
}

func volumesOf(class string) string { return fmt.Sprintf("volumes of StorageClass %q", class) }

func (f *Finder) open(pod *snapshot.Pod, one *snapshot.OpenClaim) openClaim {
	class := f.snapshot.Storage.Classes[one.Request.Class]
	if class == nil {
		class = &snapshot.StorageClass{}
	}
	out := openClaim{request: one.Request, class: class}
	name := one.Namespace + "/" + one.Name
	if one.New {
		out.unwaited = !class.Waits
		out.made = class.Provisions || slices.ContainsFunc(f.freeVolumes().all, func(v *snapshot.FreeVolume) bool { return v.Matches(one.Request) })
		if len(f.freeVolumes().reserved[name]) > 0 {
			out.name = name
		}
		if one.UID != "" && !class.Retains {
			out.home = f.capacitiesOf(class, pod.Node)
		}
		return out
	}
	out.name, out.uid, out.node, out.lasting = name, one.UID, one.SelectedNode, slices.Contains(pod.Claims, one.Name)
	return out
}

// capacitiesOf returns the capacities of a class that a node has access to.
func (f *Finder) capacitiesOf(class *snapshot.StorageClass, node string) (out []*snapshot.Capacity) {
	f.allPlaces()
	p := f.byName[node]
	if p == nil || !class.Limited {
		return nil
	}
	for _, c := range class.Capacities {
		if c.Nodes.Matches(labels.Set(p.node.Labels)) {
			out = append(out, c)
		}
	}
	return out
}

// lacksStorage returns what keeps pods away from a node by their claims.
func (f *Finder) lacksStorage(u *openClaims, p *place) (obstacle, bool) {
	if u == nil {
		return obstacle{}, false
	}
	if u.state != snapshot.Bindable {
		return obstacle{kind: byOpenClaim, key: string(u.state)}, true
	}
	_, o, refuses := f.bindClaims(u, p, nil, first)
	return o, refuses
}

// first chooses the first of several volumes.
func first(int, func(int) uint64) int { return 0 }

// bindClaims returns what would be bound to claims on a node, or what keeps their pods away from it. What pods that
// were placed have used is nil for nothing
// (k8s.io/kubernetes v1.37.2 pkg/scheduler/framework/plugins/volumebinding/binder.go, FindPodVolumes).
func (f *Finder) bindClaims(u *openClaims, p *place, used *usedStorage, choose func(int, func(int) uint64) int) (binding, obstacle, bool) {
	var out binding
	v := f.freeVolumes()
	taken := func(i int) bool {
		return used.took(i) || slices.ContainsFunc(out, func(b boundClaim) bool { return b.made == nil && b.volume == i })
	}
	for i := range u.claims {
		c := &u.claims[i]
		if o, refuses, settled := v.settled(c, p, used); settled {
			if refuses {
				return out, o, true
			}
			continue
		}
		if c.node == "" {
			if found := v.candidates(c, p, taken); len(found) > 0 {
				at := found[choose(len(found), func(i int) uint64 { return nameOf(v.all[found[i]].Name) })]
				out = append(out, boundClaim{claim: c, volume: at})
				continue
			}
		}
		capacity, o, refuses := c.provision(p, used)
		if refuses {
			return out, o, true
		}
		if used != nil && (capacity != nil || c.lasting) {
			out = append(out, boundClaim{claim: c, made: &madeVolume{node: p.node, capacity: capacity}})
		}
	}
	return out, obstacle{}, false
}

// settled returns whether it is settled for a claim if a node can use its volume, and what keeps its pods away: pods before
// use a volume of it, or the scheduler has chosen another node.
func (v *freeVolumes) settled(c *openClaim, p *place, used *usedStorage) (o obstacle, refuses, settled bool) {
	if volume, is := used.boundTo(c); is {
		return obstacle{kind: byFreeVolume, key: c.request.Class}, !v.usable(volume, p), true
	}
	elsewhere := obstacle{kind: byOpenClaim, key: "waits for a volume of another node"}
	if volume := used.madeFor(c); volume != nil {
		return elsewhere, used.keeps(volume, c, p), true
	}
	return elsewhere, true, c.node != "" && c.node != p.node.Name
}

// provision returns the capacity from which the volume of a claim can be made for a node, nil for one that is not limited,
// or why none can be made.
func (c *openClaim) provision(p *place, used *usedStorage) (*snapshot.Capacity, obstacle, bool) {
	node := labels.Set(p.node.Labels)
	switch {
	case !c.class.Provisions:
		return nil, obstacle{kind: byFreeVolume, key: c.request.Class}, true
	case !c.class.AllowedOn(node):
		return nil, obstacle{kind: byTopology, key: c.request.Class}, true
	case !c.class.Limited || c.unwaited || c.request.Size == 0:
		return nil, obstacle{}, false
	}
	for _, capacity := range c.class.Capacities {
		if capacity.Nodes.Matches(node) && (capacity.Holds(c.request.Size) || slices.Contains(c.home, capacity)) && used.leaves(capacity, c.request.Size) {
			return capacity, obstacle{}, false
		}
	}
	return nil, obstacle{kind: byCapacity, key: c.request.Class, value: snapshot.FormatAmount(corev1.ResourceEphemeralStorage, c.request.Size, true)}, true
}

// storage says of one node, or of many, how claims that no volume is bound to keep the pod away.
func (o obstacle) storage(verb func(one, more string) string) string {
	switch o.kind {
	case byFreeVolume:
		return verb("has", "have") + " no available volume" + ofClass(o.key)
	case byTopology:
		return verb("is", "are") + " outside the allowedTopologies" + ofClass(o.key)
	case byCapacity:
		return verb("lacks", "lack") + " storage capacity" + ofClass(o.key) + " (needs " + o.value + ")"
	default:
		return verb("is", "are") + " ruled out while its claim " + o.key
	}
}

func ofClass(name string) string {
	if name = strings.TrimSpace(name); name == "" {
		return ""
	}
	return " of StorageClass " + name
}
