// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package recorded

import (
	"errors"
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/printable"
)

// A file is magic, one byte of the version, and a gzip stream of records. A record
// is its type, its length as a varint, and its content:
//
//	header   the first one, JSON: when and of which cluster, what it serves
//	kind     JSON: the kind of the objects that follow. A kind that comes again
//	         begins anew: its list had expired on the way
//	object   an object of that kind, in JSON or, of pods, in protobuf
//	end      the last one, JSON: how many objects there are, and the digest of all
//	         that is before it
const (
	magic   = "kubetaint snapshot\n"
	version = 1

	recordHeader = 'H'
	recordKind   = 'K'
	recordObject = 'O'
	recordEnd    = 'E'
)

// Bounds of what is read. A file of 150,000 pods has a fifth of these objects and bytes.
const (
	// maxRecord is above every object that etcd stores.
	maxRecord = 4 << 20
	// maxObjects, maxKinds and maxBytes bound a file as a whole.
	maxObjects = 2_000_000
	maxKinds   = 10_000
	maxBytes   = 1 << 30
	// maxKindRecord and maxSome bound a kind: the texts of one are names.
	maxKindRecord = 4 << 10
	maxSome       = 16
	// maxServed bounds the versions and the kinds that a cluster serves: large ones have a tenth of it.
	maxServed = 50_000
	// maxRatio bounds how much a compressed byte may become: real objects have random
	// UIDs, and stay below 30. freeBytes is what a file may have without it.
	maxRatio  = 150
	freeBytes = 8 << 20
	// freeRecords is how many records a file may have besides one for each of its compressed bytes: a real object
	// takes 20 of these at least.
	freeRecords = 100_000
)

// Errors of files.
var (
	// ErrForeign reports that a file is no snapshot of kubetaint.
	ErrForeign = errors.New("it is neither a file that kubectl kubetaint snapshot has written, nor a .yaml or .json file, nor a folder")
	// ErrNewer reports that a newer version has written the file.
	ErrNewer = errors.New("a newer version has written it: update the provider")
	// ErrTruncated reports that the end of the file is missing.
	ErrTruncated = errors.New("its end is missing: copy the file again, or record the cluster again")
	// ErrDamaged reports that the content is not as it was written.
	ErrDamaged = errors.New("it is damaged: copy the file again, or record the cluster again")
)

// errNotRecorded is why a kind cannot be read.
var errNotRecorded = errors.New("it is not in the snapshot")

// damaged is an ErrDamaged with what is wrong, which may quote the file.
func damaged(format string, args ...any) error {
	return fmt.Errorf("%w (%s)", ErrDamaged, printable.Line(fmt.Sprintf(format, args...)))
}

// Header is what a file says of itself.
type Header struct {
	// Taken is when the recording began.
	Taken time.Time `json:"taken"`
	// Cluster is the UID of the namespace kube-system, and Server the address of
	// the API server without credentials, "" where names are hashed.
	Cluster string `json:"cluster,omitempty"`
	Server  string `json:"server,omitempty"`
	// Provider is the version of the program that has recorded.
	Provider string `json:"provider,omitempty"`
	// Hashed is set where names are hashed.
	Hashed bool `json:"hashed,omitempty"`
	// Serves is what the cluster serves.
	Serves []Served `json:"serves"`
	// ShortNames is set where short names were recorded. The first files have none.
	ShortNames bool `json:"shortNames,omitempty"`
	// Storage is set where the claim templates of StatefulSets were recorded. The first files have none.
	Storage bool `json:"storage,omitempty"`
	// Custom are the custom kinds whose objects the credentials may change.
	Custom []schema.GroupResource `json:"custom,omitempty"`
}

// unknown names for messages the groups of which it is not known what they serve, where plans read kinds of them.
func (h *Header) unknown() []string {
	var out []string
	for _, s := range h.Serves {
		if s.Stale && (!ofKubernetes(s.Group) || s.Group == admissionGroup) {
			out = append(out, printable.Line("all kinds of "+schema.GroupVersion{Group: s.Group, Version: s.Version}.String()))
		}
	}
	return out
}

// bounded returns an error for a header of more than is read.
func (h *Header) bounded() error {
	served := len(h.Serves) + len(h.Custom)
	for _, s := range h.Serves {
		served += len(s.Resources)
	}
	if served > maxServed {
		return fmt.Errorf("the cluster serves more than %d kinds", maxServed)
	}
	return nil
}

// Served is a group and version that a cluster serves.
type Served struct {
	Group   string `json:"group,omitempty"`
	Version string `json:"version"`
	// Stale is set where the server of the group could not be asked.
	Stale     bool             `json:"stale,omitempty"`
	Resources []ServedResource `json:"resources,omitempty"`
}

// ServedResource is a kind of a group and version.
type ServedResource struct {
	Name       string `json:"name"`
	Kind       string `json:"kind"`
	Namespaced bool   `json:"namespaced,omitempty"`
	// Short are other names of it, such as "po".
	Short []string `json:"short,omitempty"`
}

// shortNames are those of Kubernetes and of OpenShift's Machine API, for folders and for files that have none
// (k8s.io/kubernetes v1.37.2 pkg/registry, ShortNames of each storage).
var shortNames = map[schema.GroupResource][]string{
	{Resource: "nodes"}: {"no"}, {Resource: "pods"}: {"po"}, {Resource: "namespaces"}: {"ns"}, {Resource: "configmaps"}: {"cm"},
	{Resource: "persistentvolumes"}: {"pv"}, {Resource: "persistentvolumeclaims"}: {"pvc"}, {Resource: "replicationcontrollers"}: {"rc"},
	{Group: "apps", Resource: "deployments"}: {"deploy"}, {Group: "apps", Resource: "statefulsets"}: {"sts"},
	{Group: "apps", Resource: "daemonsets"}: {"ds"}, {Group: "apps", Resource: "replicasets"}: {"rs"}, {Group: "batch", Resource: "cronjobs"}: {"cj"},
	{Group: "policy", Resource: "poddisruptionbudgets"}: {"pdb"}, {Group: "apps.openshift.io", Resource: "deploymentconfigs"}: {"dc"},
	{Group: "operators.coreos.com", Resource: "subscriptions"}: {"sub", "subs"}, {Group: storageGroup, Resource: "storageclasses"}: {"sc"},
	{Group: "scheduling.k8s.io", Resource: "priorityclasses"}: {"pc"},
}

// short returns the other names of a resource of a group: those that are recorded, or else the known ones.
func (h *Header) short(group string, r ServedResource) []string {
	if h.ShortNames {
		return r.Short
	}
	return shortNames[schema.GroupResource{Group: group, Resource: r.Name}]
}

// state is whether the objects of a kind are in a recording.
type state string

const (
	stateRecorded  state = ""
	stateForbidden state = "forbidden"
	stateUnserved  state = "unserved"
)

// kindRecord begins the objects of a kind.
type kindRecord struct {
	Group    string `json:"group,omitempty"`
	Version  string `json:"version"`
	Resource string `json:"resource"`
	Kind     string `json:"kind"`
	State    state  `json:"state,omitempty"`
	// Some names the only objects that were looked at, as namespace/name; none for all.
	Some []string `json:"some,omitempty"`
}

func (k kindRecord) gvr() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: k.Group, Version: k.Version, Resource: k.Resource}
}

func (k kindRecord) apiVersion() string {
	return schema.GroupVersion{Group: k.Group, Version: k.Version}.String()
}

// protobuf reports whether the objects of the kind are in protobuf.
func (k kindRecord) protobuf() bool { return k.gvr() == podResource }

var (
	nodeResource      = schema.GroupVersionResource{Version: "v1", Resource: "nodes"}
	podResource       = schema.GroupVersionResource{Version: "v1", Resource: "pods"}
	statefulSets      = schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "statefulsets"}
	namespaceResource = schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}
)

// endRecord closes a file.
type endRecord struct {
	Objects int    `json:"objects"`
	Digest  string `json:"digest"`
}

// served turns what discovery answers into what a file has of it.
func served(lists []*metav1.APIResourceList, stale []schema.GroupVersion) []Served {
	var out []Served
	for _, list := range lists {
		gv, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			continue
		}
		one := Served{Group: gv.Group, Version: gv.Version}
		for _, r := range list.APIResources {
			if !strings.Contains(r.Name, "/") {
				one.Resources = append(one.Resources, ServedResource{Name: r.Name, Kind: r.Kind, Namespaced: r.Namespaced, Short: r.ShortNames})
			}
		}
		out = append(out, one)
	}
	for _, gv := range stale {
		out = append(out, Served{Group: gv.Group, Version: gv.Version, Stale: true})
	}
	return out
}
