// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package fw

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/label"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/machineset"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/record"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/rollout"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/toleration"
)

// titled is an object as messages name it: its kind, and its name after its namespace.
var titled = regexp.MustCompile(`^(\w+) "(?:([^/"]+)/)?([^/"]+)"$`)

// ExplainRecord words that an annotation in which this provider keeps who owns what of an
// object, or how far a rollout of it is, is damaged; nil where the error is of another
// kind. The thing is the object, such as `Deployment "shop/web"`, and the path says where
// the configuration names it, empty for nowhere.
func ExplainRecord(err error, thing string, at path.Path) diag.Diagnostic {
	annotation := damaged(err)
	if annotation == "" {
		return nil
	}
	if stopped := new(rollout.StoppedError); errors.As(err, &stopped) && stopped.Thing != "" {
		thing = stopped.Thing
	}
	if about := new(rollout.WorkloadError); errors.As(err, &about) {
		thing = about.Ref.Title()
	}
	what := owned(annotation, thing)
	subject, detail := "who owns the "+what+" of "+thing, "The annotation has been edited, so it is not known which "+what+" belong to which resource. Nothing is written to them while that is so. "+
		"Repair the annotation; or remove it ("+kubectl("annotate", thing, annotation+"-")+"), after which none of them belongs to any resource."
	if annotation == machineset.MarkerAnnotation {
		subject = "how far the rollout of " + thing + " is"
		detail = "The annotation has been edited. It holds the number of replicas from before the rollout (originalReplicas), so nothing is written to the MachineSet while it cannot be read. " +
			"Look at it (" + kubectl("get", thing, "-o yaml") + "), and choose one:\n\n" +
			"  - To continue the rollout: repair the annotation, and run again.\n" +
			"  - To begin it anew: set spec.replicas to the number in it (" + kubectl("scale", thing, "--replicas=NUMBER") + "), " +
			"remove it (" + kubectl("annotate", thing, annotation+"-") + "), and run again."
	}
	summary := "Unable to read " + subject + ": the annotation " + annotation + " is damaged"
	detail = paragraphs(detail, restored(err), "Original error: "+err.Error())
	if len(at.Steps()) == 0 {
		return diag.NewErrorDiagnostic(summary, detail)
	}
	return diag.NewAttributeErrorDiagnostic(at, summary, detail)
}

// damaged returns that one of these annotations which an error says cannot be read, ""
// for none.
func damaged(err error) string {
	one := new(record.DamagedError)
	if errors.As(err, &one) && slices.Contains([]string{machineset.MarkerAnnotation, taint.OwnedAnnotation, toleration.OwnedAnnotation, label.OwnedAnnotation}, one.Annotation) {
		return one.Annotation
	}
	return ""
}

// owned names what an annotation is about.
func owned(annotation, thing string) string {
	switch annotation {
	case taint.OwnedAnnotation:
		return "taints"
	case toleration.OwnedAnnotation:
		return "tolerations"
	}
	// Nodes get labels; a workload's pods require them.
	kind, _, _ := strings.Cut(thing, " ")
	if slices.Contains([]string{"node", "nodes", "Machine", "MachineSet", "MachineSets"}, kind) {
		return "labels"
	}
	return "node selector entries"
}

// kubectl is a command about an object that is named as in messages.
func kubectl(verb, thing, arguments string) string {
	found := titled.FindStringSubmatch(thing)
	switch {
	case found == nil:
		return "kubectl " + verb + " KIND NAME -n NAMESPACE " + arguments
	case found[2] == "":
		return fmt.Sprintf("kubectl %s %s %s %s", verb, strings.ToLower(found[1]), found[3], arguments)
	}
	return fmt.Sprintf("kubectl %s %s %s -n %s %s", verb, strings.ToLower(found[1]), found[3], found[2], arguments)
}
