// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package workloadtolerations_test

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/rand"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/golden"
)

// What differs from run to run: how many nodes tests have made that run at the same
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
	s.c.Node(t, acctest.Node{Name: acctest.Name(t, "other")})
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

	// What pods live by stays until the taint goes: two rollouts.
	named := where("Deployment", `name = "web"`)
	cli.Write(s.c.Provider(t), s.hcl(named, "team=a:NoExecute", ""))
	cli.MustRun("apply", "-auto-approve", "-input=false")
	check("changes_nothing", s.hcl(named, "team=a:NoExecute", ""))
	check("changes_the_value", s.hcl(named, "team=b:NoExecute", ""))
	s.c.Patch(t, s.namespace, `{"spec":{"taints":[{"key":"team","value":"a","effect":"NoExecute"}]}}`)
	check("changes_what_pods_live_by", s.hcl(named, "team=b:NoExecute", ""))
	check("changes_it_now", s.hcl(named, "team=b:NoExecute", "  retire = \"now\"\n"))
}

func TestAccWorkloadTolerations_destroySaysWhatRestartsAndWhatStays(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	thing := s.make("Deployment", "web", 3, "foreign*", nil)
	i := s.fresh()
	s.apply(i, s.manage(thing, "team=a:NoExecute spot*", nil))
	title := `Deployment "` + s.namespace + `/web"`
	says(t, "warning", s.tf.Plan(t, i, nil).Diagnostics.Warnings(), "Removing the tolerations of "+title+" restarts 3 pods\n", "removes spot Exists, team=a:NoExecute")
	s.c.Patch(t, s.namespace, `{"spec":{"taints":[{"key":"team","value":"a","effect":"NoExecute"}]}}`)
	d := s.destroy(i)
	says(t, "warning", d.Warnings(), "Removing the tolerations of "+title+" restarts 3 pods in 2 rollouts\n", "removes spot Exists", "keeps team=a:NoExecute while pods need it",
		"1 toleration of "+title+" stays for now: team=a:NoExecute", "marked as retiring")
	s.want(thing, "foreign* team=a:NoExecute", 1)
}

func TestAccWorkloadTolerations_shadowedTolerationsArePointedOut(t *testing.T) {
	t.Parallel()
	shared := openShop(t)
	for name, tt := range map[string]struct{ foreign, wanted, shadow string }{
		"by one that ends sooner":    {"team=a:NoExecute@30", "team=a:NoExecute", "team=a:NoExecute for 30s"},
		"by one of any value":        {"team*:NoExecute@30", "team=a:NoExecute", "team Exists:NoExecute for 30s"},
		"by one that ends later":     {"team*:NoExecute", "team=a:NoExecute@30", "team Exists:NoExecute"},
		"not by one of other values": {"team=b:NoExecute@30", "team=a:NoExecute", ""},
		"not by one of other effect": {"team*:NoSchedule", "team=a:NoExecute", ""},
		"not by one that is equal":   {"team*:NoExecute@30", "team=a:NoExecute@30", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := shared.on(t)
			thing := s.make("Deployment", acctest.Name(t, "web"), 0, tt.foreign, nil)
			d := s.apply(s.fresh(), s.manage(thing, tt.wanted, nil))
			if tt.shadow == "" {
				if d.Warnings() != "" {
					t.Fatalf("the plan warns: %s", d.Warnings())
				}
				return
			}
			says(t, "warning", d.Warnings(), `[AttributeName("tolerations")]`, "is shadowed", thing.Name, tt.shadow+" is before it")
		})
	}
}

func TestAccWorkloadTolerations_tolerationWithoutAKeyWarns(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	cli := acctest.NewCLI(t)
	for tolerations, warns := range map[string]bool{"*": true, "*:NoExecute": true, "*:NoExecute@30": false, "team*": false} {
		cli.Write(s.c.Provider(t), strings.ReplaceAll(s.hcl(`kind = "Deployment", namespace = "shop", name = "web"`, tolerations, ""), `key = "", `, ""))
		if out := cli.MustRun("validate"); strings.Contains(out, `A toleration of Deployment "shop/web" has no key and tolerates every `) != warns {
			t.Fatalf("%s:\n%s", tolerations, out)
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
		"Helm by its label":                  {"", `{"metadata":{"labels":{"app.kubernetes.io/managed-by":"Helm"}}}`, "Helm"},
		"Helm by its annotation":             {"", `{"metadata":{"annotations":{"meta.helm.sh/release-name":"web"}}}`, "Helm"},
		"Helm by what it has written":        {"helm", list, "Helm"},
		"Argo CD by its annotation":          {"", `{"metadata":{"annotations":{"argocd.argoproj.io/tracking-id":"web:apps/Deployment:shop/web"}}}`, "Argo CD"},
		"Argo CD by what it has written":     {"argocd-controller", list, "Argo CD"},
		"Flux by its label":                  {"", `{"metadata":{"labels":{"kustomize.toolkit.fluxcd.io/name":"web"}}}`, "Flux"},
		"kubectl apply of tolerations":       {"kubectl-client-side-apply", list, "kubectl apply"},
		"kubectl apply --server-side":        {"kubectl", list, "kubectl apply --server-side"},
		"hashicorp/kubernetes":               {"HashiCorp", list, "hashicorp/kubernetes"},
		"somebody by name":                   {"our-operator", list, "our-operator"},
		"the Operator Lifecycle Manager":     {"", `{"metadata":{"labels":{"olm.owner":"gpu-operator.v1"}}}`, "the Operator Lifecycle Manager"},
		"nobody who did it by hand":          {"kubectl-edit", list, ""},
		"nobody who writes something else":   {"helm", `{"spec":{"replicas":0}}`, ""},
		"nobody by another managed-by label": {"", `{"metadata":{"labels":{"app.kubernetes.io/managed-by":"me"}}}`, ""},
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

func TestAccWorkloadTolerations_ownerThatRevertsIsNamed(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	widget := s.c.Look(t, s.widget("gpu", nil))
	thing := s.make("Deployment", "web", 1, "", nil)
	s.c.Change(t, thing, "operator", fmt.Sprintf(`{"metadata":{"ownerReferences":[{"apiVersion":"test.kubetaint.io/v1","kind":"Widget","name":"gpu","uid":%q,"controller":true}]}}`, widget.GetUID()))
	s.warned(s.manage(thing, "team=a:NoExecute", nil), `Deployment "`+s.namespace+`/web" belongs to Widget "gpu"`, "put its own template back", "in its custom resource")

	sets, err := s.c.Admin.AppsV1().ReplicaSets(s.namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil || len(sets.Items) != 1 {
		t.Fatalf("%d ReplicaSets: %v", len(sets.Items), err)
	}
	set := s.thing("ReplicaSet", sets.Items[0].Name)
	s.warned(s.manage(set, "team=a:NoExecute", map[string]any{"wait_for_rollout": false}), `ReplicaSet "`+s.namespace+"/"+set.Name+`" belongs to Deployment "web"`)
}

func TestAccWorkloadTolerations_namespaceThatDoesNotAllowThem(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	thing := s.make("Deployment", "web", 0, "", nil)
	allow := func(annotation string) {
		t.Helper()
		s.c.Allow(t, s.namespace, annotation)
	}
	config := s.manage(thing, "team=a:NoExecute spot*:NoSchedule", nil)
	allow(`[{"key":"team","operator":"Exists"}]`)
	s.warned(config, `[AttributeName("tolerations")] Namespace "`+s.namespace+`" does not allow Deployment "`+s.namespace+`/web" to tolerate spot Exists:NoSchedule`, "tolerationsWhitelist", "PodTolerationRestriction", "Add the toleration to the annotation first")
	for _, annotation := range []string{`[{"operator":"Exists"}]`, `[{"key":"team","operator":"Exists"},{"key":"spot","operator":"Exists"}]`, "[]", "garbage"} {
		allow(annotation)
		if got := s.planned(s.fresh(), config).Diagnostics.Warnings(); got != "" {
			t.Fatalf("with %s the plan warns: %s", annotation, got)
		}
	}
	// What is there already warns of nothing.
	allow(`[{"key":"other","operator":"Exists"}]`)
	s.apply(s.fresh(), config)
}

// A create that takes over what an earlier one has left says so.
func TestAccWorkloadTolerations_takingOverIsSaid(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	thing := s.make("Deployment", "web", 0, "", nil)
	config := s.manage(thing, "team=a:NoExecute spot*", nil)
	s.apply(s.fresh(), config)
	i := s.fresh()
	d := s.apply(i, config)
	says(t, "warning", d.Warnings(), "takes over tolerations of", `Deployment "`+s.namespace+`/web"`, "team=a:NoExecute", "spot Exists", "terraform/workload_tolerations/Deployment/"+s.namespace+"/web/")
	s.destroy(i)
	s.want(thing, "", 0)
}

// Without permission to look at pods the change is planned all the same. Applying
// it would wait for pods that it cannot see.
func TestAccWorkloadTolerations_previewThatCannotBeMadeSaysSo(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	thing := s.make("Deployment", "web", 1, "", nil)
	s.tf = &acctest.Terraform{Provider: s.c.ProviderAt(t, s.c.REST.Host, s.c.TokenWith(t, noPods...))}
	i, config := s.fresh(), s.manage(thing, "team=a:NoExecute", nil)
	planned := s.planned(i, config)
	says(t, "warning", planned.Diagnostics.Warnings(), `Unable to preview the change of Deployment "`+s.namespace+`/web"`, "no permission", "list pods", `guide "Permissions"`)
	says(t, "error", s.tf.Carry(t, i, planned, config).Errors(), "no permission", "list pods", `guide "Permissions"`)
	s.want(thing, "", 0)
}
