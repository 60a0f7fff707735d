// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package owncluster_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
)

// TestAccMachineSetTaints_faithful runs what OpenShift's habits could break, on a cluster
// that has them all. Other tests on it break it for a while.
//
//nolint:paralleltest // See above.
func TestAccMachineSetTaints_faithful(t *testing.T) {
	c := acctest.Faithful(t)
	for name, test := range map[string]func(*stage){
		"rolling ends though controllers conflict and drain in turn":    (*stage).faithfulRolling,
		"scale_to_zero waits for nodes that come uninitialized":         (*stage).faithfulScaleToZero,
		"surge that a webhook refuses ends with an error":               (*stage).faithfulSurgeRefused,
		"surge whose machine it refuses ends when its time is over":     func(s *stage) { s.faithfulRefusedInTheMiddle("surge") },
		"a MachineSet in another namespace is warned of and not begun":  (*stage).faithfulElsewhere,
		"a health check that deletes a machine in the middle is no end": func(s *stage) { s.faithfulHealthCheck("rolling") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(faithful(t, c))
		})
	}
}

// TestAccMachineSetTaints_faithfulVariants does the same with each strategy.
//
//nolint:paralleltest // See above.
func TestAccMachineSetTaints_faithfulVariants(t *testing.T) {
	acctest.Exhaustive(t)
	c := acctest.Faithful(t)
	for name, tt := range map[string]struct {
		rollout map[string]any
		// least of three machines serve at every moment; spare are added for a while.
		least, spare int
	}{
		"in_place":              {map[string]any{"strategy": "in_place"}, 3, 0},
		"rolling":               {map[string]any{"strategy": "rolling"}, 2, 0},
		"rolling two at a time": {map[string]any{"strategy": "rolling", "max_unavailable": 2}, 1, 0},
		"surge":                 {map[string]any{"strategy": "surge", "max_surge": 2}, 3, 2},
		"scale_to_zero":         {map[string]any{"strategy": "scale_to_zero"}, 0, 0},
		"scale_to_zero removed": {map[string]any{"strategy": "scale_to_zero", "wait_for": "removed"}, 0, 0},
	} {
		t.Run(name+" from the first taint to the last", func(t *testing.T) {
			t.Parallel()
			s := faithful(t, c)
			p, i := s.pool(3, func(m *acctest.MachineSet) { m.Spare = tt.spare }), newInstance()
			for _, taints := range []string{"team=a:NoSchedule", "team=b:NoExecute", ""} {
				config := s.config(p.Name, taints, tt.rollout)
				if taints == "" {
					config = nil
				}
				least := p.Least()
				s.apply(i, config)
				if got, want := least(), tt.least; got < want {
					t.Errorf("%q: %d machines served at some moment, want %d", taints, got, want)
				}
				p.Want(3, foreign+" "+taints)
			}
		})
	}
	for _, strategy := range []string{"in_place", "rolling", "surge", "scale_to_zero"} {
		t.Run(strategy+" beside a health check", func(t *testing.T) {
			t.Parallel()
			faithful(t, c).faithfulHealthCheck(strategy)
		})
		t.Run(strategy+" refused in the middle", func(t *testing.T) {
			t.Parallel()
			faithful(t, c).faithfulRefusedInTheMiddle(strategy)
		})
	}
}

// faithfulRolling replaces three machines, two at a time, whose pods must be drained.
func (s *stage) faithfulRolling() {
	p, i := s.pool(3, nil), newInstance()
	apps := s.c.Namespace(s.T)
	s.c.Deployment(s.T, apps, "web", 3, func(spec *corev1.PodSpec) {
		spec.NodeSelector = map[string]string{"pool": p.Name}
		spec.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoSchedule}}
	})
	made := p.Made()
	s.apply(i, s.config(p.Name, "team=a:NoSchedule", map[string]any{"strategy": "rolling", "max_unavailable": 2}))
	p.Want(3, foreign+" team=a:NoSchedule")
	if got := p.Made() - made; got != 3 {
		s.Errorf("%d machines were made, want 3", got)
	}
	for name, m := range p.Machines() {
		if s.c.Get(s.T, m.Status.NodeRef.Name).Labels["node.openshift.io/os_id"] == "" {
			s.Errorf("the node of %s does not name its operating system", name)
		}
	}
	s.drainedInTurn(p)
	if !slices.ContainsFunc(s.c.AuditOf(s.T, "machineapi/nodelink").Requests(), func(r acctest.AuditedRequest) bool { return r.Code == http.StatusConflict }) {
		s.Error("nodelink met no conflict")
	}
	s.apply(i, nil)
	p.Want(3, foreign)
}

// drainedInTurn expects that no drain began before the one before it had ended.
func (s *stage) drainedInTurn(p *acctest.Pool) {
	s.Helper()
	events, err := s.c.Admin.CoreV1().Events(s.namespace).List(s.Context(), metav1.ListOptions{})
	if err != nil {
		s.Fatal(err)
	}
	slices.SortFunc(events.Items, func(a, b corev1.Event) int { return a.EventTime.Compare(b.EventTime.Time) })
	draining, drains := "", 0
	for _, e := range events.Items {
		switch {
		case e.Reason == "DrainProceeds" && draining != "" && draining != e.InvolvedObject.Name:
			s.Errorf("the drain of %s began before that of %s had ended", e.InvolvedObject.Name, draining)
		case e.Reason == "DrainProceeds":
			draining = e.InvolvedObject.Name
			drains++
		case e.Reason == "DrainSucceeded" || e.Reason == "DrainRequeued":
			draining = ""
		}
	}
	if drains == 0 {
		s.Errorf("nothing was drained on the machines of %s", p.Name)
	}
}

// faithfulScaleToZero waits until the new nodes have been initialized.
func (s *stage) faithfulScaleToZero() {
	p, i := s.pool(2, nil), newInstance()
	joined := s.joining(p)
	s.apply(i, s.config(p.Name, "team=a:NoExecute", map[string]any{"strategy": "scale_to_zero"}))
	p.Want(2, foreign+" team=a:NoExecute")
	for name, as := range joined() {
		if as.provider != "" || !strings.Contains(as.taints, "uninitialized") || strings.Contains(as.taints, "team") {
			s.Errorf("node %s has joined with the provider ID %q and the taints %s", name, as.provider, as.taints)
		}
	}
	s.apply(i, nil)
	p.Want(2, foreign)
}

// registered is how a node looks when it joins.
type registered struct{ provider, taints string }

// joining returns a function that returns how the nodes have joined which a MachineSet has
// got since.
func (s *stage) joining(p *acctest.Pool) func() map[string]registered {
	s.Helper()
	ctx, stop := context.WithCancel(s.Context())
	s.Cleanup(stop)
	list, err := s.c.Admin.CoreV1().Nodes().List(ctx, metav1.ListOptions{LabelSelector: "pool=" + p.Name})
	if err != nil {
		s.Fatal(err)
	}
	w, err := s.c.Admin.CoreV1().Nodes().Watch(ctx, metav1.ListOptions{LabelSelector: "pool=" + p.Name, ResourceVersion: list.ResourceVersion})
	if err != nil {
		s.Fatal(err)
	}
	return func() map[string]registered {
		out := map[string]registered{}
		acctest.Until(s.T, "the watch has told of all nodes", func(ctx context.Context) (bool, error) {
			for _, m := range p.Machines() {
				if _, told := out[m.Status.NodeRef.Name]; !told {
					select {
					case event := <-w.ResultChan():
						if n, ok := event.Object.(*corev1.Node); ok && event.Type == "ADDED" {
							out[n.Name] = registered{n.Spec.ProviderID, fmt.Sprint(n.Spec.Taints)}
						}
					case <-ctx.Done():
					}
					return false, nil
				}
			}
			return true, nil
		})
		return out
	}
}

// withdraw has the webhooks refuse an image from now on, or no more.
func (s *stage) withdraw(image string, gone bool) {
	s.Helper()
	images, value := s.c.Admin.CoreV1().ConfigMaps("invented-cloud"), `""`
	if !gone {
		value = "null"
	}
	ctx := context.Background()
	_, err := images.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "withdrawn-images"}}, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		s.Fatal(err)
	}
	if _, err := images.Patch(ctx, "withdrawn-images", types.MergePatchType, []byte(`{"data":{"`+image+`":`+value+`}}`), metav1.PatchOptions{}); err != nil {
		s.Fatal(err)
	}
}

// faithfulSurgeRefused: the MachineSet was made before its image was withdrawn, and each
// change of it is refused since.
func (s *stage) faithfulSurgeRefused() {
	image := acctest.Name(s.T, "image")
	p, i := s.pool(1, func(m *acctest.MachineSet) { m.Cloud = map[string]any{"image": image} }), newInstance()
	config := s.config(p.Name, "team=a:NoSchedule", map[string]any{"strategy": "surge"})
	s.withdraw(image, true)
	told := s.tf.Apply(s.T, i, config).Errors()
	acctest.WantAll(s.T, told, "Unable to create taints of MachineSet", `admission webhook "validation.machineset.machine.openshift.io" denied the request`,
		"this image has been withdrawn", "A webhook checks the whole object: correct first what else the error names in it.")
	if strings.Contains(told, "permission") {
		s.Errorf("it blames the credentials: %s", told)
	}
	p.Want(1, foreign)
	s.withdraw(image, false)
	s.apply(i, config)
	p.Want(1, foreign+" team=a:NoSchedule")
}

// faithfulRefusedInTheMiddle: the image is withdrawn when the rollout has begun, and is
// restored. In place and from zero it is the provider that is refused, otherwise the controller,
// which makes no machine and says so in events alone.
func (s *stage) faithfulRefusedInTheMiddle(strategy string) {
	image := acctest.Name(s.T, "image")
	p, i := s.pool(2, func(m *acctest.MachineSet) { m.Cloud = map[string]any{"image": image} }), newInstance()
	config := s.config(p.Name, "team=a:NoSchedule", map[string]any{"strategy": strategy})
	brief := acctest.With(config, map[string]any{"timeouts": map[string]any{"create": "40s"}})
	// The machines that the first write brings come before the second one.
	told := s.disturbed(i, brief, func(acctest.Request) { s.withdraw(image, true) })
	want := "this image has been withdrawn"
	if strategy == "rolling" || !strings.Contains(told, want) {
		want = "The rollout last waited for the controller of MachineSet"
	}
	if !strings.Contains(told, want) || strings.Contains(told, "permission") {
		s.Errorf("it ends with %q", told)
	}
	if left := "is left with 0 of 2 replicas"; strings.Contains(told, left) != (strategy == "scale_to_zero") {
		s.Errorf("of the count it says %q", told)
	}
	s.withdraw(image, false)
	// Any write wakes the controller from its back-off of minutes.
	s.c.Change(s.T, p.Thing, "somebody", `{"metadata":{"annotations":{"look":"again"}}}`)
	s.apply(i, config)
	p.Want(2, foreign+" team=a:NoSchedule")
}

// faithfulElsewhere: the machine is there as after a restored backup.
func (s *stage) faithfulElsewhere() {
	set := s.c.Unattended(s.T, s.c.Namespace(s.T))
	s.c.MachineOf(s.T, set, acctest.Name(s.T, "machine"))
	s.namespace = set.Namespace
	config := s.config(set.Name, "team=a:NoSchedule", map[string]any{"strategy": "rolling"})
	told := ""
	acctest.Until(s.T, "the plan warns of the namespace", func(context.Context) (bool, error) {
		told = s.tf.Plan(s.T, newInstance(), config).Diagnostics.Warnings()
		return strings.Contains(told, "No controller acts on MachineSet"), nil
	})
	acctest.WantAll(s.T, told, "Apply will stop before it changes MachineSet", "the namespace openshift-machine-api alone")
	before, began := s.c.Look(s.T, set), time.Now()
	acctest.WantAll(s.T, s.tf.Apply(s.T, newInstance(), config).Errors(), "No controller acts on MachineSet")
	if took := time.Since(began); took > time.Minute {
		s.Errorf("the apply took %s", took)
	}
	if now := s.c.Look(s.T, set); now.GetResourceVersion() != before.GetResourceVersion() {
		s.Errorf("it wrote the MachineSet: %v", now.Object)
	}
	if planned := s.tf.Plan(s.T, newInstance(), s.config(set.Name, "team=a:NoSchedule", map[string]any{"strategy": "template_only"})); !strings.Contains(planned.Diagnostics.Warnings(), "no machine will follow this change") {
		s.Errorf("with template_only it warns of %q", planned.Diagnostics.Warnings())
	}
}

// faithfulHealthCheck has a machine deleted by a MachineHealthCheck when the rollout has
// begun.
func (s *stage) faithfulHealthCheck(strategy string) {
	p, i := s.pool(3, nil), newInstance()
	s.c.Make(s.T, acctest.Thing{APIVersion: p.APIVersion, Kind: "MachineHealthCheck", Namespace: p.Namespace, Name: p.Name}, map[string]any{"spec": map[string]any{
		"selector":            map[string]any{"matchLabels": map[string]any{"machine.openshift.io/cluster-api-machineset": p.Name}},
		"unhealthyConditions": []any{map[string]any{"type": "Broken", "status": "True", "timeout": "1s"}},
	}})
	config := s.config(p.Name, "team=a:NoSchedule", map[string]any{"strategy": strategy})
	if told := s.disturbed(i, config, func(r acctest.Request) {
		for name, m := range p.Machines() {
			if name != r.Base() && m.DeletionTimestamp == nil && m.Status.NodeRef != nil {
				s.breakNode(m.Status.NodeRef.Name)
				acctest.Until(s.T, "the health check has deleted "+name, func(context.Context) (bool, error) {
					now, there := p.Machines()[name]
					return !there || now.DeletionTimestamp != nil, nil
				})
				return
			}
		}
	}); told != "" {
		s.Fatal(told)
	}
	p.Want(3, foreign+" team=a:NoSchedule")
	s.apply(i, nil)
	p.Want(3, foreign)
}

func (s *stage) breakNode(name string) {
	s.Helper()
	patch := fmt.Sprintf(`{"status":{"conditions":[{"type":"Broken","status":"True","reason":"Test","message":"","lastTransitionTime":%q,"lastHeartbeatTime":%[1]q}]}}`, time.Now().UTC().Format(time.RFC3339))
	if _, err := s.c.Admin.CoreV1().Nodes().Patch(s.Context(), name, types.StrategicMergePatchType, []byte(patch), metav1.PatchOptions{}, "status"); err != nil {
		s.Error(err)
	}
}
