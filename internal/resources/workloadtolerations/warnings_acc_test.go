// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package workloadtolerations_test

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/rand"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/golden"
)

// The parts that differ from run to run: how many nodes tests have made that run at the same
// time, and what ends the names of a Deployment's pods.
var (
	otherNodes     = regexp.MustCompile(`\d+ (does|do) not match`)
	deploymentPods = regexp.MustCompile(`\b([a-z]+)-[bcdf4-9]{1,10}-[a-z0-9]{5}\b`)
)

// TestDeploymentPods_areKnownWhateverTheHash: the hash in the name of a ReplicaSet
// (kubernetes v1.37.1 pkg/controller/controller_utils.go, ComputeHash) has as many
// letters as a number of 32 bits has digits, and one in four hundred is short.
func TestDeploymentPods_areKnownWhateverTheHash(t *testing.T) {
	t.Parallel()
	for _, hash := range []uint32{0, 9, 1234567, 98765432, 987654321, math.MaxUint32} {
		pod := "web-" + rand.SafeEncodeString(strconv.FormatUint(uint64(hash), 10)) + "-" + rand.String(5)
		if got := deploymentPods.ReplaceAllString(pod+" on shop", "$1"); got != "web on shop" {
			t.Errorf("of %s stays %q", pod, got)
		}
	}
}

// TestAccWorkloadTolerations_costAsTheCommandLinePrintsIt keeps whole warnings, taken
// from "terraform plan -json", as files that a person reads and approves.
func TestAccWorkloadTolerations_costAsTheCommandLinePrintsIt(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	cli := acctest.NewCLI(t)
	// Reasons that most nodes give come first: there are always more of these than of the shop's.
	for _, name := range []string{"other", "another"} {
		s.c.Node(t, acctest.Node{Name: acctest.Name(t, name)})
	}
	web := s.make("Deployment", "web", 3, "foreign*", nil)
	api := s.make("Deployment", "api", 2, "", map[string]any{"strategy": map[string]any{"type": "Recreate"}})
	s.make("StatefulSet", "db", 2, "", nil)
	s.make("DaemonSet", "agent", 1, "", nil)
	s.make("CronJob", "report", 0, "", nil)
	s.make("Deployment", "idle", 0, "", nil)
	s.labelled(web, "tier", "gpu")
	s.labelled(api, "tier", "gpu")
	where := func(kind, rest string) string {
		return fmt.Sprintf("kind = %q, namespace = %q, %s", kind, s.namespace, rest)
	}
	check := func(name, config string) {
		t.Helper()
		cli.Write(s.c.Provider(t), config)
		var b strings.Builder
		for _, w := range cli.PlanWarnings() {
			fmt.Fprintf(&b, "%s: %s\n\n%s\n", w.Address, w.Summary, w.Detail)
		}
		got := otherNodes.ReplaceAllString(strings.ReplaceAll(b.String(), s.namespace, "shop"), "1 does not match")
		golden.Check(t, name+".golden", deploymentPods.ReplaceAllString(got, "$1"))
	}
	for kind, name := range map[string]string{"StatefulSet": "db", "DaemonSet": "agent", "CronJob": "report"} {
		check("adds_to_"+strings.ToLower(kind), s.hcl(where(kind, `name = "`+name+`"`), "team=a:NoExecute", ""))
	}
	check("adds_to_no_pods", s.hcl(where("Deployment", `name = "idle"`), "team=a:NoExecute", ""))
	check("adds_by_selector", s.hcl(where("Deployment", `selector = "tier=gpu"`), "team=a:NoExecute spot*:NoSchedule", ""))

	// A toleration that pods need stays until the taint is removed: two rollouts.
	named := where("Deployment", `name = "web"`)
	cli.Write(s.c.Provider(t), s.hcl(named, "team=a:NoExecute", ""))
	cli.MustRun("apply", "-auto-approve", "-input=false")
	check("changes_nothing", s.hcl(named, "team=a:NoExecute", ""))
	check("changes_the_value", s.hcl(named, "team=b:NoExecute", ""))
	s.c.Patch(t, s.namespace, `{"spec":{"taints":[{"key":"team","value":"a","effect":"NoExecute"}]}}`)
	check("changes_what_pods_need", s.hcl(named, "team=b:NoExecute", ""))
	check("changes_it_now", s.hcl(named, "team=b:NoExecute", "  retire = \"now\"\n"))
}

func TestAccWorkloadTolerations_tolerationWithoutAKeyWarns(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	s.make("Deployment", "web", 0, "", nil)
	cli, web := acctest.NewCLI(t), fmt.Sprintf(`kind = "Deployment", namespace = %q, name = "web"`, s.namespace)
	for tolerations, warns := range map[string]bool{"*": true, "*:NoExecute": true, "*:NoExecute@30": false, "team*": false} {
		cli.Write(s.c.Provider(t), strings.ReplaceAll(s.hcl(web, tolerations, ""), `key = "", `, ""))
		found := slices.ContainsFunc(cli.PlanWarnings(), func(w acctest.PlanWarning) bool {
			return strings.Contains(w.Summary, `has no key and tolerates every `)
		})
		if found != warns {
			t.Errorf("%s: a warning is %t, want %t", tolerations, found, warns)
		}
	}
}

// TestAccWorkloadTolerations_otherWritersAreNamed: who is likely to put their own list
// back, and what to do.
func TestAccWorkloadTolerations_otherWritersAreNamed(t *testing.T) {
	t.Parallel()
	shared := openShop(t)
	const list = `{"spec":{"template":{"spec":{"tolerations":[{"key":"foreign","operator":"Exists"}]}}}}`
	for name, tt := range map[string]struct {
		manager, patch, writer string
	}{
		"Helm by its label":                     {"", `{"metadata":{"labels":{"app.kubernetes.io/managed-by":"Helm"}}}`, "Helm"},
		"Helm by its annotation":                {"", `{"metadata":{"annotations":{"meta.helm.sh/release-name":"web"}}}`, "Helm"},
		"Helm by what it has written":           {"helm", list, "Helm"},
		"Argo CD by its annotation":             {"", `{"metadata":{"annotations":{"argocd.argoproj.io/tracking-id":"web:apps/Deployment:shop/web"}}}`, "Argo CD"},
		"Argo CD by what it has written":        {"argocd-controller", list, "Argo CD"},
		"Flux by its label":                     {"", `{"metadata":{"labels":{"kustomize.toolkit.fluxcd.io/name":"web"}}}`, "Flux"},
		"kubectl apply of tolerations":          {"kubectl-client-side-apply", list, "kubectl apply"},
		"kubectl apply --server-side":           {"kubectl", list, "kubectl apply --server-side"},
		"hashicorp/kubernetes":                  {"HashiCorp", list, "hashicorp/kubernetes"},
		"a manager by its name":                 {"our-operator", list, "our-operator"},
		"the Operator Lifecycle Manager":        {"", `{"metadata":{"labels":{"olm.owner":"gpu-operator.v1"}}}`, "the Operator Lifecycle Manager"},
		"no user who did it by hand":            {"kubectl-edit", list, ""},
		"no writer of another field":            {"helm", `{"spec":{"replicas":0}}`, ""},
		"no writer by another managed-by label": {"", `{"metadata":{"labels":{"app.kubernetes.io/managed-by":"me"}}}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := shared.on(t)
			thing := s.make("Deployment", acctest.Name(t, "web"), 0, "", nil)
			manager := tt.manager
			if manager == "" {
				manager = "anybody"
			}
			s.c.Change(t, thing, manager, tt.patch)
			i, config := s.fresh(), s.manage(thing, "team=a:NoExecute", nil)
			got := s.planned(i, config).Diagnostics.Warnings()
			if tt.writer == "" {
				if got != "" {
					t.Fatalf("the plan warns: %s", got)
				}
				return
			}
			says(t, "warning", got, `[AttributeName("workload")] Deployment "`+s.namespace+"/"+thing.Name+`" is also written by `+tt.writer+"\n", "ignore the field spec.template.spec.tolerations")
			// Our own write makes us no other writer.
			s.apply(i, config)
			if got := s.planned(i, s.manage(thing, "team=b:NoExecute", nil)).Diagnostics.Warnings(); strings.Contains(got, "kubetaint") {
				t.Fatalf("the plan warns: %s", got)
			}
		})
	}
}
