// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package kubectlplugin_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
)

// TestSnapshot_answersAsTheCluster: every command says of a recorded cluster what it says of the cluster,
// and sends nothing.
func TestSnapshot_answersAsTheCluster(t *testing.T) {
	t.Parallel()
	acctest.OnFakeWithControllers(t, func(t *testing.T, c *acctest.Cluster) {
		r, file := shop(t, c), filepath.Join(t.TempDir(), "cluster.kts")
		got := r.run(t, "snapshot", "-o", file)
		if got.code != 0 || got.out != file+" written: 3 nodes and 7 pods\n" {
			t.Fatal(got)
		}
		if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("the file is %v: %v", info, err)
		}
		for _, args := range []string{
			"preview nodes -l pool=gpu dedicated=gpu:NoExecute -o json",
			"preview nodes worker-1 worker-3 dedicated=gpu:NoExecute old-",
			"preview nodes worker-1 dedicated=gpu:NoExecute --max-pods=0",
			"preview nodes nil dedicated=gpu:NoExecute",
			"preview drain -l pool=gpu -o markdown",
			"tolerates statefulset/cache dedicated=gpu:NoExecute -n shop -o yaml",
			"tolerates sts/cache other=gpu:NoExecute -n shop",
			"untolerated debug -n ops",
			"tolerates nothings/x dedicated=gpu:NoExecute",
		} {
			words := strings.Fields(args)
			want := r.run(t, words...)
			sent := len(r.log.Requests())
			got := r.run(t, append(words, "--snapshot", file)...)
			warning, rest, _ := strings.Cut(got.err, "\n")
			if !strings.HasPrefix(warning, `Warning: from the snapshot "`+file+`" of `) || !strings.HasSuffix(warning, ": 3 nodes and 7 pods") {
				t.Errorf("%s: the warning is %q", args, warning)
			}
			if got.out != want.out || rest != want.err || got.code != want.code {
				t.Errorf("%s: of the cluster it says\n%s\nand of the snapshot\n%s", args, want, got)
			}
			if more := r.log.Requests()[sent:]; len(more) > 0 {
				t.Errorf("%s: it sends %v", args, more)
			}
		}
	})
}

// TestSnapshot_toStandardOutput: the same file, and not a word beside it. Policies are not recorded where
// names are hashed.
func TestSnapshot_toStandardOutput(t *testing.T) {
	t.Parallel()
	acctest.OnFakeWithControllers(t, func(t *testing.T, c *acctest.Cluster) {
		r, file := shop(t, c), filepath.Join(t.TempDir(), "cluster.kts")
		got := r.run(t, "snapshot", "--output=-", "--hash-names")
		if err := os.WriteFile(file, []byte(got.out), 0o600); err != nil || got.code != 0 || !strings.HasPrefix(got.err, "Warning: not in the snapshot: mutatingadmissionpolicies") {
			t.Fatal(got.err, got.code, err)
		}
		got = r.run(t, "preview", "nodes", "-l", "pool", "dedicated=gpu:NoExecute", "--snapshot", file)
		if got.code != 0 || !strings.Contains(got.out, "evicts") || strings.Contains(got.String(), "debug") {
			t.Error(got)
		}
	})
}

// TestSnapshot_completesItsNodes, and sends nothing to the cluster: it may have other nodes.
func TestSnapshot_completesItsNodes(t *testing.T) {
	t.Parallel()
	acctest.OnFakeWithControllers(t, func(t *testing.T, c *acctest.Cluster) {
		r, file := shop(t, c), filepath.Join(t.TempDir(), "cluster.kts")
		if got := r.run(t, "snapshot", "-o", file); got.code != 0 {
			t.Fatal(got)
		}
		c.Node(t, acctest.Node{Name: "worker-4"})
		sent := len(r.log.Requests())
		for line, want := range map[string]string{
			"preview nodes --snapshot " + file + " w":                    "worker-1\nworker-2\nworker-3\n:4\n",
			"preview drain worker-1 --snapshot=" + file + " ":            "worker-2\nworker-3\n:4\n",
			"untolerated web --snapshot " + file + " ":                   "worker-1\nworker-2\nworker-3\n:4\n",
			"preview nodes --snapshot " + file + ".none ":                ":4\n",
			"preview nodes --context=x --snapshot " + file + " worker-1": ":4\n",
		} {
			if got := r.run(t, append([]string{"__complete"}, strings.Split(line, " ")...)...); got.out != want {
				t.Errorf("%s: want %q and got\n%s", line, want, got)
			}
		}
		if more := r.log.Requests()[sent:]; len(more) > 0 {
			t.Errorf("it sends %v", more)
		}
	})
}

// TestSnapshot_badFilesAndFlags: an error with what to do, before anything is asked or written.
func TestSnapshot_badFilesAndFlags(t *testing.T) {
	t.Parallel()
	acctest.OnFake(t, func(t *testing.T, c *acctest.Cluster) {
		r, dir := newReader(t, c), t.TempDir()
		foreign := filepath.Join(dir, "foreign")
		if err := os.WriteFile(foreign, []byte("something else"), 0o600); err != nil {
			t.Fatal(err)
		}
		for args, want := range map[string]string{
			"snapshot":                            "error: --output must be specified\nSee 'kubectl kubetaint snapshot -h'",
			"snapshot -o a b":                     "error: unexpected arguments: b\n",
			"snapshot -o a --snapshot " + foreign: "error: --snapshot cannot be used here: record a cluster\n",
			"preview nodes a k:NoExecute --snapshot " + foreign + " --context=x": "error: --snapshot cannot be used with --context\n",
			"preview nodes a k:NoExecute --snapshot " + foreign:                  `error: unable to read the snapshot "` + foreign + `": `,
			"untolerated a --snapshot " + filepath.Join(dir, "none"):             `": no such file or directory`,
			"preview nodes a k:NoExecute --snapshot " + dir:                      `error: unable to read the snapshot "` + dir + `": `,
		} {
			got := r.run(t, strings.Fields(args)...)
			if got.code != 1 || got.out != "" || !strings.Contains(got.err, want) {
				t.Errorf("%s: want %q and got\n%s", args, want, got)
			}
		}
		if sent := r.log.Requests(); len(sent) > 0 {
			t.Errorf("it sends %v", sent)
		}
	})
}

// A kubeconfig's content in the place of a path is a likely mistake, and output ends in logs.
func TestSnapshot_contentInThePlaceOfAPathIsNotPrinted(t *testing.T) {
	t.Parallel()
	acctest.OnFake(t, func(t *testing.T, c *acctest.Cluster) {
		r := newReader(t, c)
		for _, content := range []string{"users:\n- user:\n    token: secret\n", "{users: [{user: {token: secret}}]}"} {
			for _, args := range [][]string{{"preview", "nodes", "a", "k:NoExecute"}, {"untolerated", "a"}} {
				got := r.run(t, append(args, "--snapshot", content)...)
				if got.code != 1 || !strings.HasPrefix(got.err, "error: unable to read the snapshot (") || strings.Contains(got.out+got.err, "secret") {
					t.Errorf("%s: %d\n%s%s", args, got.code, got.out, got.err)
				}
			}
		}
	})
}
