// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package kubectlplugin_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
)

// TestRun_badInputIsUsageAndExitCode1: nothing is on stdout, nothing is sent, and the last line names
// where help is.
func TestRun_badInputIsUsageAndExitCode1(t *testing.T) {
	t.Parallel()
	acctest.OnFake(t, func(t *testing.T, c *acctest.Cluster) {
		r := newReader(t, c)
		for args, want := range map[string]string{
			"frob":                          `unknown command "frob" for "kubectl kubetaint"`,
			"preview frob":                  `unknown command "frob" for "kubectl kubetaint preview"`,
			"preview nodes":                 "a name of a node or --selector must be specified",
			"preview nodes a":               "at least one taint change is required",
			"preview nodes a=b:NoExecute":   "a name of a node or --selector must be specified",
			"preview nodes a k:NoExecute b": "all names must be specified before taint changes: b",
			"preview nodes a -l pool=gpu k:NoExecute":                                "cannot specify both a node name and a --selector option",
			"preview nodes -l !! k:NoExecute":                                        "found '!', expected: identifier",
			"preview nodes -l , k:NoExecute":                                         "found ',', expected",
			"preview nodes a k:NoExec":                                               `"k:NoExec" is not a taint: effect "NoExec" is none of`,
			"preview nodes a k=v":                                                    `"k=v" is not a taint: write key=value:Effect or key:Effect`,
			"preview nodes a k=v!:NoExecute":                                         `"v!" is not a label value`,
			"preview nodes a -k-":                                                    "unknown shorthand flag: 'k' in -k-",
			"preview nodes a /-":                                                     `key "/" is not a qualified name`,
			"preview nodes a k:NoExec-":                                              `effect "NoExec" is none of`,
			"preview nodes a k=1:NoExecute k=2:NoExecute":                            "duplicated taints with the same key and effect: k:NoExecute",
			"preview nodes a k:NoExecute k:NoExecute-":                               "cannot both modify and remove the following taint in the same command: k:NoExecute",
			"preview nodes a k:NoExecute k-":                                         "cannot both modify and remove the following taint in the same command: k:NoExecute",
			"preview nodes a k:NoExecute -o xml":                                     `unable to match a printer suitable for the output format "xml", allowed formats are: go-template,go-template-file,json,jsonpath,jsonpath-as-json,jsonpath-file,kyaml,markdown,table,template,templatefile,wide,yaml`,
			"preview nodes a k:NoExecute -o jsonpath={.pods":                         "error parsing jsonpath {.pods, unclosed action",
			"preview nodes a k:NoExecute -o go-template":                             "template format specified but no template given",
			"preview nodes a k:NoExecute --max-pods=-1":                              "must not be negative",
			"preview nodes a k:NoExecute --max-pods=x":                               `invalid argument "x" for "--max-pods" flag`,
			"preview nodes a k:NoExecute --only=shop/web":                            `invalid entry "shop/web" of --only: it names no kind`,
			"preview nodes a k:NoExecute --frob":                                     "unknown flag: --frob",
			"preview drain":                                                          "a name of a node or --selector must be specified",
			"preview drain node/":                                                    `"node/" has no name of a node`,
			"preview drain a -l x":                                                   "cannot specify both a node name and a --selector option",
			"preview drain a -o name":                                                "unable to match a printer",
			"preview drain a --pod-selector=!!":                                      "found '!', expected: identifier",
			"preview drain a --pod-selector=":                                        "an empty selector matches everything: name at least one label",
			"preview machineset a k:NoExecute":                                       "--strategy must be specified, one of: template_only, in_place, rolling, surge, scale_to_zero",
			"preview machineset a k:NoExecute --strategy=fast":                       `invalid --strategy "fast", allowed values are: template_only`,
			"preview machineset a b k:NoExecute --strategy=rolling":                  "one name or --selector must be specified, and not 2 names",
			"preview machineset k:NoExecute --strategy=rolling":                      "a name of a MachineSet or --selector must be specified",
			"preview machineset a k:NoExecute --strategy=rolling --max-surge=2":      "--max-surge is only for the strategy surge",
			"preview machineset a k:NoExecute --strategy=surge --max-surge=0":        "must be at least 1",
			"preview machineset a k:NoExecute --strategy=scale_to_zero --wait-for=x": `invalid --wait-for "x", allowed values are: marked_deleted, removed`,
			"tolerates web":                                                          "one pod or TYPE/NAME and at least one taint KEY=VALUE:EFFECT are required",
			"tolerates k:NoExecute":                                                  "one pod or TYPE/NAME and at least one taint",
			"tolerates web k-":                                                       "one pod or TYPE/NAME and at least one taint",
			"tolerates web k:NoExecute -o markdown":                                  "jsonpath-file,kyaml,table,template,templatefile,yaml",
			"untolerated":                                                            "a pod or TYPE/NAME is required",
			"untolerated web a -l x":                                                 "cannot specify both a node name and a --selector option",
		} {
			words := strings.Fields(args)
			command := "kubectl kubetaint"
			for _, word := range words[:min(len(words), 2)] {
				if strings.Contains(" preview nodes drain machineset tolerates untolerated ", " "+word+" ") {
					command += " " + word
				}
			}
			got := r.run(t, words...)
			if got.code != 1 || got.out != "" || !strings.HasPrefix(got.err, "error: ") || !strings.Contains(got.err, want) || !strings.HasSuffix(got.err, "\nSee '"+command+" -h' for help and examples\n") {
				t.Errorf("%s: want %q and got\n%s", args, want, got)
			}
		}
		if sent := r.log.Requests(); len(sent) > 0 {
			t.Errorf("it sends %v", sent)
		}
	})
}

// TestRun_whatTheClusterDoesNotHave is an error of the API server in kubectl's words, with exit code 1.
func TestRun_whatTheClusterDoesNotHave(t *testing.T) {
	t.Parallel()
	acctest.OnFake(t, func(t *testing.T, c *acctest.Cluster) {
		c.Node(t, acctest.Node{Name: "a"})
		namespace := c.Namespace(t)
		done := c.Pod(t, namespace, "done", "a", nil)
		done.Status.Phase = corev1.PodSucceeded
		if _, err := c.Admin.CoreV1().Pods(namespace).UpdateStatus(t.Context(), done, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		r := newReader(t, c)
		notFound := func(resource string, names ...string) (out string) {
			for _, name := range names {
				out += "Error from server (NotFound): " + resource + " \"" + name + "\" not found\n"
			}
			return out
		}
		for args, want := range map[string]string{
			"preview nodes none a nil k:NoExecute":                      notFound("nodes", "nil", "none"),
			"preview drain none":                                        notFound("nodes", "none"),
			"preview nodes a k-":                                        "error: taint \"k\" not found\n",
			"preview nodes a k:NoExecute-":                              "error: taint \"k:NoExecute\" not found\n",
			"preview nodes a k=v:NoExecute- j- l:NoSchedule":            "error: taint \"k:NoExecute\" not found\nerror: taint \"j\" not found\n",
			"tolerates web k:NoExecute":                                 notFound("pods", "web"),
			"tolerates done k:NoExecute":                                "error: pod " + namespace + "/done has run to its end or is being deleted\n",
			"tolerates deployment/web k:NoExecute":                      notFound("deployments.apps", "web"),
			"tolerates frobs/web k:NoExecute":                           "error: the server doesn't have a resource type \"frobs\"\n",
			"preview nodes a k:NoExecute --context=none":                "error: context \"none\" does not exist\n",
			"untolerated done none":                                     notFound("nodes", "none"),
			"preview machineset x k:NoExecute --strategy=template_only": "error: the cluster has no Machine API: it does not serve machinesets.machine.openshift.io\n",
		} {
			if got := r.run(t, append(strings.Fields(args), "--namespace", namespace)...); got.code != 1 || got.out != "" || got.err != want {
				t.Errorf("%s: want %q and got\n%s", args, want, got)
			}
		}
	})
}
