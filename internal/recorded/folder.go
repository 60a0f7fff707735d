// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package recorded

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/printable"
)

const (
	// maxFiles bounds a folder: a must-gather of a large cluster has a tenth of it.
	maxFiles = 200_000
	// maxFileSize bounds one file of it, which is read as a whole, and maxYAML one in YAML, which takes more
	// memory.
	maxFileSize = 256 << 20
	maxYAML     = 64 << 20
)

// ErrNoObjects reports that a file or a folder has neither nodes nor pods.
var ErrNoObjects = errors.New("it has neither nodes nor pods: name a must-gather, or a file or a folder with the output of kubectl get nodes,pods -A -o yaml")

// extensions are those of files that are read.
var extensions = []string{".yaml", ".yml", ".json"}

func newFolder() *folder {
	return &folder{objects: map[schema.GroupVersionResource]map[key]*unstructured.Unstructured{}, kinds: map[schema.GroupVersionResource]kindRecord{}}
}

// openFolder reads every file of a folder that has objects in YAML or JSON. Links are not followed.
func openFolder(path string) (*Cluster, error) {
	f := newFolder()
	// The folder itself may be a link.
	path, err := filepath.EvalSymlinks(path)
	if err != nil {
		return nil, err
	}
	err = filepath.WalkDir(path, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() || !slices.Contains(extensions, filepath.Ext(name)) {
			return err
		}
		relative, _ := filepath.Rel(path, name)
		info, err := entry.Info()
		if err == nil {
			err = f.file(name, relative, info)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", printable.Line(relative), err)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return f.cluster()
}

// openLists reads a file with objects in YAML or JSON.
func openLists(path string, info fs.FileInfo) (*Cluster, error) {
	f := newFolder()
	if err := f.file(path, filepath.Base(path), info); err != nil {
		return nil, err
	}
	return f.cluster()
}

// folder is what was read of one, or of a single file.
type folder struct {
	header  Header
	objects map[schema.GroupVersionResource]map[key]*unstructured.Unstructured
	kinds   map[schema.GroupVersionResource]kindRecord
	files   int
	bytes   int64
	count   int
	// skipped are the files that cannot be read and that name no kind that is read.
	skipped []string
	// openshift is set where an object shows that the cluster is one of OpenShift's.
	openshift bool
	// reported is when a node last reported.
	reported time.Time
}

// file reads the objects of a file. Its time counts as that of the recording where it has any.
func (f *folder) file(name, relative string, info fs.FileInfo) error {
	f.files++
	f.bytes += info.Size()
	if filepath.Ext(name) != ".json" && info.Size() > maxYAML {
		return fmt.Errorf("the file is too large: no more than %d MiB of YAML are read, and %d MiB of JSON (kubectl get -o json)", maxYAML>>20, maxFileSize>>20)
	}
	if f.files > maxFiles || info.Size() > maxFileSize || f.bytes > maxBytes {
		return fmt.Errorf("the folder is too large: no more than %d files and %d MiB are read, and no file above %d MiB", maxFiles, maxBytes>>20, maxFileSize>>20)
	}
	file, err := os.Open(name)
	if err != nil {
		return err
	}
	defer file.Close()
	before := f.count
	err = f.documents(file, filepath.Ext(name) == ".json")
	if malformed := (*malformedError)(nil); errors.As(err, &malformed) {
		related, scanErr := namesKind(file)
		if scanErr == nil && !related {
			f.skipped = append(f.skipped, printable.Line(relative))
			return nil
		}
	}
	if err != nil {
		return errors.New(printable.Line(err.Error()))
	}
	if f.count > before && info.ModTime().After(f.header.Taken) {
		f.header.Taken = info.ModTime().UTC()
	}
	return nil
}

// add takes an object of a kind that is recorded: the newer of two with one name.
func (f *folder) add(content map[string]any, apiVersion, kind string) error {
	k, is := kindNamed(apiVersion, kind)
	metadata, hasMetadata := content["metadata"].(map[string]any)
	if !is || !hasMetadata || text(metadata["name"]) == "" {
		return nil
	}
	object := &unstructured.Unstructured{Object: content}
	object.SetAPIVersion(apiVersion)
	object.SetKind(kind)
	at := key{text(metadata["namespace"]), text(metadata["name"])}
	kept := reduceOf(k, object)
	if kept == nil {
		return nil
	}
	err := checkAmounts(k.gvr().GroupResource(), kept.Object)
	if err == nil {
		err = checkTypes(k, content, kept)
	}
	if err != nil {
		return fmt.Errorf("%s %s: %w", kind, strings.TrimPrefix(at.namespace+"/"+at.name, "/"), err)
	}
	if is, err := f.put(k, at, kept); !is {
		return err
	}
	f.learn(k, object)
	return nil
}

// put puts in an object, and returns false where there is a newer one of its name. Errors: there is too much.
func (f *folder) put(k kindRecord, at key, kept *unstructured.Unstructured) (bool, error) {
	if f.objects[k.gvr()] == nil {
		if len(f.kinds) >= maxKinds {
			return false, fmt.Errorf("there are more than %d kinds", maxKinds)
		}
		f.objects[k.gvr()], f.kinds[k.gvr()] = map[key]*unstructured.Unstructured{}, k
	}
	if old := f.objects[k.gvr()][at]; old != nil && !newer(kept, old) {
		return false, nil
	}
	f.count++
	if f.count > maxObjects {
		return false, fmt.Errorf("there are more than %d objects", maxObjects)
	}
	f.objects[k.gvr()][at] = kept
	return true, nil
}

// learn takes from an object what it shows of the cluster.
func (f *folder) learn(k kindRecord, object *unstructured.Unstructured) {
	f.openshift = f.openshift || strings.HasSuffix(k.Group, ".openshift.io") || object.GetLabels()["node.openshift.io/os_id"] != ""
	switch {
	case k.gvr() == nodeResource:
		if at := heartbeat(object.Object); at.After(f.reported) {
			f.reported = at
		}
	case k.gvr() == namespaceResource && object.GetName() == "kube-system":
		f.header.Cluster = string(object.GetUID())
	}
}

// newer reports whether an object has a later resource version than another one.
func newer(a, b *unstructured.Unstructured) bool {
	va, vb := a.GetResourceVersion(), b.GetResourceVersion()
	return len(va) > len(vb) || len(va) == len(vb) && va > vb
}

// reduceOf returns what is kept of an object of a folder, nil for one that is none of those that are recorded.
func reduceOf(k kindRecord, object *unstructured.Unstructured) *unstructured.Unstructured {
	if k.gvr().GroupResource() == configMaps {
		for _, ref := range slices.Concat(configRefs, reportRefs) {
			if ref.Namespace == object.GetNamespace() && ref.Name == object.GetName() {
				return reduceConfig(ref, object)
			}
		}
		return nil
	}
	return reduceObject(k, object)
}
