// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package recorded

import (
	"encoding/json"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/workload"
)

// These kinds are read for names alone: with the report of cluster-autoscaler, those of the node groups that may grow, those
// of webhooks, and that of the scheduler's profile (internal/kube/autoscalers.go, nodepools.go, webhooks.go and schedulerprofile.go). No verdict depends on them, so that a folder without
// them misses nothing.
var (
	webhooks = []kindRecord{
		{Group: admissionGroup, Version: "v1", Resource: "mutatingwebhookconfigurations", Kind: "MutatingWebhookConfiguration"},
		{Group: admissionGroup, Version: "v1", Resource: "validatingwebhookconfigurations", Kind: "ValidatingWebhookConfiguration"},
	}
	growing = []kindRecord{
		{Group: karpenterGroup, Version: "v1", Resource: "nodepools", Kind: "NodePool"},
		{Group: autoscalingGroup, Version: "v1beta1", Resource: "machineautoscalers", Kind: "MachineAutoscaler"},
	}
	schedulers = []kindRecord{
		{Group: configGroup, Version: "v1", Resource: "schedulers", Kind: "Scheduler"},
	}
	poolFields = tree{
		"spec":   values("replicas").with(tree{"limits": amounts}),
		"status": {"resources": amounts, "conditions": conditionFields},
	}
	schedulerFields  = tree{"spec": values("profile")}
	autoscalerFields = tree{"spec": values("minReplicas", "maxReplicas").with(tree{"scaleTargetRef": values("name")})}

	webhookFields = tree{"webhooks": values("name").with(tree{
		"rules": values("operations", "apiGroups", "apiVersions", "resources", "scope"), "namespaceSelector": labelSelector, "objectSelector": labelSelector,
	})}

	reportRefs = []workload.Ref{{Namespace: "kube-system", Name: reportName}, {Namespace: "openshift-machine-api", Name: reportName}}
)

const (
	karpenterGroup   = "karpenter.sh"
	autoscalingGroup = "autoscaling.openshift.io"
	configGroup      = "config.openshift.io"
	reportName       = "cluster-autoscaler-status"
	reportKey        = "status"
)

// reduceReport returns what is recorded of the report of cluster-autoscaler: the names of the node groups, and how large
// they are and may become. One that cannot be read names none.
func reduceReport(object *unstructured.Unstructured) *unstructured.Unstructured {
	out := reduce(configMaps, object)
	text, _, _ := unstructured.NestedString(object.Object, "data", reportKey)
	var kept struct {
		NodeGroups []struct {
			Name   string `json:"name"`
			Health struct {
				CloudProviderTarget int `json:"cloudProviderTarget"`
				MaxSize             int `json:"maxSize"`
			} `json:"health"`
		} `json:"nodeGroups"`
	}
	if withoutAliases([]byte(text)) != nil || yaml.Unmarshal([]byte(text), &kept) != nil {
		return out
	}
	if raw, err := json.Marshal(kept); err == nil {
		out.Object["data"] = map[string]any{reportKey: string(raw)}
	}
	return out
}
