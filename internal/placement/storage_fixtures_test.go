// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package placement

import (
	"cmp"
	"fmt"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

// stored gives a world storage with these classes: "static" and "dynamic" wait for a pod, "immediate" does not, volumes of
// "static" are made by people and of "dynamic" by a provisioner.
func (w world) stored() world {
	w.Storage = &snapshot.Storage{
		Claims: map[string]map[string]*snapshot.Claim{"app": {}}, Bound: map[string]map[string]string{"app": {}}, Owned: map[types.UID][]*snapshot.Claim{},
		Classes: map[string]*snapshot.StorageClass{
			"static": {Waits: true}, "dynamic": {Waits: true, Provisions: true}, "immediate": {Provisions: true},
		},
	}
	return w
}

// template has StatefulSet "db" create claims "data-db-0" and so on for 1 Gi of a class.
func (w world) template(class string) world {
	key := snapshot.WorkloadKey{Namespace: "app", Owner: snapshot.Owner{Group: "apps", Kind: "StatefulSet", Name: "db"}}
	w.Storage.Templates = map[snapshot.WorkloadKey]map[string]*snapshot.ClaimRequest{key: {"data": {Class: class, Size: 1 << 30}}}
	return w
}

type claimOption func(*snapshot.Claim)

// claim adds a claim of namespace "app" for 1 Gi.
func (w world) claim(name, class string, options ...claimOption) world {
	w.Storage.Claims["app"][name] = request(name, class, options...)
	return w
}

func request(name, class string, options ...claimOption) *snapshot.Claim {
	c := &snapshot.Claim{Namespace: "app", Name: name, UID: types.UID("uid-" + name), Request: &snapshot.ClaimRequest{Class: class, Size: 1 << 30}}
	for _, o := range options {
		o(c)
	}
	return c
}

func gi(n int64) claimOption { return func(c *snapshot.Claim) { c.Request.Size = n << 30 } }

func selected(node string) claimOption { return func(c *snapshot.Claim) { c.SelectedNode = node } }

func named(c *snapshot.Claim)    { c.Named = true }
func deleting(c *snapshot.Claim) { c.Deleting = true }
func lost(c *snapshot.Claim)     { c.Lost = true }

// owns adds a claim of a generic ephemeral volume of a pod.
func (w world) owns(pod, class string, options ...claimOption) world {
	uid := types.UID("uid-" + pod)
	one := request(pod+"-scratch", class, options...)
	w.Storage.Owned[uid] = append(w.Storage.Owned[uid], one)
	w.Storage.Bound["app"][one.Name] = "pv-of-" + pod
	return w
}

func ephemeralVolume(p *snapshot.Pod) { p.Ephemeral = true }

type volumeOption func(*snapshot.FreeVolume)

// volume adds a volume of class "static" that can be bound on nodes with this value of the label "node", anywhere for "".
func (w world) volume(name, node string, gi int64, options ...volumeOption) world {
	v := &snapshot.FreeVolume{Name: name, Class: "static", Size: gi << 30}
	if node != "" {
		v.Affinity = &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{expression("node", "In", node)}}
	}
	for _, o := range options {
		o(v)
	}
	w.Storage.Volumes = append(w.Storage.Volumes, v)
	slices.SortStableFunc(w.Storage.Volumes, func(a, b *snapshot.FreeVolume) int { return cmp.Compare(a.Size, b.Size) })
	return w
}

func reserved(claim string, uid types.UID) volumeOption {
	return func(v *snapshot.FreeVolume) { v.For, v.ForUID = "app/"+claim, uid }
}

// limited has the driver of class "dynamic" report capacities.
func (w world) limited(capacities ...*snapshot.Capacity) world {
	class := w.Storage.Classes["dynamic"]
	class.Limited, class.Capacities = true, capacities
	return w
}

// capacity is what is left for nodes with this value of the label "node", for all nodes for "".
func capacity(node string, total, largest int64) *snapshot.Capacity {
	nodes := labels.Everything()
	if node != "" {
		nodes = labels.SelectorFromSet(labels.Set{"node": node})
	}
	return &snapshot.Capacity{Nodes: nodes, Total: total, Largest: largest}
}

// store gives some pods generic ephemeral volumes, and the cluster volumes and capacities for them.
func (c *randomCluster) store(t *rapid.T) {
	c.stored()
	for _, n := range c.SortedNodes() {
		n.Labels["node"] = n.Name
		for i := range rapid.IntRange(0, 2).Draw(t, "volumes of "+n.Name) {
			c.volume(fmt.Sprintf("%s-%d", n.Name, i), n.Name, rapid.Int64Range(1, 2).Draw(t, "gi"))
		}
	}
	c.claim("unbound", "dynamic")
	c.limited(capacity("n0", 1<<30, -1), capacity("", rapid.Int64Range(0, 3).Draw(t, "capacity")<<30, -1))
	own := func(pods []*snapshot.Pod) {
		for _, p := range pods {
			class := rapid.SampledFrom([]string{"", "static", "static", "dynamic", "immediate", "shared"}).Draw(t, "class of "+p.Name)
			switch {
			case class == "shared" && p.Node == "":
				p.Claims = append(p.Claims, "unbound")
				continue
			case class == "", class == "shared":
				continue
			}
			p.Ephemeral = true
			c.owns(p.Name, class, gi(rapid.Int64Range(1, 2).Draw(t, "size")))
			if p.Node == "" {
				delete(c.Storage.Bound["app"], p.Name+"-scratch")
			}
		}
	}
	for _, n := range c.SortedNodes() {
		own(c.Pods[n.Name])
	}
	own(c.Waiting)
}

// A volume is bound to one claim, which is large enough for it and whose pod is on a node that can use it.
func TestSimulation_bindsAVolumeOnce(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		c := drawCluster(t, true, true)
		if c.Storage == nil {
			c.store(t)
		}
		s := c.simulation()
		for order := range 6 {
			s.run(7, order)
			by := map[int]string{}
			for _, r := range s.replacements {
				if r.node < 0 && len(r.binding) > 0 {
					t.Fatalf("%s has volumes %v and no node", r.pod.Name, r.binding)
				}
				for _, one := range r.binding {
					v := one.volume
					if one.made != nil {
						continue
					}
					if by[v] != "" {
						t.Fatalf("%s and %s have volume %d", r.pod.Name, by[v], v)
					}
					by[v] = r.pod.Name
					if volume := c.Storage.Volumes[v]; !s.freeVolumes().usable(v, s.places[r.node]) || !volume.Matches(one.claim.request) {
						t.Fatalf("%s on %s has %+v", r.pod.Name, s.places[r.node].node.Name, volume)
					}
				}
			}
			if len(by) != len(s.used.volumes) {
				t.Fatalf("%d volumes are used, %d pods have one", len(s.used.volumes), len(by))
			}
		}
	})
}
