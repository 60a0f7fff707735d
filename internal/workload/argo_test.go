// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package workload

import (
	"cmp"
	"fmt"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/printable"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

// direct observes an object whose pods are its own.
func direct(t *testing.T, apiVersion, kind, rest string) *Workload {
	t.Helper()
	o := object(t, apiVersion, kind, rest)
	w, err := Observe(o, []string{"spec", "template", "spec", "tolerations"})
	if err != nil {
		t.Fatal(err)
	}
	w.Pods = []snapshot.WorkloadKey{w.Owner()}
	w.Direct(o)
	return w
}

func TestDirect_readsTheGenerationThatTheControllerHasSeen(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		status string
		want   bool
	}{
		"a number that is current":           {`{"observedGeneration":3}`, true},
		"a number that is older":             {`{"observedGeneration":2}`, false},
		"a Rollout's text that is current":   {`{"observedGeneration":"3"}`, true},
		"a Rollout's text that is older":     {`{"observedGeneration":"2"}`, false},
		"a hash, as Argo Rollouts 0.9 wrote": {`{"observedGeneration":"5c7f9d"}`, true},
		"nothing":                            {`{}`, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := direct(t, "argoproj.io/v1alpha1", "Rollout", `{"metadata":{"generation":3},"spec":{"replicas":2,"template":{}},"status":`+tt.status+`}`)
			if w.Observed != tt.want || w.Wants != 2 {
				t.Errorf("observed is %v, want %v, and it wants %d pods", w.Observed, tt.want, w.Wants)
			}
		})
	}
}

func TestDirect_missingPodsOfAPromotedRolloutFollow(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		status string
		want   bool
	}{
		"promoted":                     {`{"observedGeneration":"3","stableRS":"7d9","currentPodHash":"7d9"}`, true},
		"in the middle of a canary":    {`{"observedGeneration":"3","stableRS":"5c7","currentPodHash":"7d9"}`, false},
		"the template is not observed": {`{"observedGeneration":"2","stableRS":"7d9","currentPodHash":"7d9"}`, false},
		"nothing is reported":          {`{}`, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := direct(t, "argoproj.io/v1alpha1", "Rollout", `{"metadata":{"generation":3},"spec":{"replicas":2,"template":{}},"status":`+tt.status+`}`)
			if w.MissingFollow != tt.want {
				t.Errorf("missing pods follow: %t", w.MissingFollow)
			}
		})
	}
}

func TestDirect_readsHowARolloutOfArgoFollows(t *testing.T) {
	t.Parallel()
	const promote = "promote it (kubectl argo rollouts promote web -n shop)"
	endless, short := `{"setWeight":20},{"pause":{}}`, `{"setWeight":20},{"pause":{"duration":"10s"}}`
	canary := func(steps string) string { return `"strategy":{"canary":{"steps":[` + steps + `]}}` }
	byHand := `"strategy":{"blueGreen":{"activeService":"web","autoPromotionEnabled":false}}`
	paused := func(reason string, step int) string {
		return fmt.Sprintf(`{"observedGeneration":"3","controllerPause":true,"currentStepIndex":%d,"pauseConditions":[{"reason":%q,"startTime":"2026-11-26T00:00:00Z"}]}`, step, reason)
	}
	endlessCanary := Rolling{Manner: "by its canary steps", Pauses: Stop{"step 2 of 2 of its canary is a pause without a duration", promote}}
	with := func(r Rolling, stands Stop) Rolling {
		r.Stands = stands
		return r
	}
	steps := Rolling{Manner: "by its canary steps"}
	blueGreen := Rolling{Pauses: Stop{"its blue-green strategy has autoPromotionEnabled = false", promote}}
	for name, tt := range map[string]struct {
		kind, spec, status string
		want               Rolling
	}{
		"a canary without steps":               {"", `"strategy":{"canary":{}}`, `{}`, Rolling{}},
		"one that a user has paused":           {"", canary(endless) + `,"paused":true`, `{}`, Rolling{Hold: "it is paused", WayOut: "resume it (kubectl argo rollouts promote web -n shop)"}},
		"a pause without a duration":           {"", canary(endless), `{}`, endlessCanary},
		"a pause of 10 seconds":                {"", canary(short), `{}`, steps},
		"a canary at its endless pause":        {"", canary(endless), paused("CanaryPauseStep", 1), with(endlessCanary, Stop{"it is paused (CanaryPauseStep)", promote})},
		"a canary at a pause that ends":        {"", canary(short), paused("CanaryPauseStep", 1), steps},
		"a canary at a pause of older steps":   {"", canary(short), paused("CanaryPauseStep", 7), steps},
		"an analysis without a result":         {"", canary(short), paused("InconclusiveAnalysisRun", 1), with(steps, Stop{"it is paused (InconclusiveAnalysisRun)", promote})},
		"blue-green that is promoted by hand":  {"", byHand, `{}`, blueGreen},
		"blue-green at its pause":              {"", byHand, paused("BlueGreenPause", 0), with(blueGreen, Stop{"it is paused (BlueGreenPause)", promote})},
		"blue-green that promotes itself":      {"", `"strategy":{"blueGreen":{"activeService":"web","autoPromotionSeconds":30}}`, paused("BlueGreenPause", 0), Rolling{}},
		"one that was aborted":                 {"", canary(short), `{"observedGeneration":"3","abort":true}`, with(steps, Stop{"it was aborted", "retry it (kubectl argo rollouts retry rollout web -n shop)"})},
		"a pause of an older generation":       {"", canary(endless), strings.Replace(paused("CanaryPauseStep", 1), `"3"`, `"2"`, 1), endlessCanary},
		"an object of another group":           {"example.com/v1", canary(endless) + `,"paused":true`, `{}`, Rolling{}},
		"steps, conditions of no known form":   {"", `"strategy":{"canary":{"steps":[1,{"pause":2}]}}`, `{"pauseConditions":[1,{"reason":2}]}`, steps},
		"a reason that is not fit to be shown": {"", canary(short), `{"pauseConditions":[{"reason":"a\u001b[1m\nb"}]}`, with(steps, Stop{"it is paused (" + printable.Line("a\x1b[1m\nb") + ")", promote})},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := direct(t, cmp.Or(tt.kind, "argoproj.io/v1alpha1"), "Rollout", `{"metadata":{"generation":3},"spec":{"replicas":2,"template":{},`+tt.spec+`},"status":`+tt.status+`}`)
			if diff := gocmp.Diff(tt.want, w.Rolling); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestDirect_readsTheSelectorOfARolloutOfArgo(t *testing.T) {
	t.Parallel()
	for spec, want := range map[string]string{
		`"selector":{"matchLabels":{"app":"web"}}`: "app=web",
		`"replicas":1`:                         "",
		`"selector":{"matchLabels":{"app":7}}`: "",
	} {
		if got := direct(t, "argoproj.io/v1alpha1", "Rollout", `{"spec":{"template":{},`+spec+`}}`).Selector; got != want {
			t.Errorf("the selector of %s is %q, want %q", spec, got, want)
		}
	}
}
