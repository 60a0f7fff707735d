// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package recorded

import (
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/kube"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/printable"
)

// Cluster is a recorded cluster. It is safe for concurrent use: nothing changes it.
type Cluster struct {
	header Header
	kinds  map[schema.GroupVersionResource]*recordedKind
	// spaces is how many namespaces have pods, for a folder, which may have those of a few alone.
	spaces int
	folder bool
	// dated is set where the objects of a folder show when it was made.
	dated bool
	// skipped are files of a folder that cannot be read and name no kind that is read.
	skipped []string
}

// recordedKind is the objects of a kind.
type recordedKind struct {
	kindRecord
	objects []object
	// partial is set where the cluster may have more objects than these, and spaces are the namespaces
	// of which it has no more.
	partial bool
	spaces  map[string]bool
	// at finds an object by its namespace and name.
	at map[key]int
	// onNode finds pods by their node.
	onNode map[string][]int
}

type key struct{ namespace, name string }

// object is a reduced object: its encoded form, and what requests ask for it by.
type object struct {
	key
	content []byte
}

// Open reads a file that Write has written, a folder with a must-gather, or a file or a folder with lists as
// "kubectl get -o yaml" and "-o json" print them. Errors: ErrForeign, ErrNewer, ErrTruncated, ErrDamaged,
// ErrNoObjects, and those of the file system.
func Open(path string) (*Cluster, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		return openFolder(path)
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	c, err := Read(file)
	err = errors.Join(err, file.Close())
	if errors.Is(err, ErrForeign) && info.Mode().IsRegular() && slices.Contains(extensions, filepath.Ext(path)) {
		return openLists(path, info)
	}
	return c, err
}

// Read reads what Write has written. Memory is bounded: no more is kept than fits the bounds of
// this package. Errors: ErrForeign, ErrNewer, ErrTruncated, ErrDamaged, those of the reader.
func Read(r io.Reader) (*Cluster, error) {
	d, err := newDecoder(r)
	if err != nil {
		return nil, err
	}
	l := &loader{cluster: &Cluster{kinds: map[schema.GroupVersionResource]*recordedKind{}}}
	for {
		kind, content, err := d.next(l.take)
		if err != nil {
			return nil, err
		}
		if kind == recordEnd {
			if err := d.end(content, l.objects); err != nil {
				return nil, err
			}
			if !l.headed {
				return nil, damaged("it has no header")
			}
			return l.cluster, l.cluster.index()
		}
		if err := l.record(kind, content); err != nil {
			return nil, err
		}
	}
}

// loader puts records into a cluster.
type loader struct {
	cluster *Cluster
	current *recordedKind
	headed  bool
	// objects is how many there are of all kinds.
	objects int
	// chunk is memory for objects, many of which share one allocation.
	chunk []byte
}

const chunkSize = 1 << 20

// take returns memory for a record.
func (l *loader) take(size int) []byte {
	if size > chunkSize/16 {
		return make([]byte, size)
	}
	if size > len(l.chunk) {
		l.chunk = make([]byte, chunkSize)
	}
	out := l.chunk[:size:size]
	l.chunk = l.chunk[size:]
	return out
}

// record takes a record. Each object is checked before the next one takes its memory.
func (l *loader) record(kind byte, content []byte) error {
	switch {
	case kind == recordHeader && !l.headed:
		l.headed = true
		if err := json.Unmarshal(content, &l.cluster.header); err != nil {
			return damaged("its header: %s", err)
		}
		if err := l.cluster.header.bounded(); err != nil {
			return damaged("its header: %s", err)
		}
		return nil
	case kind == recordKind && l.headed:
		return l.kind(content)
	case kind == recordObject && l.current != nil && l.current.State == stateRecorded:
		if l.objects >= maxObjects {
			return damaged("it has more than %d objects", maxObjects)
		}
		one, err := l.current.object(content)
		if err != nil {
			return err
		}
		l.objects++
		l.current.objects = append(l.current.objects, one)
		return nil
	}
	return damaged("a record of type %q where none can be", kind)
}

// kind begins a kind, in the place of one of the same name.
func (l *loader) kind(content []byte) error {
	if len(content) > maxKindRecord {
		return damaged("a kind has %d bytes", len(content))
	}
	var k kindRecord
	if err := json.Unmarshal(content, &k); err != nil {
		return damaged("a kind: %s", err)
	}
	old := l.cluster.kinds[k.gvr()]
	switch {
	case len(k.Some) > maxSome:
		return damaged("a kind has %d objects of which it names each", len(k.Some))
	case old != nil:
		l.objects -= len(old.objects)
	case len(l.cluster.kinds) >= maxKinds:
		return damaged("it has more than %d kinds", maxKinds)
	}
	l.current = &recordedKind{kindRecord: k}
	l.cluster.kinds[k.gvr()] = l.current
	return nil
}

// object returns an object with what requests ask for it by. Errors: ErrDamaged where it does not say.
func (k *recordedKind) object(content []byte) (object, error) {
	meta, err := k.metadata(content)
	if err == nil && meta.Name == "" {
		err = errors.New("it has no name")
	}
	if err == nil {
		err = k.checkEncoded(content)
	}
	if err != nil {
		return object{}, damaged("an object of kind %s: %s", k.gvr().GroupResource(), err)
	}
	return object{key{meta.Namespace, meta.Name}, content}, nil
}

// index makes objects be found by what requests ask for. Kinds that every cluster serves, and that an older release
// has not recorded, are not known. Errors: ErrDamaged for a pod that cannot be read.
func (c *Cluster) index() error {
	for _, k := range builtin {
		if c.kinds[k.gvr()] == nil {
			k.State = stateForbidden
			c.kinds[k.gvr()] = &recordedKind{kindRecord: k}
		}
	}
	for _, k := range c.kinds {
		k.at = make(map[key]int, len(k.objects))
		for i := range k.objects {
			k.at[k.objects[i].key] = i
		}
	}
	if pods := c.kinds[podResource]; pods != nil {
		return pods.indexNodes()
	}
	return nil
}

func (k *recordedKind) indexNodes() error {
	k.onNode = map[string][]int{}
	for i := range k.objects {
		node, err := kube.NodeOfPod(k.objects[i].content)
		if err != nil {
			return damaged("a pod: %s", err)
		}
		k.onNode[node] = append(k.onNode[node], i)
	}
	return nil
}

// metadata reads the metadata of an object.
func (k *recordedKind) metadata(content []byte) (*metav1.PartialObjectMetadata, error) {
	out := &metav1.PartialObjectMetadata{}
	if k.protobuf() {
		return out, out.Unmarshal(content)
	}
	return out, json.Unmarshal(content, out)
}

// ID is the UID of the namespace kube-system, "" where it was not recorded.
func (c *Cluster) ID() string { return c.header.Cluster }

// Taken is when the recording began; of a folder when one of its nodes last reported, or else the time of its files.
func (c *Cluster) Taken() time.Time { return c.header.Taken }

// Hashed reports whether names are hashed.
func (c *Cluster) Hashed() bool { return c.header.Hashed }

// Name names the cluster for messages: its address, or else its id; "" where neither is known.
func (c *Cluster) Name() string {
	return printable.Line(cmp.Or(c.header.Server, c.header.Cluster))
}

// Missing names for messages the kinds that are not in the recording and that the cluster has, or may have, by
// plural and group, and the groups whose server did not answer when it was made.
func (c *Cluster) Missing() []string {
	out := c.header.unknown()
	for _, k := range c.kinds {
		if k.State == stateForbidden {
			out = append(out, printable.Line(k.gvr().GroupResource().String()))
		}
	}
	slices.Sort(out)
	return out
}

// maxNamed is how many skipped files are named.
const maxNamed = 3

// Content names how many nodes and pods are in the recording, and which files of a folder were skipped.
func (c *Cluster) Content() string {
	count := func(gvr schema.GroupVersionResource) (n int) {
		if k := c.kinds[gvr]; k != nil {
			n = len(k.objects)
		}
		return n
	}
	out := printable.Count(count(nodeResource), "node") + " and " + printable.Count(count(podResource), "pod")
	if c.folder {
		out += " in " + printable.Count(c.spaces, "namespace")
	}
	if n := len(c.skipped); n > 0 {
		out += " (skipped " + printable.Count(n, "file") + " that cannot be read and name no object of a cluster: " + strings.Join(c.skipped[:min(n, maxNamed)], ", ")
		if n > maxNamed {
			out += " and others"
		}
		out += ")"
	}
	return out
}
