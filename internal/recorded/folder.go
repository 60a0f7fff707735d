// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package recorded

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"

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

// ErrNoObjects reports that a folder has neither nodes nor pods.
var ErrNoObjects = errors.New("no file in it has nodes or pods: name a must-gather, or a folder with the output of kubectl get nodes,pods -A -o yaml")

// openFolder reads every file of a folder that has objects in YAML or JSON. Links are not followed.
func openFolder(path string) (*Cluster, error) {
	f := &folder{objects: map[schema.GroupVersionResource]map[key]*unstructured.Unstructured{}, kinds: map[schema.GroupVersionResource]kindRecord{}}
	// The folder itself may be a link.
	path, err := filepath.EvalSymlinks(path)
	if err != nil {
		return nil, err
	}
	err = filepath.WalkDir(path, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() || !slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(name)) {
			return err
		}
		if err := f.file(name, entry); err != nil {
			relative, _ := filepath.Rel(path, name)
			return fmt.Errorf("%s: %w", relative, err)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return f.cluster()
}

// folder is what was read of one.
type folder struct {
	header  Header
	objects map[schema.GroupVersionResource]map[key]*unstructured.Unstructured
	kinds   map[schema.GroupVersionResource]kindRecord
	files   int
	bytes   int64
	count   int
	// openshift is set where an object shows that the cluster is one of OpenShift's.
	openshift bool
}

// file reads the objects of a file. Its time counts as that of the recording where it has any.
func (f *folder) file(name string, entry fs.DirEntry) error {
	info, err := entry.Info()
	if err != nil {
		return err
	}
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
	if err := f.documents(file); err != nil {
		return errors.New(printable.Line(err.Error()))
	}
	if f.count > before && info.ModTime().After(f.header.Taken) {
		f.header.Taken = info.ModTime().UTC()
	}
	return nil
}

// documents reads the objects and lists of one file.
func (f *folder) documents(r io.Reader) error {
	decoder := utilyaml.NewYAMLOrJSONDecoder(bufio.NewReader(io.LimitReader(r, maxFileSize)), 4096)
	for {
		var raw rawDocument
		if err := decoder.Decode(&raw); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		var content any
		if err := utiljson.Unmarshal(raw, &content); err != nil {
			return err
		}
		if document, is := content.(map[string]any); is {
			if err := f.document(document, "", ""); err != nil {
				return err
			}
		}
	}
}

// rawDocument takes a document as it is.
type rawDocument []byte

// UnmarshalJSON keeps the document.
func (r *rawDocument) UnmarshalJSON(data []byte) error {
	*r = append((*r)[:0], data...)
	return nil
}

// document takes an object, or each of a list. Items of typed lists have no kind of their own.
func (f *folder) document(content map[string]any, apiVersion, kind string) error {
	if own := text(content["kind"]); own != "" {
		apiVersion, kind = text(content["apiVersion"]), own
	}
	items, isList := content["items"].([]any)
	if !isList || !strings.HasSuffix(kind, "List") {
		return f.add(content, apiVersion, kind)
	}
	for _, one := range items {
		if item, is := one.(map[string]any); is {
			if err := f.document(item, apiVersion, strings.TrimSuffix(kind, "List")); err != nil {
				return err
			}
		}
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
	if f.objects[k.gvr()] == nil {
		f.objects[k.gvr()], f.kinds[k.gvr()] = map[key]*unstructured.Unstructured{}, k
	}
	if old := f.objects[k.gvr()][at]; old != nil && !newer(kept, old) {
		return nil
	}
	f.count++
	if f.count > maxObjects {
		return fmt.Errorf("the folder has more than %d objects", maxObjects)
	}
	f.objects[k.gvr()][at] = kept
	f.openshift = f.openshift || strings.HasSuffix(k.Group, ".openshift.io") || object.GetLabels()["node.openshift.io/os_id"] != ""
	if k.Resource == "namespaces" && at.name == "kube-system" {
		f.header.Cluster = string(object.GetUID())
	}
	return nil
}

// newer reports whether an object has a later resource version than another one.
func newer(a, b *unstructured.Unstructured) bool {
	va, vb := a.GetResourceVersion(), b.GetResourceVersion()
	return len(va) > len(vb) || len(va) == len(vb) && va > vb
}

// reduceOf returns what is kept of an object of a folder, nil for one that is none of those that are recorded.
func reduceOf(k kindRecord, object *unstructured.Unstructured) *unstructured.Unstructured {
	if k.gvr().GroupResource() == configMaps {
		for _, ref := range configRefs {
			if ref.Namespace == object.GetNamespace() && ref.Name == object.GetName() {
				return reduceConfig(ref, object)
			}
		}
		return nil
	}
	return reduceObject(k, object)
}
