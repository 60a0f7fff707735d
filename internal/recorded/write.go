// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package recorded

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/admission"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/kube"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/printable"
)

// Options are how a cluster is recorded.
type Options struct {
	// HashNames replaces names of objects, and values of labels that Kubernetes does not define, by
	// hashes. Equal names have equal hashes in one file.
	HashNames bool
	// Version is that of the program that records.
	Version string
	// Now is the time; time.Now where it is nil.
	Now func() time.Time
}

// Summary is what was recorded.
type Summary struct {
	Nodes, Pods, Objects int
	// Missing names for messages the kinds that there was no permission to list, by plural and group, and the groups whose server did
	// not answer.
	Missing []string
}

// WriteFile records a cluster into a file that only its owner can read. The file is there once it is
// whole; a file of that name is then replaced. What is no file, such as /dev/stdout or a named pipe, is
// written to. Errors: syscall.EISDIR for a folder, those of Write and of the file system.
func WriteFile(ctx context.Context, path string, source Source, options Options) (summary Summary, err error) {
	switch info, err := os.Stat(path); {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return Summary{}, err
	case info.IsDir():
		return Summary{}, &fs.PathError{Op: "write", Path: path, Err: syscall.EISDIR}
	case !info.Mode().IsRegular():
		return writeInto(ctx, path, source, options)
	default:
		// Of a link the file is replaced that it leads to.
		if path, err = filepath.EvalSymlinks(path); err != nil {
			return Summary{}, err
		}
	}
	return replace(ctx, path, source, options)
}

// writeInto records a cluster into what is no file.
func writeInto(ctx context.Context, path string, source Source, options Options) (Summary, error) {
	out, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return Summary{}, err
	}
	summary, err := Write(ctx, out, source, options)
	return summary, errors.Join(err, out.Close())
}

// replace records a cluster into a file beside another one, and puts it into its place.
func replace(ctx context.Context, path string, source Source, options Options) (summary Summary, err error) {
	// The temporary file has mode 0600.
	file, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return Summary{}, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(file.Name()))
		}
	}()
	summary, err = Write(ctx, file, source, options)
	if err == nil {
		err = file.Sync()
	}
	if err = errors.Join(err, file.Close()); err == nil {
		err = os.Rename(file.Name(), path)
	}
	return summary, err
}

// Write records a cluster: every kind that verdicts read, object by object, as the API server returns
// them page by page. Kinds that there is no permission to list are marked, and named in the summary.
// Errors: kube.ErrForbidden where nodes or pods may not be listed, those of the API server and of w.
func Write(ctx context.Context, w io.Writer, source Source, options Options) (Summary, error) {
	if options.Now == nil {
		options.Now = time.Now
	}
	header, err := describe(ctx, source, options)
	if err != nil {
		return Summary{}, err
	}
	buffered := bufio.NewWriterSize(w, 256<<10)
	e, err := newEncoder(buffered, header)
	if err != nil {
		return Summary{}, err
	}
	r := &recording{source: source, encoder: e, serves: header.Serves, owners: map[schema.GroupKind]bool{}, done: map[schema.GroupResource]bool{}}
	if r.handles, err = newHasher(); err != nil {
		return Summary{}, err
	}
	if options.HashNames {
		r.hasher = r.handles
		if err := r.sets(ctx); err != nil {
			return Summary{}, err
		}
	}
	if err := r.all(ctx, header.Custom); err != nil {
		return Summary{}, err
	}
	if err := e.close(); err != nil {
		return Summary{}, err
	}
	r.summary.Objects = e.objects
	r.summary.Missing = append(r.summary.Missing, header.unknown()...)
	slices.Sort(r.summary.Missing)
	return r.summary, buffered.Flush()
}

// describe returns what a file says of itself.
func describe(ctx context.Context, source Source, options Options) (Header, error) {
	header := Header{Taken: options.Now().UTC().Truncate(time.Second), Provider: options.Version, Hashed: options.HashNames}
	lists, stale, err := source.Served(ctx)
	if err != nil {
		return Header{}, err
	}
	header.Serves, header.ShortNames, header.Storage = served(lists, stale), true, true
	if header.Custom, err = source.CustomResources(ctx); err != nil {
		return Header{}, err
	}
	if !options.HashNames {
		header.Server = source.Host()
	}
	// Without the right to read a namespace the state of a configuration is compared with no cluster.
	if header.Cluster, err = source.ID(ctx); err != nil && !errors.Is(err, kube.ErrForbidden) {
		return Header{}, err
	}
	return header, nil
}

// recording is a file under way.
type recording struct {
	source  Source
	encoder *encoder
	serves  catalog
	// handles hashes what no file has readable, and hasher names as well, nil where these stay readable.
	handles, hasher *hasher
	summary         Summary
	// owners are the kinds that own recorded objects, and done those that were recorded.
	owners map[schema.GroupKind]bool
	done   map[schema.GroupResource]bool
}

// all records every kind: those that every cluster has, those that are served of the others, and last
// those that own what was recorded, up to the top.
func (r *recording) all(ctx context.Context, custom []schema.GroupResource) error {
	for _, k := range builtin {
		if err := r.kind(ctx, k); err != nil {
			return err
		}
	}
	others := slices.Concat(optional(), growing, schedulers, webhooks)
	for _, resource := range custom {
		if k, is := r.serves.first(resource.Group, func(s ServedResource) bool { return s.Name == resource.Resource }); is {
			others = append(others, k)
		}
	}
	for _, k := range others {
		if r.serves.has(k.gvr()) {
			if err := r.kind(ctx, k); err != nil {
				return err
			}
		}
	}
	for _, record := range []func(context.Context) error{r.policies, r.configs, r.above} {
		if err := record(ctx); err != nil {
			return err
		}
	}
	return nil
}

// above records the kinds that own recorded objects, kind after kind.
func (r *recording) above(ctx context.Context) error {
	for {
		var next []kindRecord
		for owner := range r.owners {
			k, is := r.serves.first(owner.Group, func(s ServedResource) bool { return s.Kind == owner.Kind && s.Namespaced })
			delete(r.owners, owner)
			if is && !r.done[k.gvr().GroupResource()] {
				next = append(next, k)
			}
		}
		if len(next) == 0 {
			return nil
		}
		for _, k := range next {
			if err := r.kind(ctx, k); err != nil {
				return err
			}
		}
	}
}

// begin begins the objects of a kind, which are not recorded again.
func (r *recording) begin(k kindRecord) error {
	r.done[k.gvr().GroupResource()] = true
	return r.encoder.kind(k)
}

// kind records the objects of a kind.
func (r *recording) kind(ctx context.Context, k kindRecord) error {
	if r.done[k.gvr().GroupResource()] {
		return nil
	}
	if err := r.begin(k); err != nil {
		return err
	}
	count := 0
	begin := func() error {
		count = 0
		return r.encoder.again(k)
	}
	var err error
	if k.protobuf() {
		err = r.source.EncodedPods(ctx, begin, func(pod []byte) error {
			count++
			return r.pod(pod)
		})
	} else {
		err = r.source.EachObject(ctx, k.gvr(), begin, func(object *unstructured.Unstructured) error {
			count++
			return r.object(k, reduceObject(k, object))
		})
	}
	switch k.gvr() {
	case podResource:
		r.summary.Pods = count
	case nodeResource:
		r.summary.Nodes = count
	}
	return r.ended(k, err)
}

// ended marks a kind that could not be listed. Without nodes and pods there is nothing to record.
func (r *recording) ended(k kindRecord, err error) error {
	is, known := missing(err)
	if !known || is != stateRecorded && slices.Contains(required, k.gvr()) {
		return err
	}
	if is == stateRecorded {
		return nil
	}
	if is == stateForbidden {
		r.summary.Missing = append(r.summary.Missing, printable.Line(k.gvr().GroupResource().String()))
	}
	k.State = is
	return r.encoder.instead(k)
}

// pod records a pod, whose owner is its metadata's.
func (r *recording) pod(content []byte) error {
	var meta metav1.PartialObjectMetadata
	if err := meta.Unmarshal(content); err != nil {
		return err
	}
	r.owned(meta.OwnerReferences)
	if r.hasher != nil {
		var err error
		if content, err = r.hasher.pod(content); err != nil {
			return err
		}
	}
	return r.encoder.object(content)
}

// object records a reduced object.
func (r *recording) object(k kindRecord, object *unstructured.Unstructured) error {
	object.SetAPIVersion(k.apiVersion())
	object.SetKind(k.Kind)
	r.owned(object.GetOwnerReferences())
	if k.gvr().GroupResource() == volumeResource {
		r.handles.handle(object.Object)
	}
	if r.hasher != nil {
		r.hasher.object(k.gvr().GroupResource(), object.Object)
	}
	raw, err := json.Marshal(object.Object)
	if err != nil {
		return err
	}
	return r.encoder.object(raw)
}

// owned notes the kinds of the owners of an object. Of Kubernetes' own kinds those that plans read are recorded
// anyway, and no reference of a pod makes Secrets, ConfigMaps or events listed.
func (r *recording) owned(refs []metav1.OwnerReference) {
	for i := range refs {
		gv, err := schema.ParseGroupVersion(refs[i].APIVersion)
		if err == nil && !ofKubernetes(gv.Group) {
			r.owners[schema.GroupKind{Group: gv.Group, Kind: refs[i].Kind}] = true
		}
	}
}

// reduceObject returns what is recorded of an object: its metadata alone for policies of other writers.
func reduceObject(k kindRecord, object *unstructured.Unstructured) *unstructured.Unstructured {
	kept := reduce(k.gvr().GroupResource(), object)
	if k.Group == admissionGroup && object.GetLabels()[admission.ManagedByLabel] != admission.ManagedBy {
		delete(kept.Object, "spec")
	}
	return kept
}

// policies records the policies of kubetaint and their bindings, and the names of others. Their texts name
// objects, so that they are left out where names are hashed.
func (r *recording) policies(ctx context.Context) error {
	for _, version := range policyVersions {
		if !r.serves.has(policyKinds(version)[0].gvr()) {
			continue
		}
		for _, k := range policyKinds(version) {
			record := func(k kindRecord) error { return r.kind(ctx, k) }
			if r.hasher != nil {
				record = r.hidden
			}
			if err := record(k); err != nil {
				return err
			}
		}
		return nil
	}
	return nil
}

// hidden marks a kind as one that was not recorded.
func (r *recording) hidden(k kindRecord) error {
	if err := r.begin(k); err != nil {
		return err
	}
	return r.ended(k, kube.ErrForbidden)
}
