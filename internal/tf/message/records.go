// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package message

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
	"github.com/kubetaint/terraform-provider-kubetaint/internal/planner"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/record"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/rollout"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/toleration"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/workload"
)

// titled is an object as messages name it: its kind, which may have its group, and its name after
// its namespace.
var titled = regexp.MustCompile(`^(?:\w+ of )?(\w+)(?:\.[\w.-]+)? "(?:([^/"]+)/)?([^/"]+)"$`)

// ExplainRecord words that an annotation in which this provider keeps who owns what of an
// object, or how far a rollout of it is, is damaged; nil where the error is of another
// kind. The thing is the object, such as `Deployment "shop/web"`; its API version is needed of
// workloads alone, whose kinds more than one group may have. The path is where
// the configuration names it, empty for nowhere.
func ExplainRecord(err error, thing, apiVersion string, at path.Path) diag.Diagnostic {
	annotation := damaged(err)
	if annotation == "" {
		return nil
	}
	if stopped := new(rollout.StoppedError); errors.As(err, &stopped) && stopped.Thing != "" {
		thing, apiVersion = stopped.Thing, ""
	}
	if about := new(rollout.WorkloadError); errors.As(err, &about) {
		thing, apiVersion = about.Ref.Title(), about.Ref.APIVersion
	}
	what := owned(annotation, thing)
	subject, detail := "who owns the "+what+" of "+thing, "The annotation has been edited, so it is not known which resource owns which "+what+". Nothing is written to them while that is so. "+
		"Repair the annotation; or remove it ("+kubectl("annotate", thing, apiVersion, annotation+"-")+"), after which no resource owns them."
	if annotation == machineset.MarkerAnnotation {
		subject = "how far the rollout of " + thing + " is"
		detail = "The annotation has been edited. " + waysOut(thing, errors.Is(err, machineset.ErrNoCount))
	}
	summary := "Unable to read " + subject + ": the annotation " + annotation + " is damaged"
	detail = Paragraphs(detail, restored(err), "Original error: "+err.Error())
	if len(at.Steps()) == 0 {
		return diag.NewErrorDiagnostic(summary, detail)
	}
	return diag.NewAttributeErrorDiagnostic(at, summary, detail)
}

// Readable reports whether all records of an object can be read. An import must not take an entry for
// one without an owner whose mark it cannot read.
func Readable(thing, apiVersion string, diags *diag.Diagnostics, errs ...error) bool {
	ok := true
	for _, err := range errs {
		if said := ExplainRecord(err, thing, apiVersion, path.Empty()); said != nil {
			diags.Append(said)
			ok = false
		}
	}
	return ok
}

// ReadableNodes reports the same of the nodes that an import is about.
func ReadableNodes(nodes []*snapshot.Node, target planner.Target, diags *diag.Diagnostics) bool {
	ok, matches := true, target.Among
	for _, n := range nodes {
		ok = (!matches(n) || Readable(`node "`+n.Name+`"`, "", diags, n.RecordErr, n.LabelRecordErr)) && ok
	}
	return ok
}

// ReadableSets reports the same of MachineSets.
func ReadableSets(sets []machineset.Observed, target machineset.Target, diags *diag.Diagnostics) bool {
	ok := true
	for _, o := range sets {
		ok = (!target.Matches(o.Set) || Readable(o.Set.Title(), "", diags, o.Set.RecordErr, o.Set.LabelRecordErr)) && ok
	}
	return ok
}

// WarnUnreadable warns of nodes whose record of an annotation cannot be read. Nothing is written
// to them; where a selector means them, the others are changed all the same.
func WarnUnreadable(nodes []string, annotation string, diags *diag.Diagnostics) {
	warnUnreadable("Nothing is written", nodes, annotation, diags)
}

// WarnUnreadableLabels warns of nodes of MachineSets in the same way, which get taints all the same.
func WarnUnreadableLabels(nodes []string, diags *diag.Diagnostics) {
	warnUnreadable("No label is written", nodes, label.OwnedAnnotation, diags)
}

func warnUnreadable(summary string, nodes []string, annotation string, diags *diag.Diagnostics) {
	if len(nodes) == 0 {
		return
	}
	entries, whose := owned(annotation, "node"), fmt.Sprintf("node %q", nodes[0])
	if len(nodes) > 1 {
		whose = Count(len(nodes), "node")
	}
	diags.AddWarning(summary+" to "+whose+": the annotation "+annotation+" is damaged",
		"The annotation has been edited, so it is not known which resource owns which "+entries+": "+Some(nodes)+". Repair it; or remove it (kubectl annotate node "+nodes[0]+" "+annotation+"-), "+
			"after which no resource owns the node's "+entries+". Then apply again.")
}

// AsWarning makes a warning of an error, where there is nothing to write.
func AsWarning(d diag.Diagnostic) diag.Diagnostic {
	if attribute, is := d.(diag.DiagnosticWithPath); is {
		return diag.NewAttributeWarningDiagnostic(attribute.Path(), d.Summary(), d.Detail())
	}
	return diag.NewWarningDiagnostic(d.Summary(), d.Detail())
}

// waysOut reports what to do about a marker of a rollout that cannot be read, or that has lost
// the number of replicas from before the rollout.
func waysOut(thing string, lost bool) string {
	scale, forget := kubectl("scale", thing, "", "--replicas=NUMBER"), kubectl("annotate", thing, "", machineset.MarkerAnnotation+"-")
	if lost {
		return "originalReplicas, the number of replicas from before the rollout, is missing from it. Nothing is written to the MachineSet while that is so. " +
			"spec.replicas may be 0, or too high, because of the rollout: find out how many machines there were, and choose one:\n\n" +
			"  - To continue the rollout: add \"originalReplicas\": NUMBER to the annotation (" + kubectl("edit", thing, "", "") + "), and run again.\n" +
			"  - To start over: set spec.replicas to that number (" + scale + "), remove the annotation (" + forget + "), and run again."
	}
	return "It holds the number of replicas from before the rollout (originalReplicas). While it cannot be read, nothing is written to the MachineSet. " +
		"Look at it (" + kubectl("get", thing, "", "-o yaml") + "), and choose one:\n\n" +
		"  - To continue the rollout: repair the annotation, and run again.\n" +
		"  - To start over: set spec.replicas to the number in it (" + scale + "), remove the annotation (" + forget + "), and run again."
}

// damaged returns that one of these annotations which an error says cannot be read, ""
// for none.
func damaged(err error) string {
	one := new(record.DamagedError)
	if errors.As(err, &one) && slices.Contains([]string{machineset.MarkerAnnotation, machineset.RemnantsAnnotation, taint.OwnedAnnotation, toleration.OwnedAnnotation, label.OwnedAnnotation}, base(one.Annotation)) {
		return one.Annotation
	}
	return ""
}

// base is an annotation without the component that it is about.
func base(annotation string) string {
	domain, name, _ := strings.Cut(annotation, "/")
	name, _, _ = strings.Cut(name, ".")
	return domain + "/" + name
}

// owned names what an annotation is about.
func owned(annotation, thing string) string {
	switch base(annotation) {
	case taint.OwnedAnnotation:
		return "taints"
	case toleration.OwnedAnnotation:
		return "tolerations"
	case machineset.RemnantsAnnotation:
		return "taints remaining on machines"
	}
	// Nodes get labels; a workload's pods require them.
	kind, _, _ := strings.Cut(thing, " ")
	if slices.Contains([]string{"node", "nodes", "Machine", "MachineSet", "MachineSets"}, kind) {
		return "labels"
	}
	return "node selector entries"
}

// MadeUp says, after how an entry of another resource is given up, what to do where a mark is of
// none: a user who may write to an object may write one.
func MadeUp(annotation, thing, apiVersion string) string {
	return "If there is no such resource, the ownership record is forged: remove its entry from the annotation " + annotation + " (" + kubectl("edit", thing, apiVersion, "") + "), " +
		"or the whole annotation (" + kubectl("annotate", thing, apiVersion, annotation+"-") + "), after which no resource owns its entries."
}

// kubectl is a command about an object that is named as in messages. Without an API version,
// Machines and MachineSets are those of OpenShift.
func kubectl(verb, thing, apiVersion, arguments string) string {
	found := titled.FindStringSubmatch(thing)
	if found == nil {
		return "kubectl " + verb + " KIND NAME -n NAMESPACE " + arguments
	}
	ref := workload.Ref{APIVersion: apiVersion, Kind: found[1], Namespace: found[2], Name: found[3]}
	if apiVersion == "" && (ref.Kind == "Machine" || ref.Kind == "MachineSet") {
		ref.APIVersion = machineset.APIVersion
	}
	return strings.TrimSpace("kubectl " + verb + " " + ref.Kubectl(ref.Name) + " " + arguments)
}
